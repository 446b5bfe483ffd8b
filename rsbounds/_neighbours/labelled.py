"""Anchors with labels: how far the label of the nearest one reaches."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rsbounds._neighbours.anchors import Anchors, Progress
from rsbounds._numerics.checks import Array, choice, on_host, whole
from rsbounds._numerics.rounding import EPS, flag_nan

Labels = NDArray[np.int64]

_DUAL = {1.0: np.inf, 2.0: 2.0, np.inf: 1.0}
_LEAST_STEP = 1e-290  # multiples of it keep their digits
_SAMPLE = 2**21  # numbers that a centre is chosen from
_MOST_CODED = 2**23  # coordinates: the sum of the differences of their codes has 32 bits


class Memory(NamedTuple):
    """Labelled anchors, and bounds of their distances in the dual norm of exponent ``order``.

    |p - q|_* <= spreads_p + spreads_q, the distances to one centre. Where there are ``codes``
    (a byte for each coordinate) also |p - q|_* <= step sum |code_p - code_q| + lost_p + lost_q.
    """

    points: Array
    squares: Array
    labels: Labels
    order: float
    spreads: Array
    codes: NDArray[np.uint8]
    lost: Array
    step: float


class LabelledAnchors(Anchors):
    """Anchors with labels, and the norm that measures perturbations."""

    def __init__(self, anchors: ArrayLike, labels: ArrayLike, norm: float) -> None:
        super().__init__(anchors)
        self.labels = np.array(whole("labels", on_host("labels", labels), -(2**62)))
        if self.labels.shape != self.squares.shape:
            raise ValueError(
                f"labels must have shape {self.squares.shape}, one for each anchor; "
                f"got {self.labels.shape}"
            )
        if norm not in (1, 2, np.inf):
            raise ValueError(f"norm must be one of 1, 2, inf; got {norm!r}")
        self._order = _DUAL[float(norm)]

    def dual(self, vectors: Array) -> Array:
        """The dual norm along the last axis."""
        contiguous = np.ascontiguousarray(vectors)  # so that numpy adds pairwise
        result: Array = np.linalg.norm(contiguous, ord=self._order, axis=-1)
        return result

    def nearest(self, rows: Array) -> Labels:
        """Label of the nearest anchor."""
        from rsbounds._neighbours import scans

        index, slacks = np.zeros(len(rows), np.int64), self.slacks(rows)

        def kernel(x: Array, dots: Array, minima: Array, a: int, b: int) -> None:
            scans.nearest_anchors(
                x, dots, minima, slacks[a:b], self.points, self.squares, index[a:b]
            )

        self.scan(rows, kernel)
        return self.labels[index]

    def radius(self, x: ArrayLike, method: str, progress: Progress | None) -> tuple[Array, Labels]:
        """Neighbour radius, and label of the nearest anchor, at each x."""
        from rsbounds._neighbours import scans

        rows = self.queries(x)
        tight = choice("method", method, ("tight", "paper")) == "tight"
        memory, slacks = self._memory, self.slacks(rows)
        nearest, radii = np.zeros(len(rows), np.int64), np.zeros(len(rows))

        def kernel(x: Array, dots: Array, minima: Array, a: int, b: int) -> None:
            out = nearest[a:b], radii[a:b]
            scans.neighbour_radii(x, dots, minima, slacks[a:b], memory, tight, *out)

        self.scan(rows, kernel, progress)
        return flag_nan(radii).reshape(np.shape(x)[:-1])[()], self.labels[nearest]

    @cached_property
    def _memory(self) -> Memory:
        points, order = self.points, self._order
        low, high = points.min(axis=0), points.max(axis=0)
        width = float((high - low).max())
        step = max(width / 255, _LEAST_STEP)
        coded = np.zeros(0, np.int64)
        if order == 1:  # any centre and any choice of coordinates are sound: from a sample
            sample = points[:: -(-points.size // _SAMPLE)]
            centre = np.median(sample, axis=0)
            sizes = np.abs(sample - centre).mean(axis=0)
            coded = np.flatnonzero(sizes >= sizes.mean() / 2)[:_MOST_CODED]
        else:
            centre = points.mean(axis=0) if order == 2 else (low + high) / 2
        spreads, lost = np.empty((2, len(points)))
        codes = np.empty((len(points), len(coded)), np.uint8)
        for part in self.parts():
            sides = points[part] - centre
            spreads[part] = np.linalg.norm(sides, ord=order, axis=1)
            if coded.size:
                sides[:, coded] = points[part][:, coded] - low[coded]
                codes[part] = np.minimum(sides[:, coded] / step, 255.0) + 0.5
                sides[:, coded] -= step * codes[part]
                lost[part] = np.abs(sides).sum(axis=1)
        # each sum's own rounding, and that of its terms, computed at the width of the box
        rounding = 2 * (points.shape[1] + 16) * EPS
        spreads *= 1 + rounding
        lost = lost * (1 + rounding) + rounding * max(width, step)
        return Memory(points, self.squares, self.labels, order, spreads, codes, lost, step)
