"""Noise levels that follow the mean distance to the k nearest anchors."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rsbounds._neighbours.anchors import ERROR, Anchors, Piece
from rsbounds._numerics.checks import Array, Floats, choice, count, number
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.rounding import EPS, flag_nan
from rsbounds_ext import kernels

_ROWS = 2**24  # numbers of the anchors looked at together


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

    def rounding(self) -> float:
        """Bound on the rounding by which log sigma breaks its rate, on the grid.

        For x and y on the grid of 1/255 in [0, 1]^d, each given to :meth:`sigma` as
        whole numbers over 255 in float64, in any batch: \\|log sigma(x) - log
        sigma(y)\\| <= rate \\|x - y\\| + bound. About 1e-14 (1 + rate dist); the theory
        page on sound noise has the proof.
        """
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
        anchors = self._anchors
        memory = anchors.points, anchors.squares
        out = np.empty(len(rows))

        def scan(piece: Piece) -> None:
            skip = piece.start if leave_out else -1
            part = out[piece.start : piece.stop]
            kernels.knn_means(*piece.products, *memory, self.k, skip, part)

        anchors.scan(rows, scan)
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
