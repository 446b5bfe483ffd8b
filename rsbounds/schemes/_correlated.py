"""Gaussian noise with any covariance, the same at every input, in l_2.

References
----------
Hong, Kundu, Payani, Wang, Hong, Towards strong certified defense with universal
asymmetric randomization, 2025. The theory page on fixed noise, a full covariance.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rsbounds import gaussian
from rsbounds._numerics.answered import By
from rsbounds._numerics.checks import Array, as_floats, shape_of
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.options import Option, Options
from rsbounds._numerics.parameters import Parameter, Type, Usual
from rsbounds._numerics.singular import bounded_inverse, distance, least_singular_value
from rsbounds.gaussian.internal import transport
from rsbounds.noises import Bits
from rsbounds.noises.internal import checked_scores, floating, noise_level
from rsbounds.schemes._drawn import DrawnScheme
from rsbounds.schemes._given import Given
from rsbounds.schemes._scheme import Scheme

__all__ = ["Correlated", "correlated"]

#: Numbers of an input: result files hold the whole map.
_MOST = 256
_LARGEST = 1e30
#: What may be missing of the inverse's inverse: so much smaller may radii be.
_LOSS = 1e-6


class Correlated(DrawnScheme):
    """Gaussian noise that a matrix maps; see :func:`correlated`."""

    name = "correlated"
    help = "Gaussian noise of any covariance, by a matrix, certified in l2"
    of_whole_numbers = False
    self_inverse = True
    declared = (
        Parameter(
            "matrix",
            "the map of standard noise, row by row",
            answered_by=By.COUNTS,
            option=Option(
                "matrix",
                "the array x of this file maps standard noise to that of an input, "
                "such as a covariance's Cholesky factor",
                Path,
                metavar="FILE.npz",
            ),
            type=Type.ANY,
        ),
        Usual.LEVEL,
    )

    def read(self) -> None:
        self.matrix = _square(self.parameters.get("matrix"))
        self._inverse, self._loss = bounded_inverse(self.matrix)
        self.level = least_singular_value(self.matrix)
        if not (self._loss <= _LOSS and self.level > 0):
            raise ArgumentError(
                "matrix",
                "must have an inverse that is known to six digits, a condition number "
                f"below some 1e7; got one of shape {self.matrix.shape} that is "
                "singular or too close to it: leave out numbers that follow from the "
                "others",
            )
        digest = hashlib.sha256(self.matrix.tobytes()).hexdigest()
        self.law = f"correlated {len(self.matrix)} {digest}"

    def __repr__(self) -> str:
        """The method, the size of its inputs and the level that it amounts to."""
        numbers = f"dim={len(self.matrix)}, sigma={self.level:g}"
        return f"<{type(self).__name__} {self.name}: {numbers}>"

    def takes(self, size: int) -> bool:
        return bool(size == len(self.matrix))

    def check_size(self, x: Any) -> None:
        shape = shape_of("x", x)
        if not self.takes(int(np.prod(shape))):
            raise ArgumentError(
                "x",
                f"must have {len(self.matrix)} numbers, one for each row of the "
                f"matrix; got shape {shape}",
            )

    def checked(self, x: Any) -> NDArray[Any]:
        point = floating(x)
        self.check_size(point)
        return point

    def noisy(self, x: Any, sigma: float, size: int, bits: Bits) -> Any:
        noise_level(self.level)
        normal = bits.normal((size, len(self.matrix)))
        if str(normal.dtype).rpartition(".")[2] != "float64":
            # a matrix in float32 may have a smaller singular value, up to none
            raise ArgumentError(
                "device",
                "must have numbers in float64, in which the matrix is applied; got "
                f"one of {normal.dtype}: give cpu",
            )
        columns = bits.array(np.ascontiguousarray(self.matrix.T))
        # one after the other: the sums of a product depend on the size of the block
        offsets = normal[:, :1] * columns[0]
        for place in range(1, len(self.matrix)):
            offsets += normal[:, place : place + 1] * columns[place]
        return bits.like(offsets.reshape(size, *x.shape) + x, x)

    def radius_of_scores(self, z_a: float, z_b: float | None = None) -> float:
        first, second = checked_scores(z_a, z_b)
        return float(gaussian.radius(first, self.level, second, scores=True))

    def transport(
        self, z: Any, radius: Any, sigma: float | None = None
    ) -> tuple[Any, Any]:
        self.fixed_level(sigma)
        return transport(z, radius, self.level)

    def distance(self, delta: ArrayLike) -> float:
        """The Mahalanobis distance |A^-1 delta|, rounded up.

        A perturbation is certified where it is below (z_a - z_b)/2.

        Parameters
        ----------
        delta : array_like
            As many numbers as an input has.

        Raises
        ------
        ValueError
            If it is of another size, or not finite.

        Examples
        --------
        >>> from rsbounds import schemes
        >>> scheme = schemes.correlated([[3.0, 0.0], [4.0, 0.5]])
        >>> scheme.level < 0.5, round(scheme.distance([3.0, 4.0]), 9)
        (True, 1.0)
        """
        change = as_floats("delta", delta, nan=False)
        if not (self.takes(change.size) and np.isfinite(change).all()):
            raise ArgumentError(
                "delta",
                f"must be {len(self.matrix)} finite numbers; got shape {change.shape}",
            )
        return distance(self._inverse, self._loss, change.ravel())

    @classmethod
    def from_options(cls, options: Options, source: Given) -> Scheme:
        matrix, _ = source.inputs(options["matrix"])
        return correlated(matrix)

    @classmethod
    def evaluate(
        cls, options: Options, p_a: float, p_b: float | None, scores: bool
    ) -> Any:
        return gaussian.radius(p_a, options["sigma"], p_b, scores=scores)


def correlated(matrix: ArrayLike) -> Correlated:
    """Gaussian noise of any covariance, the same at every input: a matrix maps it.

    Copies are x + A Z for Z ~ N(0, I), so that the covariance is A A^T. The certified
    set of an input is the ellipsoid of all delta with |A^-1 delta| < K, K = (z_a -
    z_b)/2, whatever axes it has; the radius is that of the l_2 ball in it, K times A's
    least singular value, which rows state as sigma. For tables whose columns go
    together: the Cholesky factor of their covariance, times a factor.

    Parameters
    ----------
    matrix : array_like, shape (d, d)
        The map A, for inputs of d numbers in any shape; 256 at most. It is no
        covariance: of a covariance C give ``numpy.linalg.cholesky(C)``.

    Returns
    -------
    Correlated
        Its ``level`` is a lower bound of the least singular value, within 2e-6 of it,
        relative; exact for a diagonal matrix.

    Raises
    ------
    ValueError
        If it is no square matrix of finite numbers, has more rows, or a condition
        number beyond some 1e7 (that of rows divided by their sizes); when copies are
        drawn, on a device without float64, as Apple's GPUs are.

    References
    ----------
    The theory page on fixed noise, a full covariance.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds import schemes
    >>> covariance = np.array([[1.0, 0.9], [0.9, 1.0]])
    >>> scheme = schemes.correlated(np.linalg.cholesky(covariance))
    >>> round(scheme.level, 9), round(scheme.radius(2.0, scheme.level), 9)
    (0.316227766, 0.632455532)
    """
    return Correlated({"matrix": _square(matrix).tolist()})


def _square(value: Any) -> Array:
    """A square matrix of finite numbers, checked."""
    shape = shape_of("matrix", value)
    if len(shape) != 2 or shape[0] != shape[1] or not shape[0]:
        raise ArgumentError(
            "matrix",
            f"must be square, a row for each number of an input; got shape {shape}",
        )
    if shape[0] > _MOST:
        raise ArgumentError(
            "matrix",
            f"must have at most {_MOST} rows, as result files hold all of it; got "
            f"{shape[0]}: give noise of many numbers a level for each (anisotropic)",
        )
    return as_floats("matrix", value, -_LARGEST, _LARGEST, nan=False, exact=True)
