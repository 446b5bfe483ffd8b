"""Anchor points in memory and the blocks of dot products that the numba kernels scan."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import ArrayLike

from rsbounds._numerics.checks import Array, as_floats, on_host
from rsbounds._numerics.rounding import EPS
from rsbounds._numerics.threads import cores

Progress = Callable[[int, int], object]
Kernel = Callable[[Array, Array, Array, int, int], object]

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
                tasks = [
                    pool.submit(scan_piece, a, b, dots[a - start : b - start])
                    for a, b in _pieces(start, stop, 4 * workers)
                ]
                for task in tasks:
                    task.result()
                if progress is not None:
                    progress(stop, len(x))


def _pieces(start: int, stop: int, count: int) -> Iterator[tuple[int, int]]:
    edges = np.linspace(start, stop, min(count, stop - start) + 1).astype(int)
    return zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
