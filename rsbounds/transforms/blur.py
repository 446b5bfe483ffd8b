"""Blur by the heat kernel, on the coefficients of the discrete cosine transform."""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import check
from rsbounds.transforms._transform import (
    Transform,
    column,
    constant,
    require_pictures,
)

_LARGEST = 2.0**100  # sums of so many numbers are finite in float32


class Blur(Transform):
    """Heat flow for a time a >= 0, with reflecting borders.

    The coefficient of frequencies (v, w), in radians a pixel, is multiplied by
    e^(-a (v^2 + w^2)): far from the borders a Gaussian blur of variance 2 a, in squared
    pixels. Gaussian kernels that are sampled and cut off don't compose; these do.
    """

    name = "blur"
    formula = "heat flow for a time a; the blur's variance is 2 a squared pixels"
    inputs = "pictures of shape (rows, columns) or (channels, rows, columns)"
    one_sided = True
    reach = 2.0**120  # times the largest frequency's square still finite

    def checked(self, x: Any) -> NDArray[Any]:
        """One input in its own type; ArgumentError("x", ...) for others."""
        point = super().checked(x)
        require_pictures(point.shape)
        check("x", point, abs(point) <= _LARGEST, "at most 2^100 in size")
        return point

    def apply(self, x: Any, a: Any, xp: Any) -> Any:
        """Damp the cosine coefficients of the input, each copy for its time."""
        down, across = (_cosines(int(size)) for size in x.shape[-2:])
        rows, columns = constant(down, a, xp), constant(across, a, xp)
        spectrum = rows @ x @ columns.T
        squares = _squares(len(down))[:, None] + _squares(len(across))
        damped = xp.exp(-column(a, x) * constant(squares, a, xp)) * spectrum
        return rows.T @ damped @ columns


@lru_cache(maxsize=16)
def _cosines(size: int) -> NDArray[np.float64]:
    """The orthogonal matrix of the transform of so many numbers."""
    from scipy.fft import dct

    matrix: NDArray[np.float64] = dct(np.eye(size), axis=0, norm="ortho")
    return matrix


def _squares(size: int) -> NDArray[np.float64]:
    """The squares of the frequencies, in radians a pixel."""
    return (np.pi * np.arange(size) / size) ** 2
