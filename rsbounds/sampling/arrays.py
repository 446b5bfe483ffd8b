"""Sampling of classifiers that take NumPy batches."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds.sampling.blocks import block_size, noisy
from rsbounds.sampling.rows import Scored, checked_scores


class ArraySampler(Scored):
    """Sampler over a classifier of NumPy batches: onnxruntime, scikit-learn, plain functions.

    Parameters
    ----------
    classifier : callable
        Takes a float32 array (count, *shape of x), returns scores (count, classes).

    Raises
    ------
    ValueError
        When called, if it returns something else, or if a row's scores depend on the other rows
        of its batch or on chance, which is looked at once.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.sampling import ArraySampler
    >>> sampler = ArraySampler(lambda batch: np.stack([batch[:, 0], -batch[:, 0]], axis=1))
    >>> int(sampler(np.array([9.0, 0.0]), 1.0, 50, np.random.default_rng(0))[0])
    50
    """

    def __call__(
        self, x: Any, sigma: float, n: int, generator: np.random.Generator
    ) -> NDArray[np.int64]:
        """Counts of the classes; see :class:`Sampler`."""
        x = np.asarray(x, dtype=np.float32)
        size = block_size(n, x.size)
        counts: Any = 0
        for start in range(0, n, size):
            batch = noisy(x, sigma, size, generator)
            counts = counts + votes(self.scores(batch), size, n - start)
        return np.asarray(counts, dtype=np.int64)


def votes(scores: Any, rows: int, used: int) -> NDArray[np.int64]:
    """Counts of the classes over the first ``used`` rows of one batch of NumPy scores."""
    scores = checked_scores(scores, rows)[:used]
    valid = ~np.isnan(scores).any(axis=1)
    return np.bincount(scores.argmax(axis=1)[valid], minlength=scores.shape[1])
