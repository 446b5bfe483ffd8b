"""Sampling of classifiers that take NumPy batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import on_host
from rsbounds.sampling.blocks import block_size, noisy


class ArraySampler:
    """Sampler over a classifier of NumPy batches: onnxruntime, scikit-learn, plain functions.

    Parameters
    ----------
    classifier : callable
        Takes a float32 array (count, *shape of x), returns scores (count, classes).

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.sampling import ArraySampler
    >>> sampler = ArraySampler(lambda batch: np.stack([batch[:, 0], -batch[:, 0]], axis=1))
    >>> int(sampler(np.array([9.0, 0.0]), 1.0, 50, np.random.default_rng(0))[0])
    50
    """

    def __init__(self, classifier: Callable[[NDArray[np.float32]], Any]) -> None:
        self.classifier = classifier

    def __call__(
        self, x: Any, sigma: float, n: int, generator: np.random.Generator
    ) -> NDArray[np.int64]:
        """Counts of the classes; see :class:`Sampler`."""
        x = np.asarray(on_host("x", x), dtype=np.float32)
        size = block_size(n, x.size)
        counts: Any = 0
        for start in range(0, n, size):
            batch = noisy(x, sigma, size, generator)
            counts = counts + votes(self.classifier(batch), size, n - start)
        return np.asarray(counts, dtype=np.int64)


def votes(scores: Any, rows: int, used: int) -> NDArray[np.int64]:
    """Counts of the classes over the first ``used`` rows of one batch of NumPy scores."""
    scores = np.asarray(scores)
    if scores.ndim != 2 or scores.shape[0] != rows or scores.shape[1] < 2:
        raise ValueError(
            f"the model must return scores of shape ({rows}, classes), at least two classes, "
            f"for a batch of {rows}; got shape {scores.shape}"
        )
    scores = scores[:used]
    valid = ~np.isnan(scores).any(axis=1)
    return np.bincount(scores.argmax(axis=1)[valid], minlength=scores.shape[1])
