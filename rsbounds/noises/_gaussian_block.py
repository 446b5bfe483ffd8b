"""Gaussian noise as that of some of an input's columns, beside discrete noise."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rsbounds import gaussian
from rsbounds._numerics.domains import POSITIVE, Domains
from rsbounds._numerics.options import Option
from rsbounds.noises._named import NamedNoise
from rsbounds.noises._noise import Bits, as_array, noise_level, single


class GaussianBlock(NamedNoise):
    """x + sigma Z on some of the columns; :class:`Blocks` has a theorem for it.

    Copies are drawn in float64 (in float32 on devices that have no other type) and
    rounded to float32 once.

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise, > 0, in the columns' unit.
    """

    name = "gaussian"
    help = "Gaussian noise on some columns"
    norm = 2.0
    whole = False
    domains: ClassVar[Domains] = {"sigma": POSITIVE}
    options = (Option("sigma", "noise level"),)
    block_parameters = ("sigma",)

    def __init__(self, sigma: float) -> None:
        self.level = POSITIVE.one("sigma", sigma)
        self.law = f"gaussian sigma={self.level!r}"

    @property
    def parameters(self) -> dict[str, Any]:
        return {"sigma": self.level}

    def checked(self, x: Any) -> NDArray[np.float32]:
        return single(as_array(x))

    def noisy(self, x: Any, sigma: float, size: int, bits: Bits) -> Any:
        # its own level: ``sigma`` is that of all blocks together
        batch = bits.normal((size, *x.shape))
        batch *= noise_level(self.level)
        batch += x
        return bits.single(batch)

    def radius(self, z_a: float, z_b: float | None) -> float:
        return float(gaussian.radius(z_a, self.level, z_b, scores=True))

    def radius_of_probabilities(self, p_a: Any, p_b: Any) -> Any:
        return gaussian.radius(p_a, self.level, p_b)

    def transport(self, z: Any, radius: Any) -> tuple[Any, Any]:
        return gaussian.transport(z, radius, self.level)
