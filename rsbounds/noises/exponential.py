"""One-sided exponential noise on every coordinate, in l_1, of changes upward alone.

References
----------
Li et al., TSS: transformation-specific smoothing for robustness certification, 2021,
Corollary 2.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from rsbounds._numerics.checks import Array, as_floats
from rsbounds._numerics.domains import POSITIVE, Domains
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.options import Option
from rsbounds._numerics.rounding import (
    EPS,
    TINY,
    capped,
    product,
    round_down,
    round_up,
)
from rsbounds.certificate import UPWARD
from rsbounds.noises._named import AddedNoise
from rsbounds.noises._noise import Bits
from rsbounds.noises._scores import (
    checked_scores,
    leads,
    log_share_above,
    moved_score,
    scores_of,
    share_above,
)

#: Below it sums of shares may hold fewer digits than doubles do.
FEW_DIGITS = 1e-300


class Exponential(AddedNoise):
    """Independent exponential noise on every axis, for changes that only add.

    The radius bounds the sum of changes that are all at least 0; of any other change
    nothing is certified, which the norm ``"l1, a >= 0"`` says. Copies are drawn as
    those of Laplace noise: that the law is continuous remains an idealisation.

    Parameters
    ----------
    rate : float
        Rate of the law, > 0, in the inverse of the input's unit: the noise has mean and
        standard deviation 1/rate, which rows state as sigma.

    Raises
    ------
    ValueError
        If ``rate`` isn't a positive finite number, or its inverse isn't.

    Notes
    -----
    With a the sum of the changes the density at x' over that at x is e^(rate a) where
    the noise exceeds the change on every axis, which under the law at x has
    probability e^(-rate a), and 0 elsewhere. So an event of probability p keeps at
    least 1 - e^(rate a) (1 - p) and gets at most e^(rate a) p, and a class leads while
    a < -ln(1 - p_a + p_b)/rate.

    References
    ----------
    Li et al., TSS: transformation-specific smoothing for robustness certification,
    2021, Corollary 2.

    Examples
    --------
    >>> from rsbounds import schemes
    >>> scheme = schemes.exponential(2.0)
    >>> round(scheme.radius(1.0, 0.5), 9), scheme.norm
    (0.573937232, 'l1, a >= 0')
    """

    name = "exponential"
    help = "exponential noise of a rate, certified in l1 against changes >= 0 alone"
    law = "exponential"
    norm = UPWARD
    domains: ClassVar[Domains] = {"rate": POSITIVE}
    options = (Option("rate", "rate of the noise, one over its mean"),)
    inputs = options

    def __init__(self, rate: float) -> None:
        self.rate = POSITIVE.one("rate", rate)
        with np.errstate(over="ignore", under="ignore"):
            self.level = float(np.divide(1.0, self.rate))
        if not 0 < self.level < np.inf:
            raise ArgumentError("rate", f"must have a finite inverse; got {rate}")
        self.law = f"exponential rate={self.rate!r}"

    @property
    def parameters(self) -> dict[str, Any]:
        return {"rate": self.rate}

    def offsets(self, shape: tuple[int, ...], bits: Bits) -> Any:
        # at least 2^-52: the largest draw is 36 times the mean
        tail = (1 - bits.uniform(shape)).clip(min=2.0**-52)
        numbers = bits.xp.log(tail)
        numbers /= -self.rate
        return numbers

    def radius(self, z_a: float, z_b: float | None) -> float:
        first, second = checked_scores(z_a, z_b)
        ends = np.asarray(first), np.asarray(-first if second is None else second)
        return float(self._radii(*ends))

    def radius_of_probabilities(self, p_a: Any, p_b: Any) -> Any:
        return self._radii(*scores_of(p_a, p_b))[()]

    def _radii(self, first: Array, second: Array) -> Array:
        """Radii of two arrays of scores."""
        gap = leads(first, second)
        # what is left of 1, in whichever form has more digits
        rest = round_up(share_above(-first) + share_above(second), 2 * EPS)
        with np.errstate(divide="ignore", under="ignore"):
            near = -np.log(rest)
            # beyond the smallest doubles, which may be taken for 0, logarithms go on
            logs = np.logaddexp(log_share_above(-first), log_share_above(second))
            far = -round_up(logs, 8 * EPS)
            reach = np.maximum(-np.log1p(-gap), np.where(rest < FEW_DIGITS, far, near))
        with np.errstate(over="ignore", under="ignore"):
            radius = capped(np.divide(reach, self.rate), np.isfinite(reach))
            # below TINY a quotient has too few digits to be rounded down
            radius = np.where(radius >= TINY, round_down(radius, 8 * EPS), 0.0)
        return np.where(gap > 0, radius, gap)

    def transport(self, z: Any, radius: Any) -> tuple[Any, Any]:
        """Ends for changes of this sum that are all at least 0."""
        scores = as_floats("z", z, exact=True)
        distance = as_floats("radius", radius, 0.0, nan=False, towards=np.inf)
        scores, distance = np.broadcast_arrays(scores, distance)
        with np.errstate(over="ignore", under="ignore"):
            moved = np.asarray(round_up(product(distance, self.rate), 2 * EPS))
            # a change that has a size moves something
            moved = np.where(distance > 0, np.maximum(moved, TINY), 0.0)
            # e^(rate a) - 1, rounded up
            growth = round_up(np.expm1(moved), 8 * EPS)

        def high(q: Array) -> Array:
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                more = np.where(q > 0, growth * q, 0.0)
                most = np.nextafter(q + np.nextafter(more, np.inf), np.inf)
            return np.where(growth == 0, q, np.minimum(most, 1.0))

        def low(p: Array) -> Array:
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                others = np.nextafter(1 - p, np.inf)
                less = np.nextafter(growth * others, np.inf)
                least = np.nextafter(p - less, -np.inf)
            return np.where(growth == 0, p, np.maximum(least, 0.0))

        least = moved_score(scores, low, high)
        most = -moved_score(-scores, low, high)
        return least[()], most[()]
