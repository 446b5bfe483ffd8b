"""Laplace noise of one scale for every input, in l_1."""

from typing import Any, ClassVar

from rsbounds import anisotropic
from rsbounds.certificate import FIXED_NOISE
from rsbounds.sampling import noises
from rsbounds.sampling.noises import Noise
from rsbounds.schemes._domains import POSITIVE, Domains
from rsbounds.schemes._options import Given, Option, Options, Shared
from rsbounds.schemes._scheme import Scheme

__all__ = ["Laplace", "laplace"]


class Laplace(Scheme):
    """Independent Laplace noise on every axis; see :func:`laplace`."""

    name = "laplace"
    scope = FIXED_NOISE
    norm = 1.0
    law = "laplace"
    sound = True  # the level is the same number at every input
    domains: ClassVar[Domains] = {"sigma": POSITIVE}
    help = "Laplace noise of scale sigma, certified in l1"
    options: ClassVar[tuple[Option, ...]] = (
        Option("sigma", "scale of the noise; several give a file each"),
    )
    inputs: ClassVar[tuple[Option, ...]] = (Shared.LEVEL,)

    @property
    def drawn(self) -> Noise:
        return noises.laplace(self.parameters["sigma"])

    def radius(self, z_a: float, sigma: float, z_b: float | None = None) -> float:
        return float(anisotropic.laplace_score_radius(z_a, sigma, z_b))

    def transport(
        self, z: Any, radius: Any, sigma: float | None = None
    ) -> tuple[Any, Any]:
        return anisotropic.laplace_transport(z, radius, self.fixed_level(sigma))

    @classmethod
    def from_options(cls, options: Options, given: Given) -> Scheme:
        return laplace(options["sigma"])

    @classmethod
    def evaluate(
        cls, options: Options, p_a: float, p_b: float | None, scores: bool
    ) -> Any:
        if scores:
            return anisotropic.laplace_score_radius(p_a, options["sigma"], p_b)
        return anisotropic.laplace_radius(p_a, options["sigma"], p_b)


def laplace(scale: float) -> Scheme:
    """Independent Laplace noise of one scale on every axis, certified in l_1.

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
    return Laplace({"sigma": POSITIVE.one("scale", scale)})
