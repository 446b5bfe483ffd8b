"""Uniform noise of one half-width for every input, in l_1.

References
----------
Yang et al., Randomized smoothing of all shapes and sizes, 2020.
"""

from typing import Any, ClassVar

import numpy as np

from rsbounds._numerics.checks import Array, as_floats
from rsbounds._numerics.rounding import (
    EPS,
    positive_quotient,
    product,
    round_down,
    round_up,
)
from rsbounds.certificate import FIXED_NOISE
from rsbounds.sampling import noises
from rsbounds.sampling.noises import Noise
from rsbounds.schemes._domains import POSITIVE, Domains
from rsbounds.schemes._options import Given, Option, Options, Shared
from rsbounds.schemes._scheme import Scheme
from rsbounds.schemes._shares import (
    checked_scores,
    moved_score,
    score_pair,
    share_above,
    share_below,
)

__all__ = ["Uniform", "uniform"]


class Uniform(Scheme):
    """Independent uniform noise on every axis; see :func:`uniform`."""

    name = "uniform"
    scope = FIXED_NOISE
    norm = 1.0
    law = "uniform"
    sound = True  # the level is the same number at every input
    domains: ClassVar[Domains] = {"sigma": POSITIVE}
    help = "uniform noise on [-sigma, sigma], certified in l1"
    options: ClassVar[tuple[Option, ...]] = (
        Option("sigma", "half-width of the noise; several give a file each"),
    )
    inputs: ClassVar[tuple[Option, ...]] = (Shared.LEVEL,)

    @property
    def drawn(self) -> Noise:
        return noises.uniform(self.parameters["sigma"])

    def radius(self, z_a: float, sigma: float, z_b: float | None = None) -> float:
        level = POSITIVE.one("sigma", sigma)
        return float(round_down(product(lead(z_a, z_b), level), EPS))

    def transport(
        self, z: Any, radius: Any, sigma: float | None = None
    ) -> tuple[Any, Any]:
        return shifted(z, radius, self.fixed_level(sigma))

    @classmethod
    def from_options(cls, options: Options, given: Given) -> Scheme:
        return uniform(options["sigma"])

    @classmethod
    def evaluate(
        cls, options: Options, p_a: float, p_b: float | None, scores: bool
    ) -> Any:
        scheme = cls.from_parameters({"sigma": options["sigma"]})
        z_a, z_b = score_pair(p_a, p_b, scores)
        return scheme.radius(z_a, scheme.parameters["sigma"], z_b)


def uniform(half_width: float) -> Scheme:
    """Independent uniform noise on [-half_width, half_width] on every axis, in l_1.

    Parameters
    ----------
    half_width : float
        Half of the noise's width, > 0, in the input's unit.

    Raises
    ------
    ValueError
        If ``half_width`` isn't a positive finite number.

    Notes
    -----
    An event of probability p has probability p - R/(2 half_width) at least wherever the
    input moves by at most R in l_1; a shift along an axis attains it.

    References
    ----------
    Yang et al., Randomized smoothing of all shapes and sizes, 2020; the theory page on
    discrete noise.

    Examples
    --------
    >>> from rsbounds import schemes
    >>> round(schemes.uniform(0.5).radius(1.0, 0.5), 9)
    0.341344746
    """
    return Uniform({"sigma": POSITIVE.one("half_width", half_width)})


@np.errstate(under="ignore")  # tails may be smaller than any double
def lead(z_a: float, z_b: float | None) -> float:
    """Phi(z_a) - Phi(z_b) rounded down, at least 0; z_b = None stands for -z_a."""
    first, given = checked_scores(z_a, z_b)
    second = -first if given is None else given
    if not first > second:
        return float(np.where(np.isnan(first) | np.isnan(second), np.nan, 0.0))
    if first < 0:  # both are small
        difference = share_below(first) - share_above(second)
    elif second > 0:  # both are near 1
        difference = share_below(-second) - share_above(-first)
    else:
        difference = 1.0 - share_above(-first) - share_above(second)
    return max(float(np.nextafter(difference, -1.0)) - EPS, 0.0)


@np.errstate(under="ignore")
def shifted(z: Any, radius: Any, half_width: float) -> tuple[Any, Any]:
    """The scores of p - s and p + s, s = radius/(2 half_width), rounded outward."""
    scores = as_floats("z", z, exact=True)
    distance = as_floats("radius", radius, 0.0, nan=False, towards=np.inf)
    scores, distance = np.broadcast_arrays(scores, distance)
    step = round_up(positive_quotient(distance, 2 * half_width), EPS)

    def low(p: Array) -> Array:
        least = np.where(step == 0, p, np.nextafter(p - step, -np.inf))
        return np.maximum(least, 0.0)

    def high(q: Array) -> Array:
        most = np.where(step == 0, q, np.nextafter(q + step, np.inf))
        return np.minimum(most, 1.0)

    least = moved_score(scores, low, high)
    most = -moved_score(-scores, low, high)
    return least[()], most[()]
