"""Gaussian noise, which is drawn unless another is asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds.noises._drawn import Noise
from rsbounds.noises._inputs import floating, noise_level
from rsbounds.noises.grid_noise import OnGrid
from rsbounds_ext import kernels

#: No normal number that is drawn is larger: of 53 random bits the tail's rejection
#: gives 12.24 at most (NumPy), the logarithm 8.7 (torch).
FARTHEST_NORMAL = 12.3


def is_single(sigma: float) -> bool:
    """Whether a level is one of float32's numbers; any other is multiplied in float64.

    Rounded to float32 a level that follows the input would jump, which no envelope
    allows.
    """
    return float(np.float32(sigma)) == sigma


def fill_copies(draws: NDArray[np.float32], level: float, x: Any) -> None:
    """Put x + level z in the place of each draw z, in one pass; x in float32 or 64.

    The sum is formed in float64 and rounded once, unless x and level are numbers of
    float32: then product and sum are.
    """
    kernels.noisy_copies(draws, level, np.ascontiguousarray(x))


def normal_copies(
    x: Any, sigma: float, size: int, generator: Any, dtype: Any
) -> NDArray[Any]:
    """``size`` copies x + sigma Z, rounded to a type, by a generator of NumPy's.

    Z is drawn in float32; the level is exact.
    """
    level = noise_level(sigma)
    drawn: NDArray[Any] = generator.standard_normal((size, *x.shape), dtype=np.float32)
    if dtype == np.float32:
        fill_copies(drawn, level, x)
        return drawn
    batch = drawn.astype(np.float64)
    batch *= level
    batch += x
    return batch.astype(dtype, copy=False)


class NormalNoise(Noise):
    """x + sigma Z: the level is exact, each number is rounded to x's type at last."""

    law = ""
    level = None
    of_whole_numbers = False

    checked = staticmethod(floating)

    def noisy(self, x: Any, sigma: float, size: int, bits: Any) -> NDArray[Any]:
        """Copies as NumPy's generators draw them; torch's are drawn by its own."""
        return normal_copies(x, sigma, size, bits.generator, x.dtype)

    def __repr__(self) -> str:
        return "<noise gaussian>"

    def rounded(self, levels: int) -> Noise:
        return OnGrid(levels)
