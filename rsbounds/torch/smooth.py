"""The field's ``Smooth`` class, with certificates that are never too large."""

from __future__ import annotations

from itertools import count as counter
from typing import Any, ClassVar

import torch

from rsbounds import certify as procedure
from rsbounds._numerics.checks import count
from rsbounds.certificate import ABSTAIN
from rsbounds.schemes import gaussian
from rsbounds.torch.sampler import TorchSampler


class Smooth:
    """A classifier smoothed by Gaussian noise of one level; drop-in for the field's class.

    Parameters
    ----------
    base_classifier : torch.nn.Module
        Maps a batch (count, *shape of x) to scores (count, num_classes). Put in eval mode.
    num_classes : int
        Number of classes, >= 2.
    sigma : float
        Standard deviation of the noise, > 0.
    seed : int
        Seed, >= 0: the i-th call draws the same samples in every run, whatever its
        ``batch_size``.

    References
    ----------
    Cohen, Rosenfeld, Kolter 2019, procedures Predict and Certify.

    Examples
    --------
    >>> import torch
    >>> from rsbounds.torch import Smooth
    >>> model = torch.nn.Linear(2, 2, bias=False)
    >>> _ = model.weight.data.copy_(torch.tensor([[1.0, 0.0], [-1.0, 0.0]]))
    >>> predicted, radius = Smooth(model, 2, 0.5).certify(
    ...     torch.tensor([0.5, 0.0]), n0=100, n=10_000, alpha=0.001, batch_size=1000)
    >>> predicted, 0.45 < radius < 0.5  # the truth is 0.5
    (0, True)
    """

    ABSTAIN: ClassVar[int] = ABSTAIN

    def __init__(
        self, base_classifier: torch.nn.Module, num_classes: int, sigma: float, *, seed: int = 0
    ) -> None:
        self.base_classifier = base_classifier
        self.num_classes = count("num_classes", num_classes, 2)
        self.sigma = sigma
        self.seed = count("seed", seed)
        self._scheme = gaussian(sigma)
        self._calls = counter()

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
            self._sampler(batch_size), x, self._scheme, n=n, alpha=alpha, **self._draw()
        )

    def certify(
        self, x: torch.Tensor, n0: int, n: int, alpha: float, batch_size: int
    ) -> tuple[int, float]:
        """The class at one input ``x`` and the l2 radius within which it can't change.

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
            ``(ABSTAIN, 0.0)`` when the class has no majority at level 1 - alpha.
        """
        found = procedure.certify(
            self._sampler(batch_size), x, self._scheme, n0=n0, n=n, alpha=alpha, **self._draw()
        )
        return found.predict, found.radius

    def _draw(self) -> dict[str, Any]:
        return {"seed": self.seed, "index": next(self._calls)}

    def _sampler(self, batch_size: int) -> TorchSampler:
        tensors = [*self.base_classifier.parameters(), *self.base_classifier.buffers()]
        device = tensors[0].device if tensors else torch.device("cpu")
        return TorchSampler(self.base_classifier, self.num_classes, batch=batch_size, device=device)
