"""Anchor points in memory, with and without labels; the dot products that the kernels scan."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rsbounds._numerics.checks import Array, as_floats, as_integers, choice, on_host
from rsbounds._numerics.rounding import EPS, flag_nan
from rsbounds._numerics.threads import cores

if TYPE_CHECKING:
    from rsbounds._neighbours.sieve import Codes

Labels = NDArray[np.int64]
Progress = Callable[[int, int], object]
Kernel = Callable[[Array, Array, Array, int, int], object]

_DUAL = {1.0: np.inf, 2.0: 2.0, np.inf: 1.0}
_LARGEST = 1e100  # squares of coordinates stay far from overflow
_BLOCK = 2**24  # dot products held at a time: 128 MiB; with fewer rows BLAS loses 10 %


class Anchors:
    """Points (N, d) and their squared norms; arrays of its own, which no caller can change."""

    def __init__(self, points: ArrayLike) -> None:
        given = on_host("anchors", points)
        points = as_floats("anchors", given, -_LARGEST, _LARGEST, nan=False)
        if points.ndim != 2 or 0 in points.shape:
            raise ValueError(f"anchors must have shape (N, d), N and d >= 1; got {points.shape}")
        shared = np.may_share_memory(points, np.asarray(given))
        self.points = np.array(points, order="C", copy=shared or None)
        self.squares = np.einsum("nd,nd->n", self.points, self.points)
        self._largest = np.sqrt(self.squares.max())

    def queries(self, x: ArrayLike) -> Array:
        """``x`` of shape (..., d) as (n, d); NaN passes."""
        x = as_floats("x", on_host("x", x), -_LARGEST, _LARGEST)
        dim = self.points.shape[1]
        if x.ndim == 0 or x.shape[-1] != dim:
            raise ValueError(f"x must have shape (..., {dim}) as the anchors do; got {x.shape}")
        return np.ascontiguousarray(x.reshape(-1, dim))

    def slacks(self, x: Array) -> Array:
        """For each row, twice the error of |x|^2 + squares - 2 dots, in any order of sums."""
        size = np.sqrt(np.einsum("nd,nd->n", x, x)) + self._largest
        slack: Array = 2 * (x.shape[1] + 16) * EPS * size**2
        return slack

    def scan(self, x: Array, kernel: Kernel, progress: Progress | None) -> None:
        """Call kernel(x[a:b], dots, minima, a, b) for all rows, in pieces on every core.

        dots = x[a:b] @ points.T, minima the least of squares - 2 dots in each block of anchors.
        ``progress(done, total)`` is called after each block of dot products.
        """
        from rsbounds._neighbours.sieve import BLOCK, block_minima

        def scan_piece(a: int, b: int, dots: Array) -> None:
            minima = np.empty((b - a, -(-len(self.points) // BLOCK)))
            block_minima(dots, self.squares, minima)
            kernel(x[a:b], dots, minima, a, b)

        workers = cores()
        rows = min(len(x), max(workers, _BLOCK // len(self.points)))
        buffer = np.empty((rows, len(self.points)))
        with ThreadPoolExecutor(workers) as pool:
            for start in range(0, len(x), max(rows, 1)):
                stop = min(start + rows, len(x))
                dots = np.dot(x[start:stop], self.points.T, out=buffer[: stop - start])
                edges = np.linspace(start, stop, min(4 * workers, stop - start) + 1).astype(int)
                tasks = [
                    pool.submit(scan_piece, a, b, dots[a - start : b - start])
                    for a, b in pairwise(edges.tolist())
                ]
                for task in tasks:
                    task.result()
                if progress is not None:
                    progress(stop, len(x))


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
