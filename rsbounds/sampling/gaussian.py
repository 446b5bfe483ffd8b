"""Gaussian noise of any level, in float32 or exactly on the grid of 1/255."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds.noises import Noise, single
from rsbounds.sampling import grid_noise
from rsbounds.sampling.bits import ArrayBits
from rsbounds.sampling.blocks import noisy


class Gaussian(Noise):
    """x + sigma Z; see :func:`rsbounds.sampling.noisy`."""

    law = ""
    level = None
    whole = False

    checked = staticmethod(single)

    def noisy(self, x: Any, sigma: float, size: int, bits: ArrayBits) -> Any:
        return noisy(x, sigma, size, bits.generator)


class OnGrid(Noise):
    """x + sigma Z rounded to the grid; see :mod:`rsbounds.sampling.grid_noise`."""

    law = ""
    level = None
    whole = False
    sound = True

    def __init__(self, levels: int = grid_noise.LEVELS) -> None:
        self.levels = levels

    def checked(self, x: Any) -> NDArray[np.int32]:
        return grid_noise.on_grid(single(x), self.levels)

    def noisy(self, x: Any, sigma: float, size: int, bits: ArrayBits) -> Any:
        batch, void = grid_noise.noisy(x, sigma, size, bits.generator, self.levels)
        bits.discard(void)
        return batch
