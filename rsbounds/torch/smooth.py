"""The field's ``Smooth`` class, with certificates that are never too large."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from rsbounds._numerics.checks import count, on_host
from rsbounds._numerics.errors import ArgumentError
from rsbounds.certificate import ABSTAIN, Certificate
from rsbounds.certify import predict
from rsbounds.certify.internal import certified
from rsbounds.confidence import lower_bound
from rsbounds.procedure import Procedure, require_procedure
from rsbounds.sampling import Phase, as_sampler
from rsbounds.sampling.internal import stream
from rsbounds.sampling.torch_modes import evaluating
from rsbounds.sampling.torch_modules import as_tensor, autocast_type, home
from rsbounds.schemes import Scheme, gaussian
from rsbounds.torch.networks.shaped import CertifiedNoise, FixedNoise
from rsbounds.torch.training.perturbed import soft_vote
from rsbounds.torch.training.seeds import seeded

DEFAULTS = Procedure()


class Smooth(torch.nn.Module):
    """A classifier smoothed by Gaussian noise: Cohen's ``Smooth`` as a torch module.

    By default a certificate holds for the idealised classifier, whose noise is exactly
    normal and added in real numbers. The noise that runs is a floating-point
    approximation, and a classifier that looks at the last bits of its input (such as
    the parity of 2^24 x) can tell the two apart. With a scheme on a grid, such as
    ``schemes.gaussian(0.5).on_grid()``, a certificate holds for the program itself: it
    rounds its input to whole multiples of 1/255 and draws exactly from the law of the
    rounded noise (Voracek and Hein 2023). Inputs must be such multiples, as images of 8
    bits are.

    Parameters
    ----------
    base_classifier : torch.nn.Module or callable
        Maps a batch (count, *shape of x) to scores (count, num_classes). A module is
        in eval mode while it is certified or predicted with, and the mode of each of
        its parts is put back afterwards; a function runs where x is.
    num_classes : int
        Number of classes, >= 2.
    sigma : float, Scheme, FixedNoise or CertifiedNoise
        Standard deviation of the noise, > 0; or a scheme that gives it for each input,
        such as ``SigmaNetwork.scheme(dim)``; or noise with a level on every axis.
    procedure : Procedure
        Its seed, bound and runner-up: n0, n and alpha are arguments of the calls. The
        i-th call draws the same samples in every run, for any ``batch_size``.
    autocast : {"bfloat16", "float16"}, optional
        Mixed precision of the forward passes, :meth:`forward` too.
    samples : int
        Noisy copies of each input in :meth:`forward`, >= 1.

    References
    ----------
    Cohen, Rosenfeld, Kolter 2019, procedures Predict and Certify. Voracek, Hein 2023,
    Sound randomized smoothing in floating-point arithmetic.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch import Smooth
    >>> smooth = Smooth(lambda x: torch.stack([x[:, 0], -x[:, 0]], 1), 2, 0.5)
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
        base_classifier: Callable[[torch.Tensor], torch.Tensor],
        num_classes: int,
        sigma: float | Scheme | FixedNoise | CertifiedNoise,
        *,
        procedure: Procedure = DEFAULTS,
        autocast: str | None = None,
        samples: int = 16,
    ) -> None:
        super().__init__()
        if not isinstance(base_classifier, torch.nn.Module):
            as_sampler(base_classifier)  # refuses what is not a model
            base_classifier = _Function(base_classifier)
        self.base_classifier: torch.nn.Module = base_classifier
        self.num_classes = count("num_classes", num_classes, 2)
        require_procedure(procedure)
        self.procedure = procedure
        self.samples = count("samples", samples, 1)
        autocast_type(autocast)  # raises ValueError for an unknown name
        self._autocast = autocast
        self._calls = iter(range(sys.maxsize))  # counts on in a copy
        self.sigma = sigma

    @property
    def sigma(self) -> float | Scheme | FixedNoise | CertifiedNoise:
        """The noise; a new value is drawn and certified from the next call on."""
        return self._sigma

    @sigma.setter
    def sigma(self, sigma: float | Scheme | FixedNoise | CertifiedNoise) -> None:
        if isinstance(sigma, FixedNoise | CertifiedNoise):
            self._scheme: Scheme = sigma.scheme()
        else:
            self._scheme = sigma if isinstance(sigma, Scheme) else gaussian(sigma)
        is_object = isinstance(sigma, Scheme | FixedNoise | CertifiedNoise)
        self._sigma = sigma if is_object else self.scheme.parameters["sigma"]
        # the sampler that is cached may draw other noise
        self._cached: tuple[torch.nn.Module, Any] | None = None

    @property
    def scheme(self) -> Scheme:
        """The scheme that ``sigma`` stands for."""
        return self._scheme

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Mean class probabilities of a batch under noise, shape (n, num_classes).

        Differentiable, with ``samples`` copies and torch's global generator: for
        training and attacks, not for certificates. Refused for noise with a level on
        every axis.
        """
        if self.scheme.law:
            raise ValueError(
                "soft votes need noise of one level at an input; got noise of a shape"
            )
        levels = [self.scheme.sigma(_host(row)) for row in x]
        sigma = torch.tensor(levels, device="cpu").to(x)
        return soft_vote(self._scores, x, sigma, self.samples)

    def predict(self, x: torch.Tensor, n: int, alpha: float, batch_size: int) -> int:
        """The class at one input, wrong with probability at most alpha, or ``ABSTAIN``.

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

        Raises
        ------
        ValueError
            If an argument is out of its domain, or x is a batch.
        """
        with self._batches_explained(x):
            return predict(
                self._sampler(batch_size, x),
                _host(x),
                self.scheme,
                replace(self.procedure, n=n, alpha=alpha),
                index=next(self._calls),
            )

    def certify(
        self, x: torch.Tensor, n0: int, n: int, alpha: float, batch_size: int
    ) -> tuple[int, float]:
        """The class at one input and the radius within which it can't change.

        Parameters as in :meth:`predict`; n0 samples choose the class, n others bound
        its probability. ``(ABSTAIN, 0.0)`` when the class does not lead at level 1 -
        alpha.
        """
        result = self.certificate(x, n0, n, alpha, batch_size)
        return result.predict, result.radius

    def certificate(
        self, x: torch.Tensor, n0: int, n: int, alpha: float, batch_size: int
    ) -> Certificate:
        """What :meth:`certify` says of an input, as a certificate with its evidence."""
        with self._batches_explained(x):
            return certified(
                self._sampler(batch_size, x),
                _host(x),
                self.scheme,
                replace(self.procedure, n0=n0, n=n, alpha=alpha),
                index=next(self._calls),
            )

    @contextmanager
    def _batches_explained(self, x: Any) -> Iterator[None]:
        """Say so where the classifier fails on copies of x because x is a batch."""
        try:
            yield
        except (RuntimeError, ArgumentError) as error:
            # of a failed pass that was explained the cause is torch's error
            cause = error if isinstance(error, RuntimeError) else error.__cause__
            if not isinstance(cause, RuntimeError) or not self._is_batch(x):
                raise
            raise ArgumentError(
                "x",
                "must be one input without the batch axis; got a batch of shape "
                f"{tuple(x.shape)}",
            ) from error

    def _is_batch(self, x: Any) -> bool:
        """Whether the classifier takes x itself for a batch."""
        if not isinstance(x, torch.Tensor) or x.ndim < 2:
            return False
        try:
            with evaluating(self), torch.no_grad():
                scores = self._scores(x.to(home(self.base_classifier)))
        except RuntimeError:
            return False
        return tuple(scores.shape) == (len(x), self.num_classes)

    def _scores(self, batch: torch.Tensor) -> torch.Tensor:
        kind = autocast_type(self._autocast)
        with torch.autocast(batch.device.type, kind, enabled=kind is not None):
            scores: torch.Tensor = self.base_classifier(batch)
        return scores.to(batch.dtype)

    def _sample_noise(
        self, x: torch.Tensor, num: int, batch_size: int
    ) -> NDArray[np.int64]:
        """Counts of the classes of ``num`` noisy copies of x: the field's method.

        Programs that build on Cohen's class call it. Each call draws its own samples.
        """
        host = _host(x)
        generator = stream(self.procedure.seed, next(self._calls), Phase.PREDICT)
        sampler = self._sampler(batch_size, x)
        drawn = sampler(host, self.scheme.sigma(host), num, generator)
        counts = np.zeros(self.num_classes, dtype=np.int64)
        drawn = np.asarray(drawn)
        counts[: len(drawn)] = drawn
        return counts

    def _lower_confidence_bound(self, NA: int, N: int, alpha: float) -> float:
        """The lower bound of a probability from NA of N samples: the field's method."""
        return float(lower_bound(NA, N, alpha))

    def _sampler(self, batch_size: int, x: torch.Tensor) -> Any:
        """A sampler of the classifier where it is now.

        It is kept, so that it doesn't look at the rows again in every call.
        """
        model = self.base_classifier
        device = home(model)
        if isinstance(model, _Function):
            device = x.device if isinstance(x, torch.Tensor) else torch.device("cpu")
        cached = self._cached
        if cached is None or cached[0] is not model or cached[1].device != device:
            made = as_sampler(
                model,
                self.scheme,
                num_classes=self.num_classes,
                autocast=self._autocast,
                device=device,
            )
            cached = (model, made)
            self._cached = cached
        sampler: Any = cached[1]
        sampler.batch = count("batch", batch_size, 1)
        return sampler

    def extra_repr(self) -> str:
        """The noise and the classes, which torch's representation shows."""
        return f"num_classes={self.num_classes}, sigma={self.sigma}"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cached": None}


