"""The noise level of [S] eq. (1): the exponential of the mean distance to the k nearest anchors."""

import numpy as np
from numpy.typing import ArrayLike

from rsbounds._neighbours.anchors import Anchors, Progress
from rsbounds._numerics.checks import Array, Floats, choice, count, number
from rsbounds._numerics.rounding import EPS, flag_nan

_ROWS = 2**24  # numbers of the anchors looked at together


class KNNSigma:
    """sigma(x) = sigma_base exp(rate (dist(x) - shift)), dist the mean of the k nearest.

    Each distance to an anchor is 1-Lipschitz in x, so is the mean of the k least of them, and
    log sigma is `rate`-Lipschitz: the `rate` is the one to give to
    :func:`rsbounds.semielastic.radius`, with sigma(x) as its `sigma`.

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
        The distance at which sigma is sigma_base; a word stands for that statistic of the
        anchors' own dist, each left out of its own neighbours (N^2 d operations, k < N).
    progress : callable, optional
        progress(done, total), called during that scan.

    References
    ----------
    [S] Sukenik, Kuvshinov, Günnemann, Intriguing properties of input-dependent randomized
    smoothing, 2022, eq. (1).

    Examples
    --------
    >>> from rsbounds.semielastic import KNNSigma
    >>> level = KNNSigma([[0.0, 0.0], [3.0, 4.0]], sigma_base=0.5, rate=0.1, k=1, shift=0.0)
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
        *,
        progress: Progress | None = None,
    ) -> None:
        self._anchors = Anchors(anchors)
        self.sigma_base = number("sigma_base", sigma_base, 0.0, closed="neither")
        self.rate = number("rate", rate, 0.0, closed="left")
        self.k = count("k", k, 1)
        size = len(self._anchors.points)
        if not self.k <= size - isinstance(shift, str):
            raise ValueError(
                f"k must be at most the number of anchors ({size}), less than it for shift "
                f"'min' or 'mean'; got {self.k}"
            )
        if isinstance(shift, str):
            choice("shift", shift, ("min", "mean"))
            own = self._distances(self._anchors.points, leave_out=True, progress=progress)
            self.shift = float(own.min() if shift == "min" else own.mean())
        else:
            self.shift = number("shift", shift, -1e300, 1e300)

    def distance(self, x: ArrayLike) -> Floats:
        """Mean distance to the k nearest anchors: as :meth:`sigma`, within 1e-13 (relative)."""
        rows = self._anchors.queries(x)
        result: Floats = flag_nan(self._distances(rows)).reshape(np.shape(x)[:-1])[()]
        return result

    def sigma(self, x: ArrayLike) -> Floats:
        """The noise level at each x of shape (..., d).

        Returns
        -------
        Array
            Shape (...), within 1e-13 (1 + rate dist + rate \\|shift\\|) of the true value
            (relative); NaN in, NaN out with the invalid flag.
        """
        result: Floats = self.sigma_base * np.exp(self.rate * (self.distance(x) - self.shift))
        return result

    def slack(self) -> float:
        """How far two computed log sigma may differ beyond rate \\|x - y\\|, on the grid.

        For x and y on the grid of 1/255 in [0, 1]^d, each given to :meth:`sigma` as whole
        numbers over 255 in float64, in any batch:
        \\|log sigma(x) - log sigma(y)\\| <= rate \\|x - y\\| + slack. About 1e-14 (1 + rate dist);
        the theory page on sound noise has the proof.

        Examples
        --------
        >>> import numpy as np
        >>> from rsbounds.semielastic import KNNSigma
        >>> KNNSigma(np.zeros((5, 784)), 0.5, 0.1, 5, 0.0).slack() < 1e-13
        True
        """
        return 2 * _level_error(self._anchors.points, self.k, self.rate, self.shift)

    def _distances(
        self, rows: Array, *, leave_out: bool = False, progress: Progress | None = None
    ) -> Array:
        from rsbounds._neighbours.scans import knn_means

        anchors = self._anchors
        out = np.full(len(rows), np.nan)
        slacks = anchors.slacks(rows)

        def kernel(x: Array, dots: Array, minima: Array, a: int, b: int) -> None:
            skip = a if leave_out else -1
            points, squares = anchors.points, anchors.squares
            knn_means(x, dots, points, squares, self.k, skip, minima, slacks[a:b], out[a:b])

        anchors.scan(rows, kernel, progress)
        return out


def _level_error(points: Array, k: int, rate: float, shift: float) -> float:
    """A bound of |log computed - log sigma| at the points of the grid of 1/255 in [0, 1]^d.

    ``computed`` is that of float64 numbers each within 2^-53 of the point's. Four errors: of
    these numbers; of the mean distance (``ERROR`` and k + 1 roundings, relative to the distance,
    which is at most the k-th least of the anchors' largest distances from the box); of two
    operations up to the exponential's argument; of the exponential and a product.
    """
    from rsbounds._neighbours.scans import ERROR

    root = np.sqrt(points.shape[1]) * (1 + EPS)
    furthest = np.partition(_reaches(points), k - 1)[k - 1] + EPS * root
    argument = EPS / 2 * root + (ERROR + k * EPS) * furthest + EPS * (furthest + abs(shift))
    return float(rate * argument + 16 * EPS) * (1 + 1e-6)


def _reaches(points: Array) -> Array:
    """The largest distance of each anchor from a point of [0, 1]^d, rounded up."""
    step = max(_ROWS // points.shape[1], 1)
    squares = [
        np.square(np.maximum(np.abs(part), np.abs(1 - part))).sum(1)
        for part in (points[a : a + step] for a in range(0, len(points), step))
    ]
    reaches: Array = np.sqrt(np.concatenate(squares)) * (1 + (points.shape[1] + 8) * EPS)
    return reaches
