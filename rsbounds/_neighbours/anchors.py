"""Anchor points in memory: labels, dot products, and k-nearest noise levels."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rsbounds._numerics.checks import (
    Array,
    Floats,
    as_floats,
    as_integers,
    choice,
    count,
    number,
    on_host,
)
from rsbounds._numerics.domains import NORM
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.rounding import EPS, flag_nan
from rsbounds._numerics.threads import cores

if TYPE_CHECKING:
    from rsbounds._neighbours.sieve import Codes

Labels = NDArray[np.int64]
Kernel = Callable[[Array, Array, Array, int, int], object]

_DUAL = {1.0: np.inf, 2.0: 2.0, np.inf: 1.0}
_LARGEST = 1e100  # squares of coordinates stay far from overflow
_ROWS = 2**24  # numbers of the anchors looked at together
_BLOCK = 2**24  # dot products held at a time: 128 MiB; with fewer rows BLAS loses 10 %


class Anchors:
    """Points (N, d) and their squared norms, in arrays that no caller can change."""

    def __init__(self, points: ArrayLike) -> None:
        given = on_host("anchors", points)
        points = as_floats("anchors", given, -_LARGEST, _LARGEST, nan=False)
        if points.ndim != 2 or 0 in points.shape:
            raise ArgumentError(
                "anchors", f"must have shape (N, d), N and d >= 1; got {points.shape}"
            )
        shared = np.may_share_memory(points, np.asarray(given))
        self.points = np.array(points, order="C", copy=shared or None)
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
    def scan(self, x: Array, kernel: Kernel) -> None:
        """Call kernel(x[a:b], dots, minima, a, b) for all rows, in parallel pieces.

        dots = x[a:b] @ points.T, minima the least of squares - 2 dots in each block of
        anchors.
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
                pieces = min(4 * workers, stop - start)
                edges = np.linspace(start, stop, pieces + 1).astype(int)
                tasks = [
                    pool.submit(scan_piece, a, b, dots[a - start : b - start])
                    for a, b in pairwise(edges.tolist())
                ]
                for task in tasks:
                    task.result()


class Starts(NamedTuple):
    """For each row of x: its nearest anchor, and the least margin of a few rivals.

    ``best`` is that margin.

    ``guard`` is the anchor with that margin. No rival whose squares - 2 dots is
    ``limit`` or more has a margin below ``best``; its squared distance exceeds the
    nearest anchor's by squares - 2 dots - ``floor`` at least.
    """

    nearest: Labels
    guard: Labels
    best: Array
    floor: Array
    limit: Array


class Products(NamedTuple):
    """What BLAS says of some rows of x, by row and anchor.

    ``minima`` are the least of squares - 2 dots in each block of anchors, ``slacks``
    twice the error of these.
    """

    dots: Array
    minima: Array
    slacks: Array


class Memory(NamedTuple):
    """The anchors, their squared lengths and their labels."""

    points: Array
    squares: Array
    labels: Labels


class Bounds(NamedTuple):
    """What bounds distances between anchors: those to their mean, and their codes."""

    spreads: Array
    codes: Codes


class Rivals(NamedTuple):
    """Anchors of another label that may lower the margin of a row.

    No margin against one is below its ``ratio``.
    """

    row: Labels
    anchor: Labels
    ratio: Array


