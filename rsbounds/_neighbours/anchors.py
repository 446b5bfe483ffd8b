"""Anchor points in memory: dot products, labels, and the radii of nearest labels."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rsbounds._neighbours import votes
from rsbounds._neighbours.norms import DualNorm, PowerOrDual
from rsbounds._numerics.checks import (
    Array,
    as_floats,
    as_integers,
    choice,
    count,
    on_host,
)
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.rounding import EPS, flag_nan
from rsbounds._numerics.threads import cores
from rsbounds_ext import kernels

Labels = NDArray[np.int64]

#: Relative error of a length that kernels return: 64 roundings of a block in any order,
#: and those of the rest.
ERROR = 40 * EPS
_BLOCK = 64  # anchors in a block, of whose products kernels take the least
_GROUP = 32  # codes that kernels compare at once
_LARGEST = 1e100  # squares of coordinates stay far from overflow
_PRODUCTS = 2**24  # held at a time: 128 MiB; with fewer rows BLAS loses 10 %
_LEAST_STEP = 1e-290  # multiples of it keep their digits
_SQUARES_TO_NOTHING = 1e-153  # and what is larger doesn't


class Products(NamedTuple):
    """What BLAS says of some rows of x, by row and anchor.

    ``minima`` are the least of squares - 2 dots in each block of anchors, ``slacks``
    twice the error of these.
    """

    x: Array
    dots: Array
    minima: Array
    slacks: Array


class Piece(NamedTuple):
    """Rows ``start`` to ``stop`` of x, with their products."""

    start: int
    stop: int
    products: Products


class Box(NamedTuple):
    """The least, the largest and the mean of each coordinate of some points."""

    low: Array
    high: Array
    mean: Array


def box(points: Array) -> Box:
    """The box around points (N, d); a mean is NaN where some point has NaN."""
    low, high, sums = np.empty((3, points.shape[1]))
    kernels.box(points, low, high, sums)
    return Box(low, high, sums / len(points))


class Anchors:
    """Points (N, d) and their squared norms, in arrays that no caller can change.

    ``copy=False`` is for those that are not kept beyond a call.
    """

    def __init__(self, points: ArrayLike, *, copy: bool = True) -> None:
        on_cpu = on_host("anchors", points)
        points = as_floats("anchors", on_cpu)
        if points.ndim != 2 or 0 in points.shape:
            raise ArgumentError(
                "anchors", f"must have shape (N, d), N and d >= 1; got {points.shape}"
            )
        shared = copy and np.may_share_memory(points, np.asarray(on_cpu))
        self.points = np.array(points, order="C", copy=shared or None)
        self.box = box(self.points)
        inside = np.maximum(-self.box.low, self.box.high) <= _LARGEST
        if not (inside & ~np.isnan(self.box.mean)).all():
            # refuses
            self.points = as_floats("anchors", on_cpu, -_LARGEST, _LARGEST, nan=False)
        self.squares = np.einsum("nd,nd->n", self.points, self.points)
        self._largest = np.sqrt(self.squares.max())

    def queries(self, x: ArrayLike) -> Array:
        """``x`` of shape (..., d) as (n, d); NaN passes."""
        x = as_floats("x", on_host("x", x), -_LARGEST, _LARGEST)
        dim = self.points.shape[1]
        if x.ndim == 0 or x.shape[-1] != dim:
            raise ArgumentError(
                "x", f"must have shape (..., {dim}) as the anchors do; got {x.shape}"
            )
        return np.ascontiguousarray(x.reshape(-1, dim))

    def slacks(self, x: Array) -> Array:
        """Twice the error of |x|^2 + squares - 2 dots for each row, in any order."""
        size = np.sqrt(np.einsum("nd,nd->n", x, x)) + self._largest
        slack: Array = 2 * (x.shape[1] + 16) * EPS * size**2
        return slack

    @np.errstate(under="ignore")  # as of their products
    def scan(self, x: Array, kernel: Callable[[Piece], object]) -> None:
        """Call the kernel for all rows, in pieces that run in parallel."""
        slacks = self.slacks(x)

        def scan_piece(start: int, stop: int, dots: Array) -> None:
            minima = np.empty((stop - start, -(-len(self.points) // _BLOCK)))
            kernels.block_minima(dots, self.squares, minima)
            rows = slice(start, stop)
            products = Products(x[rows], dots, minima, slacks[rows])
            kernel(Piece(start, stop, products))

        workers = cores()
        rows = min(len(x), max(workers, _PRODUCTS // len(self.points)))
        buffer = np.empty((rows, len(self.points)))
        with ThreadPoolExecutor(workers) as pool:
            for start in range(0, len(x), max(rows, 1)):
                stop = min(start + rows, len(x))
                dots = np.dot(x[start:stop], self.points.T, out=buffer[: stop - start])
                pieces = min(4 * workers, stop - start)
                if pieces == 1:  # of one point a thread would take longer to start
                    scan_piece(start, stop, dots)
                    continue
                edges = np.linspace(start, stop, pieces + 1).astype(int)
                tasks = [
                    pool.submit(scan_piece, a, b, dots[a - start : b - start])
                    for a, b in pairwise(edges.tolist())
                ]
                for task in tasks:
                    task.result()


class Bounds(NamedTuple):
    """What bounds distances between anchors, in the dual norm.

    That is the box around them, and ``spreads``, distances to their mean; also a byte
    for each coordinate, a multiple of ``step``, and what the bytes lose of each anchor.
    """

    low: Array
    high: Array
    spreads: Array
    codes: NDArray[np.uint8]
    lost: Array
    step: float


def bounds(points: Array, around: Box, norm: float) -> Bounds:
    """What bounds distances between points in the dual of the norm."""
    count, dim = points.shape
    width = float((around.high - around.low).max())
    step = max(width / 255, _LEAST_STEP)
    codes = np.empty((count, -(-dim // _GROUP) * _GROUP), np.uint8)
    lost, spreads = np.empty((2, count))
    kernels.encode(points, around.low, around.mean, step, norm, codes, lost, spreads)
    # the length's own rounding, that of each side, computed at the box's width, and
    # sides whose squares are 0
    lost = lost * (1 + 2 * dim * EPS) + 2 * dim * EPS * max(width, step)
    lost += dim * _SQUARES_TO_NOTHING
    return Bounds(around.low, around.high, spreads, codes, lost, step)


class LabelledAnchors(Anchors):
    """Anchors with labels, and the norm that measures perturbations.

    The k nearest vote; with k = 1 and an l_1, l_2 or l_inf norm the scan is compiled.
    """

    def __init__(
        self,
        anchors: ArrayLike,
        labels: ArrayLike,
        norm: PowerOrDual,
        k: int = 1,
        *,
        copy: bool = True,
    ) -> None:
        super().__init__(anchors, copy=copy)
        self.labels = np.array(
            as_integers("labels", on_host("labels", labels), -(2**62))
        )
        if self.labels.shape != self.squares.shape:
            raise ArgumentError(
                "labels",
                f"must have shape {self.squares.shape}, one for each anchor; "
                f"got {self.labels.shape}",
            )
        self.norm = DualNorm(norm)
        first_two = self.points[:2]
        self.norm.require_homogeneous(
            np.concatenate([first_two, first_two - self.points[-1]])
        )
        self._k = count("k", k, 1)
        self._require_votes()

    def _require_votes(self) -> None:
        names = len(np.unique(self.labels))
        if self._k == 1 or (self._k % 2 and self._k <= len(self.labels) and names <= 2):
            return
        raise ArgumentError(
            "k",
            "must be 1, or odd, at most the number of anchors, and these of two labels "
            f"at most; got {self._k} with {len(self.labels)} anchors of {names} labels",
        )

    def labels_of(self, found: Labels) -> Labels:
        """The labels that may be found, whatever those found here are."""
        return self.labels

    def radius(self, x: ArrayLike, method: str) -> tuple[Array, Labels]:
        """Neighbour radius, and label of the nearest anchors, at each x."""
        rows = self.queries(x)
        tight = choice("method", method, ("tight", "paper")) == "tight"
        if self._k > 1 or not self.norm.compiled:
            radii, labels = votes.radii(
                rows, self.points, self.labels, self._apart, self._k, tight
            )
        else:
            radii, labels = self._scanned(rows, tight)
        shaped: Array = flag_nan(radii).reshape(np.shape(x)[:-1])[()]
        return shaped, labels

    def _scanned(self, rows: Array, tight: bool) -> tuple[Array, Labels]:
        """What the compiled scan finds."""
        radii = np.empty(len(rows))
        nearest = np.empty(len(rows), np.int64)
        memory = self.points, self.squares, self.labels, *self._bounds

        def scan(piece: Piece) -> None:
            part = slice(piece.start, piece.stop)
            kernels.neighbour_radii(
                *piece.products,
                *memory,
                self.norm.power,
                tight,
                radii[part],
                nearest[part],
            )

        self.scan(rows, scan)
        return radii, self.labels[nearest]

    @cached_property
    def _apart(self) -> Array:
        """Dual distances between all anchors."""
        return votes.distances(self.points, self.norm)

    @cached_property
    @np.errstate(under="ignore")  # coordinates may be smaller than any normal double
    def _bounds(self) -> Bounds:
        """What bounds distances between the anchors."""
        norm = self.norm.power
        assert norm is not None  # what is not compiled has no use of bounds
        return bounds(self.points, self.box, norm)
