"""Randomized smoothing for the Adversarial Robustness Toolbox, with sound radii."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import as_floats, count, instance, on_host
from rsbounds._numerics.domains import POSITIVE
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.extras import need
from rsbounds.certificate import ABSTAIN
from rsbounds.certify import Procedure, predict
from rsbounds.certify.internal import certified
from rsbounds.sampling import ArraySampler, Phase
from rsbounds.sampling.internal import floating, noisy, stream
from rsbounds.schemes import gaussian

__all__ = ["RandomizedSmoothing"]

_art: Any = need(
    "art.estimators.certification.randomized_smoothing.numpy", "rsbounds.art"
)

_art_config: Any = need("art.config", "rsbounds.art")
_art_kinds: Any = need("art.estimators.classification", "rsbounds.art")

DEFAULTS = Procedure()


class RandomizedSmoothing(_art.NumpyRandomizedSmoothing):  # type: ignore[misc]
    """ART's classifier of that name, whose predictions and radii are those of rsbounds.

    It fits, and gives gradients to attacks, as ART's own does. Certificates are rounded
    to the safe side, and are the same in every run.

    Parameters
    ----------
    classifier : ART classifier with gradients
        What is smoothed, such as a ``PyTorchClassifier``.
    sample_size : int
        Samples of a prediction, of the choice of a class, and of a mean gradient, >= 1.
    scale : float
        Standard deviation of the noise, > 0.
    alpha : float
        Probability that a certificate is wrong.
    procedure : Procedure
        Its seed, bound and runner-up; the i-th input since the object was made draws
        the same samples in every run.

    Examples
    --------
    >>> import torch
    >>> from art.estimators.classification import PyTorchClassifier
    >>> from rsbounds.art import RandomizedSmoothing
    >>> net = torch.nn.Linear(2, 2, bias=False)
    >>> net.weight.data = torch.tensor([[1.0, 0.0], [-1.0, 0.0]])
    >>> base = PyTorchClassifier(net, torch.nn.CrossEntropyLoss(), (2,), 2)
    >>> smooth = RandomizedSmoothing(base, 100, scale=0.5)
    >>> x = np.array([[0.5, 0.0]], np.float32)
    >>> prediction, radius = smooth.certify(x, n=10_000)
    >>> int(prediction[0]), bool(0.45 < radius[0] < 0.5)  # the truth is 0.5
    (0, True)
    """

    def __init__(
        self,
        classifier: Any,
        sample_size: int,
        scale: float = 0.1,
        alpha: float = 0.001,
        *,
        procedure: Procedure = DEFAULTS,
    ) -> None:
        kinds = _art_kinds.ClassifierMixin
        instance("classifier", classifier, kinds, "a classifier of ART's")
        self._scheme = gaussian(POSITIVE.one("scale", scale))
        if not isinstance(procedure, Procedure):
            raise ArgumentError("procedure", f"must be a Procedure; got {procedure!r}")
        self._procedure = replace(procedure, alpha=alpha)
        self._calls = iter(range(sys.maxsize))  # inputs certified or predicted
        self._looks = iter(range(sys.maxsize))  # inputs whose gradient was asked for
        samples = count("sample_size", sample_size, 1)
        super().__init__(classifier, samples, scale=scale, alpha=alpha)

    def certify(
        self, x: NDArray[Any], n: int, batch_size: int = 32
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Classes and radii of a batch; -1 and 0 for an abstention.

        ``n`` samples bound a class's probability; ``batch_size`` is the rows of a
        forward pass.
        """
        sampler = self._sampler(batch_size)
        procedure = replace(self._procedure, n0=self.sample_size, n=n)
        predicted = []
        radii = []
        for row in self._rows(x):
            index = next(self._calls)
            certificate = certified(sampler, row, self._scheme, procedure, index)
            predicted.append(certificate.predict)
            radii.append(certificate.radius)
        return np.array(predicted), np.array(radii)

    def predict(
        self,
        x: NDArray[Any],
        batch_size: int = 128,
        verbose: bool = False,
        **options: Any,
    ) -> NDArray[np.float64]:
        """Votes, shape (count, classes): 1 for the leading class, 0 at abstentions.

        With ``is_abstain=False`` the most frequent class, whether it leads at level 1 -
        alpha or not. ``verbose`` does nothing.
        """
        sampler = self._sampler(batch_size)
        procedure = replace(self._procedure, n=self.sample_size)
        rows = self._rows(x)
        votes = np.zeros((len(rows), self.nb_classes))
        for vote, row in zip(votes, rows, strict=True):
            index = next(self._calls)
            if options.get("is_abstain", True):
                label = predict(sampler, row, self._scheme, procedure, index=index)
            else:
                generator = stream(procedure.seed, index, Phase.PREDICT)
                counts = sampler(row, self.scale, self.sample_size, generator)
                label = int(np.argmax(counts))
            if label != ABSTAIN:
                vote[label] = 1
        return votes

    def loss_gradient(
        self,
        x: NDArray[Any],
        y: NDArray[Any],
        *args: Any,
        sampling: bool = False,
        **options: Any,
    ) -> NDArray[Any]:
        """The loss's gradient at x, or with ``sampling`` its mean over noisy copies.

        There are ``sample_size`` of them. An attack on the smoothed classifier follows
        that mean (expectation over transformations).
        """
        gradient: Any = super().loss_gradient
        if not sampling:
            return np.asarray(gradient(x, y, *args, **options))
        n = self.sample_size
        means = []
        for row, label in zip(x, y, strict=True):
            generator = stream(self._procedure.seed, next(self._looks), Phase.SEARCH)
            copies = noisy(floating(row), self.scale, n, generator)
            copies = copies.astype(_art_config.ART_NUMPY_DTYPE, copy=False)
            drawn = gradient(copies, np.stack([label] * n), *args, **options)
            means.append(np.mean(drawn, axis=0))
        return np.stack(means)

    def _rows(self, x: Any) -> NDArray[Any]:
        """A batch of inputs, each of the shape that the classifier takes."""
        x = on_host("x", x)
        dtype = getattr(x, "dtype", np.float64)
        rows = as_floats("x", x, exact=True).astype(dtype, copy=False)
        expected = self.input_shape
        if rows.ndim == 0 or (expected and rows.shape[1:] != tuple(expected)):
            raise ArgumentError(
                "x", f"must be rows of shape {expected}; got shape {rows.shape}"
            )
        return rows

    def _sampler(self, batch_size: int) -> ArraySampler:
        size = count("batch_size", batch_size, 1)
        dtype = _art_config.ART_NUMPY_DTYPE  # what ART's classifiers take
        return ArraySampler(
            lambda batch: self.classifier.predict(
                batch.astype(dtype, copy=False), batch_size=size
            )
        )


def __dir__() -> list[str]:
    return sorted(__all__)
