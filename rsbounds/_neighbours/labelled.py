"""Anchors with labels: how far the label of the nearest one reaches."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rsbounds._neighbours.anchors import Anchors, Progress
from rsbounds._numerics.checks import Array, as_integers, choice, on_host
from rsbounds._numerics.rounding import flag_nan

if TYPE_CHECKING:
    from rsbounds._neighbours.sieve import Codes

Labels = NDArray[np.int64]

_DUAL = {1.0: np.inf, 2.0: 2.0, np.inf: 1.0}


class Starts(NamedTuple):
    """For each row of x: its nearest anchor, and ``best``, the least margin of a few rivals.

    ``guard`` is the anchor with that margin. No rival whose squares - 2 dots is ``limit`` or
    more has a margin below ``best``; its squared distance exceeds the nearest anchor's by
    squares - 2 dots - ``floor`` at least.
    """

    nearest: Labels
    guard: Labels
    best: Array
    floor: Array
    limit: Array


class LabelledAnchors(Anchors):
    """Anchors with labels, and the norm that measures perturbations."""

    def __init__(self, anchors: ArrayLike, labels: ArrayLike, norm: float) -> None:
        super().__init__(anchors)
        self.labels = np.array(as_integers("labels", on_host("labels", labels), -(2**62)))
        if self.labels.shape != self.squares.shape:
            raise ValueError(
                f"labels must have shape {self.squares.shape}, one for each anchor; "
                f"got {self.labels.shape}"
            )
        if norm not in (1, 2, np.inf):
            raise ValueError(f"norm must be one of 1, 2, inf; got {norm!r}")
        self._norm = float(norm)

    def dual(self, vectors: Array) -> Array:
        """The dual norm along the last axis."""
        # contiguous, so that numpy adds pairwise
        vectors = np.ascontiguousarray(vectors)
        result: Array = np.linalg.norm(vectors, ord=_DUAL[self._norm], axis=-1)
        return result

    def radius(self, x: ArrayLike, method: str, progress: Progress | None) -> tuple[Array, Labels]:
        """Neighbour radius, and label of the nearest anchor, at each x."""
        from rsbounds._neighbours import scans, sieve

        rows = self.queries(x)
        tight = choice("method", method, ("tight", "paper")) == "tight"
        low, high, spreads, codes = self._geometry
        points, squares, labels = self.points, self.squares, self.labels
        slacks = self.slacks(rows)
        nearest, guard = np.zeros((2, len(rows)), np.int64)
        best, floor, limit = np.zeros((3, len(rows)))
        starts = Starts(nearest, guard, best, floor, limit)

        def kernel(x: Array, dots: Array, minima: Array, a: int, b: int) -> None:
            slack, part = slacks[a:b], Starts._make(field[a:b] for field in starts)
            memory = (points, squares, labels)
            scans.begin(x, dots, *memory, low, high, self._norm, tight, minima, slack, part)
            room = dots.size  # what is not written to takes no memory
            rivals = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room)
            kept = sieve.sift(dots, squares, labels, spreads, codes, minima, part, *rivals)
            row, rival, ratio = (values[:kept] for values in rivals)
            order = np.lexsort((ratio, row))
            scans.refine(
                x, dots, *memory, self._norm, tight, minima, slack, part,
                row[order], rival[order], ratio[order],
            )  # fmt: skip

        self.scan(rows, kernel, progress)
        return flag_nan(best).reshape(np.shape(x)[:-1])[()], labels[nearest]

    @cached_property
    def _geometry(self) -> tuple[Array, Array, Array, Codes]:
        """The box around the anchors, their dual distances to their mean, and their codes."""
        from rsbounds._neighbours import scans, sieve

        points = self.points
        low, high = points.min(axis=0), points.max(axis=0)
        codes = sieve.encode(points, low, high) if self._norm == np.inf else sieve.NONE
        spread = np.empty(len(points))
        scans.spreads(points, points.mean(axis=0), self._norm, spread)
        return low, high, spread, codes
