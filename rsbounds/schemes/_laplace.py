"""Laplace noise of one scale on every coordinate, in l_1."""

from __future__ import annotations

from typing import Any

from rsbounds import anisotropic
from rsbounds._numerics.domains import POSITIVE
from rsbounds._numerics.parameters import Parameter
from rsbounds._numerics.rationals import as_double
from rsbounds.anisotropic.internal import laplace_score_radius, laplace_transport
from rsbounds.noises import Bits
from rsbounds.noises.internal import checked_scores, noise_level
from rsbounds.schemes._drawn import AddedLevel

__all__ = ["Laplace", "laplace"]


class Laplace(AddedLevel):
    """Laplace noise, in l_1; see :func:`laplace`."""

    name = "laplace"
    help = "Laplace noise of scale sigma, certified in l1"
    law = "laplace"
    farthest = 36.1  # 52 ln 2: see the draw
    self_inverse = True  # stated where the transport is
    declared = (Parameter.level("scale of the noise; several give a file each"),)

    def offsets(self, shape: tuple[int, ...], bits: Bits) -> Any:
        signed = bits.uniform(shape)
        signed *= 2
        signed -= 1
        # 1 - |u| is 0 or at least 2^-52
        tail = (1 - abs(signed)).clip(min=2.0**-52)
        numbers = bits.xp.log(tail)
        numbers *= -noise_level(self.level)
        numbers *= bits.xp.sign(signed)
        return numbers

    def radius_of_scores(self, z_a: float, z_b: float | None = None) -> float:
        first, second = checked_scores(z_a, z_b)
        return float(laplace_score_radius(first, self.level, second))

    def radius_of_probabilities(self, p_a: Any, p_b: Any = None) -> Any:
        return anisotropic.laplace_radius(p_a, self.level, p_b)

    def transport(
        self, z: Any, radius: Any, sigma: float | None = None
    ) -> tuple[Any, Any]:
        self.fixed_level(sigma)
        return laplace_transport(z, radius, self.level)


def laplace(scale: float) -> Laplace:
    """Independent Laplace noise of one scale on every axis, certified in l_1.

    Copies are drawn in float64 (in float32 on devices that have no other type) from
    uniform numbers, and rounded to the type of the input once: as with Gaussian noise
    in floating point, the law itself remains an idealisation.

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
    return Laplace({"sigma": POSITIVE.one("scale", as_double("scale", scale))})
