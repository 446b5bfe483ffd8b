"""Anchor points in memory and the blocks of dot products that the numba kernels scan."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rsbounds._numerics.checks import Array, choice, real, whole
from rsbounds._numerics.rounding import EPS, flag_nan
from rsbounds._numerics.threads import cores

Labels = NDArray[np.int64]
Progress = Callable[[int, int], object]

_DUAL = {1.0: np.inf, 2.0: 2.0, np.inf: 1.0}
_LARGEST = 1e100  # squares of coordinates stay far from overflow
_BLOCK = 2**24  # dot products held at a time: 128 MiB; with fewer rows BLAS loses 10 %


class Anchors:
    """Points (N, d) and their squared norms."""

    def __init__(self, points: ArrayLike) -> None:
        points = real("anchors", points, -_LARGEST, _LARGEST, nan=False)
        if points.ndim != 2 or 0 in points.shape:
            raise ValueError(f"anchors must have shape (N, d), N and d >= 1; got {points.shape}")
        self.points = np.ascontiguousarray(points)
        self.squares = np.einsum("nd,nd->n", self.points, self.points)
        self._largest = np.sqrt(self.squares.max())

    def queries(self, x: ArrayLike) -> Array:
        """``x`` of shape (..., d) as (n, d); NaN passes."""
        x = real("x", x, -_LARGEST, _LARGEST)
        dim = self.points.shape[1]
        if x.ndim == 0 or x.shape[-1] != dim:
            raise ValueError(f"x must have shape (..., {dim}) as the anchors do; got {x.shape}")
        return np.ascontiguousarray(x.reshape(-1, dim))

    def slacks(self, x: Array) -> Array:
        """For each row, twice the error of |x|^2 + squares - 2 dots, in any order of sums."""
        size = np.sqrt(np.einsum("nd,nd->n", x, x)) + self._largest
        slack: Array = 2 * (x.shape[1] + 16) * EPS * size**2
        return slack

    def scan(
        self,
        x: Array,
        kernel: Callable[[Array, Array, int, int], object],
        progress: Progress | None = None,
    ) -> None:
        """Call kernel(x[a:b], x[a:b] @ points.T, a, b) for all rows, in pieces on every core.

        ``progress(done, total)`` is called after each block of dot products.
        """
        workers = cores()
        rows = min(len(x), max(workers, _BLOCK // len(self.points)))
        buffer = np.empty((rows, len(self.points)))
        with ThreadPoolExecutor(workers) as pool:
            for start in range(0, len(x), max(rows, 1)):
                stop = min(start + rows, len(x))
                dots = np.dot(x[start:stop], self.points.T, out=buffer[: stop - start])
                tasks = [
                    pool.submit(kernel, x[a:b], dots[a - start : b - start], a, b)
                    for a, b in _pieces(start, stop, 4 * workers)
                ]
                for task in tasks:
                    task.result()
                if progress is not None:
                    progress(stop, len(x))


class LabelledAnchors(Anchors):
    """Anchors with labels, and the norm that measures perturbations."""

    def __init__(self, anchors: ArrayLike, labels: ArrayLike, norm: float) -> None:
        super().__init__(anchors)
        self.labels = whole("labels", labels, -(2**62))
        if self.labels.shape != self.squares.shape:
            raise ValueError(
                f"labels must have shape {self.squares.shape}, one for each anchor; "
                f"got {self.labels.shape}"
            )
        if norm not in (1, 2, np.inf):
            raise ValueError(f"norm must be one of 1, 2, inf; got {norm!r}")
        self._norm = float(norm)
        self._bounds: tuple[Array, Array, Array] | None = None

    def dual(self, vectors: Array) -> Array:
        """The dual norm along the last axis."""
        # contiguous, so that numpy adds pairwise
        vectors = np.ascontiguousarray(vectors)
        result: Array = np.linalg.norm(vectors, ord=_DUAL[self._norm], axis=-1)
        return result

    def nearest(self, rows: Array) -> Labels:
        """Label of the nearest anchor."""
        return self._radii(rows, np.empty(0), False, None)

    def radius(self, x: ArrayLike, method: str, progress: Progress | None) -> tuple[Array, Labels]:
        """Neighbour radius, and label of the nearest anchor, at each x."""
        rows = self.queries(x)
        tight = choice("method", method, ("tight", "paper")) == "tight"
        radius = np.full(len(rows), np.nan)
        label = self._radii(rows, radius, tight, progress)
        return flag_nan(radius).reshape(np.shape(x)[:-1])[()], label

    def _radii(self, rows: Array, radius: Array, tight: bool, progress: Progress | None) -> Labels:
        from rsbounds._neighbours.scans import radii

        bounds = self._geometry()
        index = np.zeros(len(rows), dtype=np.int64)
        slacks = self.slacks(rows)

        def kernel(x: Array, dots: Array, a: int, b: int) -> None:
            points, squares = self.points, self.squares
            radii(
                x, dots, points, squares, self.labels, *bounds, self._norm, tight,
                slacks[a:b], radius[a:b], index[a:b],
            )  # fmt: skip

        self.scan(rows, kernel, progress)
        return self.labels[index]

    def _geometry(self) -> tuple[Array, Array, Array]:
        """The box around the anchors, and their distances to its middle in the dual norm."""
        from rsbounds._neighbours.scans import spreads

        if self._bounds is None:
            low, high = self.points.min(axis=0), self.points.max(axis=0)
            spread = np.empty(len(self.points))
            spreads(self.points, self.points.mean(axis=0), self._norm, spread)
            self._bounds = low, high, spread
        return self._bounds


def _pieces(start: int, stop: int, count: int) -> Iterator[tuple[int, int]]:
    edges = np.linspace(start, stop, min(count, stop - start) + 1).astype(int)
    return zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
