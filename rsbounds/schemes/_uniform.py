"""Uniform noise of one half-width on every coordinate, in l_1.

References
----------
Yang et al., Randomized smoothing of all shapes and sizes, 2020.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rsbounds._numerics.checks import Array, as_floats
from rsbounds._numerics.domains import POSITIVE
from rsbounds._numerics.parameters import Parameter
from rsbounds._numerics.rationals import as_double
from rsbounds._numerics.rounding import (
    EPS,
    TINY,
    positive_quotient,
    product,
    round_down,
    round_up,
)
from rsbounds.noises import Bits
from rsbounds.noises.internal import lead, leads, moved_score, noise_level, scores_of
from rsbounds.schemes._drawn import AddedLevel

__all__ = ["Uniform", "uniform"]


class Uniform(AddedLevel):
    """Uniform noise, in l_1; see :func:`uniform`."""

    name = "uniform"
    help = "uniform noise on [-sigma, sigma], certified in l1"
    law = "uniform"
    farthest = 1.0
    self_inverse = True  # stated where the transport is
    declared = (Parameter.level("half-width of the noise; several give a file each"),)

    def offsets(self, shape: tuple[int, ...], bits: Bits) -> Any:
        numbers = bits.uniform(shape)
        numbers *= 2 * noise_level(self.level)
        numbers -= self.level
        return numbers

    def radius_of_scores(self, z_a: float, z_b: float | None = None) -> float:
        return l1_radius(z_a, z_b, self.level)

    def radius_of_probabilities(self, p_a: Any, p_b: Any = None) -> Any:
        gap = leads(*scores_of(p_a, p_b))
        return round_down(product(gap, self.level), EPS)[()]

    def transport(
        self, z: Any, radius: Any, sigma: float | None = None
    ) -> tuple[Any, Any]:
        self.fixed_level(sigma)
        return shifted(z, radius, self.level)


def uniform(half_width: float) -> Uniform:
    """Independent uniform noise on [-half_width, half_width] on every axis, in l_1.

    Copies are drawn as multiples of 2^-52 half_width, added in float64 and rounded to
    the type of the input once: as with Gaussian noise in floating point, that the law
    is continuous remains an idealisation. :func:`splitting` has none.

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
    width = as_double("half_width", half_width)
    return Uniform({"sigma": POSITIVE.one("half_width", width)})


def l1_radius(z_a: float, z_b: float | None, half_width: float) -> float:
    """Half the width times the lead of the first probability, rounded down."""
    return float(round_down(product(lead(z_a, z_b), half_width), EPS))


@np.errstate(under="ignore")
def shifted(z: Any, radius: Any, half_width: float) -> tuple[Any, Any]:
    """The scores of p - s and p + s, s = radius/(2 half_width), rounded outward."""
    scores = as_floats("z", z, exact=True)
    distance = as_floats("radius", radius, 0.0, nan=False, towards=np.inf)
    scores, distance = np.broadcast_arrays(scores, distance)
    # halved at last: twice the half-width may be beyond the largest double
    half = positive_quotient(distance, half_width) / 2
    step = round_up(np.where(distance > 0, np.maximum(half, TINY), distance), EPS)

    def low(p: Array) -> Array:
        least = np.where(step == 0, p, np.nextafter(p - step, -np.inf))
        return np.maximum(least, 0.0)

    def high(q: Array) -> Array:
        most = np.where(step == 0, q, np.nextafter(q + step, np.inf))
        return np.minimum(most, 1.0)

    least = moved_score(scores, low, high)
    most = -moved_score(-scores, low, high)
    return least[()], most[()]