class LabelledAnchors(Anchors):
    """Anchors with labels, and the norm that measures perturbations."""

    def __init__(self, anchors: ArrayLike, labels: ArrayLike, norm: float) -> None:
        super().__init__(anchors)
        self.labels = np.array(
            as_integers("labels", on_host("labels", labels), -(2**62))
        )
        if self.labels.shape != self.squares.shape:
            raise ArgumentError(
                "labels",
                f"must have shape {self.squares.shape}, one for each anchor; "
                f"got {self.labels.shape}",
            )
        self._norm = NORM.one("norm", norm)
        if self._norm not in _DUAL:
            raise ArgumentError("norm", f"must be one of 1, 2, inf; got {norm!r}")

    def dual(self, vectors: Array) -> Array:
        """The dual norm along the last axis."""
        # contiguous, so that numpy adds pairwise
        result: Array = np.linalg.norm(
            np.ascontiguousarray(vectors), _DUAL[self._norm], axis=-1
        )
        return result

    def radius(self, x: ArrayLike, method: str) -> tuple[Array, Labels]:
        """Neighbour radius, and label of the nearest anchor, at each x."""
        from rsbounds._neighbours import scans, sieve

        rows = self.queries(x)
        tight = choice("method", method, ("tight", "paper")) == "tight"
        low, high, bounds = self._geometry
        memory = Memory(self.points, self.squares, self.labels)
        slacks = self.slacks(rows)
        starts = Starts(*np.zeros((2, len(rows)), np.int64), *np.zeros((3, len(rows))))

        def kernel(x: Array, dots: Array, minima: Array, a: int, b: int) -> None:
            products = Products(dots, minima, slacks[a:b])
            part = Starts._make(field[a:b] for field in starts)
            scans.begin(x, products, memory, (low, high), self._norm, tight, part)
            room = dots.size  # what is not written to takes no memory
            found = Rivals(
                np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room)
            )
            kept = sieve.sift(products, memory, bounds, part, found)
            order = np.lexsort((found.ratio[:kept], found.row[:kept]))
            ordered = Rivals(found.row[order], found.anchor[order], found.ratio[order])
            scans.refine(x, products, memory, self._norm, tight, part, ordered)

        self.scan(rows, kernel)
        radii = flag_nan(starts.best).reshape(np.shape(x)[:-1])[()]
        return radii, self.labels[starts.nearest]

    @cached_property
    @np.errstate(under="ignore")  # coordinates may be smaller than any normal double
    def _geometry(self) -> tuple[Array, Array, Bounds]:
        """Box around the anchors, and what bounds their distances."""
        from rsbounds._neighbours import scans, sieve

        points = self.points
        low = points.min(axis=0)
        high = points.max(axis=0)
        codes = sieve.encode(points, low, high) if self._norm == np.inf else sieve.NONE
        spread = np.empty(len(points))
        scans.spreads(points, points.mean(axis=0), self._norm, spread)
        return low, high, Bounds(spread, codes)


