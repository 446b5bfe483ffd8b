"""Laplace noise of one scale on every coordinate, in l_1."""

from __future__ import annotations

from typing import Any, ClassVar

from rsbounds import anisotropic
from rsbounds._numerics.domains import POSITIVE, Domains
from rsbounds._numerics.options import Option, Shared
from rsbounds.noises._named import AddedNoise
from rsbounds.noises._noise import Bits, noise_level
from rsbounds.noises._scores import checked_scores


class Laplace(AddedNoise):
    """Independent Laplace noise of one scale on every axis, certified in l_1.

    Copies are drawn in float64 (in float32 on devices that have no other type) from
    uniform numbers and rounded to float32 once: as with Gaussian noise in floating
    point, the law itself remains an idealisation.

    Parameters
    ----------
    scale : float
        Scale of the noise, > 0, in the input's unit; its variance is 2 scale^2.

    Raises
    ------
    ValueError
        If ``scale`` isn't a positive finite number.

    References
    ----------
    The theory page on fixed noise, Laplace.

    Examples
    --------
    >>> from rsbounds import schemes
    >>> round(schemes.laplace(0.5).radius(1.0, 0.5), 9)
    0.573937232
    """

    name = "laplace"
    help = "Laplace noise of scale sigma, certified in l1"
    law = "laplace"
    norm = 1.0
    domains: ClassVar[Domains] = {"sigma": POSITIVE}
    options = (Option("sigma", "scale of the noise; several give a file each"),)
    inputs = (Shared.LEVEL,)
    stated_as: ClassVar[dict[str, str]] = {"scale": "sigma"}

    def __init__(self, scale: float) -> None:
        self.level = POSITIVE.one("scale", scale)

    @property
    def parameters(self) -> dict[str, Any]:
        return {"sigma": self.level}

    def offsets(self, shape: tuple[int, ...], bits: Bits) -> Any:
        signed = bits.uniform(shape)
        signed *= 2
        signed -= 1
        # 1 - |u| is 0 or at least 2^-52: the largest draw is 36 scales
        tail = (1 - abs(signed)).clip(min=2.0**-52)
        numbers = bits.xp.log(tail)
        numbers *= -noise_level(self.level)
        numbers *= bits.xp.sign(signed)
        return numbers

    def radius(self, z_a: float, z_b: float | None) -> float:
        first, second = checked_scores(z_a, z_b)
        return float(anisotropic.laplace_score_radius(first, self.level, second))

    def radius_of_probabilities(self, p_a: Any, p_b: Any) -> Any:
        return anisotropic.laplace_radius(p_a, self.level, p_b)

    def transport(self, z: Any, radius: Any) -> tuple[Any, Any]:
        return anisotropic.laplace_transport(z, radius, self.level)