class LogVotes(torch.nn.Module):
    """Logarithms of the mean class probabilities under noise, with their gradient.

    For Foolbox, AutoAttack and ART, whose attacks want scores before the softmax: that
    of these is the mean over ``smooth.samples`` copies (expectation over
    transformations). For attacks, not for certificates.

    Parameters
    ----------
    smooth : Smooth
        The smoothed classifier, under noise of one level at an input. It is in eval
        mode during a call.
    seed : int, optional
        Seed, >= 0, of noise that is the same in every call, for attacks that compare
        calls. By default each call draws its own from torch's global generator.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch import LogVotes, Smooth
    >>> def model(x):
    ...     return torch.stack([x[:, 0], -x[:, 0]], 1)
    >>> smooth = Smooth(model, 2, 0.5, samples=100)
    >>> scores = LogVotes(smooth, seed=0)
    >>> x = torch.tensor([[0.5, 0.0]])
    >>> bool((scores(x) == scores(x)).all()), int(scores(x).argmax())
    (True, 0)
    """

    def __init__(self, smooth: Smooth, *, seed: int | None = None) -> None:
        super().__init__()
        if not isinstance(smooth, Smooth):
            raise ValueError(f"smooth must be a Smooth; got {type(smooth).__name__}")
        self.smooth = smooth
        self.seed = None if seed is None else count("seed", seed)
        self.training = False  # that of the classifier stays as it is

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Scores (count, classes) of a batch, at most 0."""
        with evaluating(self.smooth):
            if self.seed is None:
                votes: torch.Tensor = self.smooth(x)
            else:
                with seeded(self.seed, [x.device]):
                    votes = self.smooth(x)
        return votes.clamp_min(torch.finfo(votes.dtype).tiny).log()


class _Function(torch.nn.Module):
    """A function as a module without parameters."""

    def __init__(self, function: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.forward = function


def _host(x: torch.Tensor) -> torch.Tensor:
    """Copy x to the host, without its gradient, so that any scheme can read it."""
    try:
        return as_tensor(on_host("x", x))
    except (TypeError, RuntimeError):
        raise ValueError(
            f"x must be a tensor of one input; got {type(x).__name__}"
        ) from None