class KNNSigma:
    """sigma(x) = sigma_base exp(rate (dist(x) - shift)), dist over the k nearest.

    dist(x) is the mean distance to the k nearest anchors.

    Each distance to an anchor is 1-Lipschitz in x, so is the mean of the k least of
    them, and log sigma is `rate`-Lipschitz: the `rate` is the one to give to
    :func:`rsbounds.semielastic.radius`, with sigma(x) as its `sigma`. Source: [S] eq.
    (1).

    Parameters
    ----------
    anchors : array_like or Tensor, shape (N, d)
        Points to measure from, usually the training set; |coordinate| <= 1e100.
    sigma_base : float
        The level where dist(x) = shift; positive.
    rate : float
        Semi-elasticity, at least 0, in 1/(units of the input).
    k : int
        Number of neighbours, 1 to N.
    shift : {"mean", "min"} or float
        The distance at which sigma is sigma_base; a word stands for that statistic of
        the anchors' own dist, each left out of its own neighbours (N^2 d operations, k
        < N).

    Examples
    --------
    >>> from rsbounds.semielastic import KNNSigma
    >>> anchors = [[0.0, 0.0], [3.0, 4.0]]
    >>> level = KNNSigma(anchors, sigma_base=0.5, rate=0.1, k=1, shift=0.0)
    >>> round(float(level.sigma([6.0, 8.0])), 6)
    0.824361
    """

    def __init__(
        self,
        anchors: ArrayLike,
        sigma_base: float,
        rate: float,
        k: int,
        shift: str | float = "mean",
    ) -> None:
        self._anchors = Anchors(anchors)
        self.sigma_base = number("sigma_base", sigma_base, 0.0, closed="neither")
        self.rate = number("rate", rate, 0.0, closed="left")
        self.k = count("k", k, 1)
        neighbours = len(self._anchors.points)
        if isinstance(shift, str):
            neighbours -= 1  # an anchor is none of its own
        if not self.k <= neighbours:
            raise ArgumentError(
                "k",
                f"must be at most the number of anchors ({len(self._anchors.points)}), "
                f"less than it for shift 'min' or 'mean'; got {self.k}",
            )
        if isinstance(shift, str):
            choice("shift", shift, ("min", "mean"))
            distances = self._distances(self._anchors.points, leave_out=True)
            self.shift = float(distances.min() if shift == "min" else distances.mean())
        else:
            self.shift = number("shift", shift, -1e300, 1e300)

    @property
    def parameters(self) -> dict[str, Any]:
        """Everything the levels are computed from besides the rate.

        That is sigma, k, shift, and the SHA-256 of the anchors in float64.
        """
        digest = hashlib.sha256(self._anchors.points.tobytes()).hexdigest()
        return {
            "sigma": self.sigma_base,
            "k": self.k,
            "shift": self.shift,
            "anchors": digest,
        }

    def distance(self, x: ArrayLike) -> Floats:
        """Mean distance to the k nearest anchors, within 1e-13 (relative).

        Parameters as in :meth:`sigma`.
        """
        rows = self._anchors.queries(x)
        result: Floats = flag_nan(self._distances(rows)).reshape(np.shape(x)[:-1])[()]
        return result

    def sigma(self, x: ArrayLike) -> Floats:
        """The noise level at each x of shape (..., d).

        Returns
        -------
        Array
            Shape (...), within 1e-13 (1 + rate dist + rate \\|shift\\|) of the true
            value (relative); NaN in, NaN out with the invalid flag.
        """
        distance = self.distance(x)
        with np.errstate(over="ignore", under="ignore"):
            result: Floats = self.sigma_base * np.exp(
                self.rate * (distance - self.shift)
            )
        return result

    def slack(self) -> float:
        """Bound on the rounding by which log sigma breaks its rate, on the grid.

        For x and y on the grid of 1/255 in [0, 1]^d, each given to :meth:`sigma` as
        whole numbers over 255 in float64, in any batch: \\|log sigma(x) - log
        sigma(y)\\| <= rate \\|x - y\\| + slack. About 1e-14 (1 + rate dist); the theory
        page on sound noise has the proof.
        """
        from rsbounds._neighbours.scans import ERROR

        # Four errors: of the input's numbers, each within 2^-53 of the point's; of the
        # mean distance (ERROR and k + 1 roundings, relative to the distance, which is
        # at most the k-th least of the anchors' largest distances from the box); of two
        # operations up to the exponential's argument; of the exponential and a product.
        root = np.sqrt(self._anchors.points.shape[1]) * (1 + EPS)
        reaches = _reaches(self._anchors.points)
        furthest = np.partition(reaches, self.k - 1)[self.k - 1] + EPS * root
        argument = EPS / 2 * root + (ERROR + self.k * EPS) * furthest
        argument += EPS * (furthest + abs(self.shift))
        with np.errstate(over="ignore", under="ignore"):
            return float(2 * ((self.rate * argument + 16 * EPS) * (1 + 1e-6)))

    def _distances(self, rows: Array, *, leave_out: bool = False) -> Array:
        from rsbounds._neighbours.scans import knn_means

        anchors = self._anchors
        out = np.full(len(rows), np.nan)
        slacks = anchors.slacks(rows)

        points, squares = anchors.points, anchors.squares

        def kernel(x: Array, dots: Array, minima: Array, a: int, b: int) -> None:
            products = Products(dots, minima, slacks[a:b])
            skip = a if leave_out else -1
            knn_means(x, products, points, squares, self.k, skip, out[a:b])

        anchors.scan(rows, kernel)
        return out


def _reaches(points: Array) -> Array:
    """The largest distance of each anchor from a point of [0, 1]^d, rounded up."""
    dim = points.shape[1]
    step = max(_ROWS // dim, 1)
    squares = np.empty(len(points))
    for start in range(0, len(points), step):
        part = points[start : start + step]
        furthest = np.maximum(np.abs(part), np.abs(1 - part))
        squares[start : start + step] = np.square(furthest).sum(1)
    reaches: Array = np.sqrt(squares) * (1 + (dim + 8) * EPS)
    return reaches
