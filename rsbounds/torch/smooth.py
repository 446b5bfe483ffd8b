"""The field's ``Smooth`` class, with certificates that are never too large."""

from __future__ import annotations

from itertools import count as counter
from typing import Any, ClassVar

import torch

from rsbounds import certify as procedure
from rsbounds._numerics.checks import count, on_host
from rsbounds.certificate import ABSTAIN, Certificate
from rsbounds.schemes import Scheme, gaussian
from rsbounds.torch._device import autocast_type, home
from rsbounds.torch.networks.shaped import CertifiedNoise, FixedNoise
from rsbounds.torch.sampler import TorchSampler
from rsbounds.torch.training.fitting import soft_vote


class Smooth(torch.nn.Module):
    """A classifier smoothed by Gaussian noise; drop-in for the field's class, and a module.

    What a certificate says: noise is a floating-point approximation of the normal law, so by
    default the radius is one of the classifier's idealisation, with normal noise in real
    numbers. A classifier that looks at the last bits of its input (such as the parity of
    2^24 x) can tell the two apart, and for it the radius may be false. With ``sound_noise``
    the radius is one of the program itself, which rounds its input to whole multiples of 1/255
    and draws exactly from the law of the rounded noise; inputs must be such multiples, as
    images of 8 bits are, and a scheme whose level follows the input must be made with
    ``sound=True``.

    Parameters
    ----------
    base_classifier : torch.nn.Module
        Maps a batch (count, *shape of x) to scores (count, num_classes). Put in eval mode when
        certified or predicted with.
    num_classes : int
        Number of classes, >= 2.
    sigma : float, Scheme, FixedNoise or CertifiedNoise
        Standard deviation of the noise, > 0; or a scheme that gives it for each input, such as
        ``SigmaNetwork.scheme(dim)``; or noise with a level on every axis.
    seed : int
        Seed, >= 0: the i-th call draws the same samples in every run, whatever its
        ``batch_size``.
    sound_noise : bool
        Draw whole-numbered noise exactly (Voracek and Hein 2023).
    autocast : {"bfloat16", "float16"}, optional
        Mixed precision of the forward passes, :meth:`forward` too.
    runner_up : bool
        Bound the runner-up's probability too, at alpha/2 each, instead of as 1 - p_a.
    samples : int
        Noisy copies of each input in :meth:`forward`, >= 1.

    Raises
    ------
    ValueError
        If an argument is out of its domain.

    References
    ----------
    Cohen, Rosenfeld, Kolter 2019, procedures Predict and Certify. Voracek, Hein 2023, Sound
    randomized smoothing in floating-point arithmetic.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch import Smooth
    >>> model = torch.nn.Linear(2, 2, bias=False)
    >>> _ = model.weight.data.copy_(torch.tensor([[1.0, 0.0], [-1.0, 0.0]]))
    >>> smooth = Smooth(model, 2, 0.5)
    >>> predicted, radius = smooth.certify(
    ...     torch.tensor([0.5, 0.0]), n0=100, n=10_000, alpha=0.001, batch_size=1000)
    >>> predicted, 0.45 < radius < 0.5  # the truth is 0.5
    (0, True)
    >>> smooth(torch.zeros(3, 2)).shape
    torch.Size([3, 2])
    """

    ABSTAIN: ClassVar[int] = ABSTAIN

    def __init__(
        self,
        base_classifier: torch.nn.Module,
        num_classes: int,
        sigma: float | Scheme | FixedNoise | CertifiedNoise,
        *,
        seed: int = 0,
        sound_noise: bool = False,
        autocast: str | None = None,
        runner_up: bool = True,
        samples: int = 16,
    ) -> None:
        super().__init__()
        self.base_classifier = base_classifier
        self.num_classes = count("num_classes", num_classes, 2)
        self.seed = count("seed", seed)
        self.samples = count("samples", samples, 1)
        self.runner_up = runner_up
        self._kept: tuple[torch.nn.Module, TorchSampler] | None = None
        self.sigma = sigma
        autocast_type(autocast)
        self._options: dict[str, Any] = {"sound_noise": sound_noise, "autocast": autocast}
        self._calls = counter()

    @property
    def sigma(self) -> float | Scheme | FixedNoise | CertifiedNoise:
        """The noise; setting it sets what is drawn and what is certified, from the next call on."""
        return self._sigma

    @sigma.setter
    def sigma(self, sigma: float | Scheme | FixedNoise | CertifiedNoise) -> None:
        self._scheme, self._noise = _scheme(sigma)
        given = isinstance(sigma, Scheme | FixedNoise | CertifiedNoise)
        self._sigma = sigma if given else self._scheme.parameters["sigma"]
        self._kept = None  # it may be a sampler of other noise

    @property
    def scheme(self) -> Scheme:
        """The scheme that is certified by."""
        return self._scheme

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Soft votes: the mean class probabilities of each input of a batch under noise.

        Differentiable, with ``samples`` copies and torch's global generator; for training and
        attacks, and no certificate.

        Parameters
        ----------
        x : torch.Tensor, shape (n, *shape of one input)

        Returns
        -------
        torch.Tensor, shape (n, num_classes)

        Raises
        ------
        ValueError
            For noise with a level on every axis, whose mean and shape this does not draw.
        """
        if self._noise is not None:
            raise ValueError("soft votes need noise of one level at an input; got noise of a shape")
        levels = [self.scheme.sigma(_host(row)) for row in x]
        return soft_vote(self._scores, x, torch.tensor(levels).to(x), self.samples)

    def predict(self, x: torch.Tensor, n: int, alpha: float, batch_size: int) -> int:
        """The class at one input ``x``, wrong with probability at most alpha, or ``ABSTAIN``.

        Parameters
        ----------
        x : torch.Tensor
            One input, without a batch axis.
        n : int
            Number of samples, >= 1.
        alpha : float
            Probability of error, in (0, 1).
        batch_size : int
            Samples held in memory at once, >= 1.

        Returns
        -------
        int
        """
        return procedure.predict(
            self._sampler(batch_size), _host(x), self.scheme, n=n, alpha=alpha, **self._draw()
        )

    def certify(
        self, x: torch.Tensor, n0: int, n: int, alpha: float, batch_size: int
    ) -> tuple[int, float]:
        """The class at one input ``x`` and the radius within which it can't change.

        Parameters
        ----------
        x : torch.Tensor
            One input, without a batch axis.
        n0, n : int
            Numbers of samples to choose the class and to bound its probability, >= 1.
        alpha : float
            Probability of error, in (0, 1).
        batch_size : int
            Samples held in memory at once, >= 1.

        Returns
        -------
        int, float
            ``(ABSTAIN, 0.0)`` when the class does not lead at level 1 - alpha.
        """
        found = self.certificate(x, n0, n, alpha, batch_size)
        return found.predict, found.radius

    def certificate(
        self, x: torch.Tensor, n0: int, n: int, alpha: float, batch_size: int
    ) -> Certificate:
        """The same as :meth:`certify` with all its evidence: counts, bounds, level and scope."""
        return procedure.certify(
            self._sampler(batch_size),
            _host(x),
            self.scheme,
            n0=n0,
            n=n,
            alpha=alpha,
            runner_up=self.runner_up,
            **self._draw(),
        )

    def _scores(self, batch: torch.Tensor) -> torch.Tensor:
        """The classifier's, in mixed precision where it is asked for."""
        kind = autocast_type(self._options["autocast"])
        with torch.autocast(batch.device.type, kind, enabled=kind is not None):
            scores: torch.Tensor = self.base_classifier(batch)
        return scores.to(batch.dtype)

    def _draw(self) -> dict[str, Any]:
        return {"seed": self.seed, "index": next(self._calls)}

    def _sampler(self, batch_size: int) -> TorchSampler:
        """A sampler of the classifier where it is now, kept so that its rows are compared once."""
        model = self.base_classifier.eval()
        if self._kept is None or self._kept[0] is not model or self._kept[1].device != home(model):
            make = TorchSampler if self._noise is None else self._noise.sampler
            self._kept = model, make(model, self.num_classes, **self._options)
        sampler = self._kept[1]
        sampler.batch = count("batch", batch_size, 1)
        return sampler

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kept": None}


def _host(x: torch.Tensor) -> torch.Tensor:
    """What any scheme can read: on the host, without a gradient, in a type that NumPy has."""
    return torch.as_tensor(on_host("x", x))


def _scheme(sigma: Any) -> tuple[Scheme, FixedNoise | CertifiedNoise | None]:
    """The scheme, and the noise that draws its samples where that is not plain."""
    if isinstance(sigma, FixedNoise | CertifiedNoise):
        return sigma.scheme(), sigma
    if not isinstance(sigma, Scheme):
        return gaussian(sigma), None
    if sigma.name in ("anisotropic", "generator"):
        raise ValueError(
            f"a scheme of method {sigma.name!r} needs its own noise: give the noise itself, "
            "FixedNoise or CertifiedNoise"
        )
    return sigma, None
