"""Sampling of class scores in [0, 1] in place of votes, for bounds on their means."""

from __future__ import annotations

from typing import Any

import numpy as np

from rsbounds.confidence import ScoreHistogram
from rsbounds.sampling.blocks import block_size, noisy
from rsbounds.sampling.inputs import single
from rsbounds.sampling.rows import Scored

_SUM = 1 - 2.0**-48  # scores of more classes than 2^20 aside, their sum is at most 1


class SoftSampler(Scored):
    """A histogram of each class's scores: the classifier that is smoothed votes with them.

    Parameters
    ----------
    classifier : callable
        Takes a float32 array (count, *shape of x), returns scores (count, classes) in [0, 1]
        that sum to 1, such as a softmax. Larger sums are divided by themselves; a row with a
        NaN scores 0 for every class.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.certify import certify
    >>> from rsbounds.sampling import SoftSampler
    >>> from rsbounds.schemes import gaussian
    >>> def classifier(batch):
    ...     p = 1 / (1 + np.exp(-8 * batch[:, 0]))
    ...     return np.stack([p, 1 - p], axis=1)
    >>> sampler = SoftSampler(classifier)
    >>> c = certify(sampler, [0.5, 0.0], gaussian(0.25), n=1000, bound="betting")
    >>> c.predict, 0.3 < c.radius < 0.5
    (0, True)
    """

    evidence = "scores"

    def __call__(
        self, x: Any, sigma: float, n: int, generator: np.random.Generator
    ) -> list[ScoreHistogram]:
        """A histogram of n scores for each class."""
        x = single(x)
        size = block_size(n, x.size)
        histograms: list[ScoreHistogram] = []
        for start in range(0, n, size):
            scores = self.scores(noisy(x, sigma, size, generator))[: n - start].astype(np.float64)
            void = np.isnan(scores).any(axis=1, keepdims=True)
            scores = np.where(void, 0.0, scores)
            scores = scores * (_SUM / np.maximum(scores.sum(axis=1, keepdims=True), 1.0))
            histograms = histograms or [ScoreHistogram() for _ in range(scores.shape[1])]
            for histogram, column in zip(histograms, scores.T, strict=True):
                histogram.add(column)
        return histograms
