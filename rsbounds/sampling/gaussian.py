"""Gaussian noise of any level, in float32 or exactly on the grid of 1/255."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds.noises import Noise, noise_level, single
from rsbounds.sampling import grid_noise
from rsbounds.sampling.bits import ArrayBits


def is_single(sigma: float) -> bool:
    """Whether a level is one of float32's numbers; any other is multiplied in float64.

    Rounded to float32 a level that follows the input would jump, which no envelope
    allows.
    """
    return float(np.float32(sigma)) == sigma


class Gaussian(Noise):
    """x + sigma Z: the level is exact, each number is rounded to float32 at last."""

    law = ""
    level = None
    whole = False

    checked = staticmethod(single)

    def noisy(self, x: Any, sigma: float, size: int, bits: ArrayBits) -> Any:
        level = noise_level(sigma)
        drawn = bits.generator.standard_normal((size, *x.shape), dtype=np.float32)
        batch: NDArray[Any] = drawn if is_single(level) else drawn.astype(np.float64)
        batch *= batch.dtype.type(level)
        batch += x
        return batch.astype(np.float32, copy=False)


def noisy(
    x: NDArray[np.float32], sigma: float, size: int, generator: np.random.Generator
) -> NDArray[np.float32]:
    """``size`` copies of x + sigma Z, as samplers of :class:`Gaussian` draw them."""
    batch: NDArray[np.float32] = Gaussian().noisy(
        x, sigma, size, ArrayBits(generator, size)
    )
    return batch


class OnGrid(Noise):
    """x + sigma Z rounded to the grid; see :mod:`rsbounds.sampling.grid_noise`."""

    law = ""
    level = None
    whole = False
    sound = True
    of_bits = True

    def __init__(self, levels: int = grid_noise.LEVELS) -> None:
        self.levels = levels

    def checked(self, x: Any) -> NDArray[np.int32]:
        return grid_noise.on_grid(single(x), self.levels)

    def noisy(self, x: Any, sigma: float, size: int, bits: ArrayBits) -> Any:
        batch, void = grid_noise.noisy(x, sigma, size, bits.generator, self.levels)
        bits.discard(void)
        return batch
