"""Scores in [0, 1] as the histogram that the bounds on scores read, rounded down."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import Array, as_floats, as_integers
from rsbounds._numerics.errors import ArgumentError


def default_edges() -> Array:
    """Cell edges: steps of 2^-12; near 0 and 1 relative steps of 2^-6, to 2^-30."""
    uniform = np.arange(2**12 + 1) / 2.0**12
    octaves = np.ldexp(1.0 + np.arange(64) / 64.0, np.arange(-30, -6)[:, None]).ravel()
    return np.unique(np.concatenate([uniform, octaves, 1.0 - octaves]))


class ScoreHistogram:
    """Counts of scores in [0, 1] by cell, the only state that the soft bounds need.

    A score counts as the lower edge of its cell, so a lower bound computed from the
    histogram is one for the scores themselves; `complement` does the same for upper
    bounds. Two histograms over the same edges merge by adding, so batches, shards and
    resumed runs give the same result in any order.

    Parameters
    ----------
    counts : array_like of int, shape (len(edges),), optional
        Number of scores in [edges[i], edges[i + 1]), the last cell being exactly {1}.
        Zero by default.
    edges : array_like of float, optional
        Increasing from 0 to 1, with 1 - edges exact in float64 (multiples of 2^-52
        are). By default 7,169 edges: steps of 2^-12, and near 0 and 1 relative steps of
        2^-6.

    Examples
    --------
    >>> from rsbounds.confidence import ScoreHistogram
    >>> first, second = ScoreHistogram(), ScoreHistogram()
    >>> first.add([0.9, 1.0])
    >>> second.add([0.25])
    >>> first.merge(second).n
    3
    """

    def __init__(self, counts: Any = None, edges: Any = None) -> None:
        if edges is None:
            self.edges = default_edges()
        else:
            # a copy: the caller may change the array later
            self.edges = np.array(as_floats("edges", edges, 0.0, 1.0, nan=False))
            _check_edges(self.edges)
        if counts is None:
            self.counts = np.zeros(self.edges.size, dtype=np.int64)
        else:
            self.counts = as_integers("counts", counts)
        if self.counts.shape != self.edges.shape:
            raise ArgumentError(
                "counts", f"must have shape {self.edges.shape}; got {self.counts.shape}"
            )

    @property
    def n(self) -> int:
        """Number of scores."""
        return int(self.counts.sum())

    def add(self, scores: Any) -> None:
        """Count a batch of scores, an array of any shape with values in [0, 1]."""
        # more digits than float64 has are rounded down, as each score is to its cell
        checked = as_floats("scores", scores, 0.0, 1.0, nan=False, towards=-np.inf)
        cell = np.searchsorted(self.edges, checked.ravel(), side="right") - 1
        self.counts += np.bincount(cell, minlength=self.edges.size)

    def merge(self, other: ScoreHistogram) -> ScoreHistogram:
        """The histogram of both sets of scores; the edges must be the same."""
        require_histogram(other, "other")
        if not np.array_equal(self.edges, other.edges):
            raise ValueError(
                "edges of merged histograms must be equal; got different ones"
            )
        return ScoreHistogram(self.counts + other.counts, self.edges)

    def complement(self) -> ScoreHistogram:
        """The histogram of 1 - score, each again counted at or below its value."""
        edges = 1.0 - self.edges[::-1]
        counts = np.zeros_like(self.counts)
        counts[:-1] = self.counts[-2::-1]
        counts[0] += self.counts[-1]
        return ScoreHistogram(counts, edges)

    def at_least(self, threshold: Any) -> NDArray[np.int64]:
        """Number of scores >= threshold, for thresholds among the edges."""
        threshold = as_floats("threshold", threshold, 0.0, 1.0, nan=False, exact=True)
        cell = np.searchsorted(self.edges, threshold)
        if not np.all(self.edges[cell] == threshold):
            raise ArgumentError(
                "thresholds", "must be one of the edges; got another value"
            )
        from_cell = np.cumsum(self.counts[::-1])[::-1]
        return np.asarray(from_cell[cell])


def require_histogram(histogram: Any, name: str = "histogram") -> None:
    """ValueError for anything but a histogram."""
    if not isinstance(histogram, ScoreHistogram):
        raise ArgumentError(name, f"must be a ScoreHistogram; got {histogram!r:.60}")


def _check_edges(edges: Array) -> None:
    ends = edges.ndim == 1 and edges.size >= 2 and edges[0] == 0.0 and edges[-1] == 1.0
    if not (ends and np.all(np.diff(edges) > 0)):
        raise ArgumentError("edges", "must increase from 0 to 1; got other values")
    # so that the complement's cells are these, turned round
    if not np.all(1.0 - (1.0 - edges) == edges):
        raise ArgumentError(
            "edges", "must have 1 - edges exact (multiples of 2**-52); got others"
        )
