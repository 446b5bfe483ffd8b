"""One-sided exponential noise on every coordinate, in l_1, of changes upward alone.

References
----------
Li et al., TSS: transformation-specific smoothing for robustness certification, 2021,
Corollary 2.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rsbounds._numerics.checks import Array, as_floats, either
from rsbounds._numerics.domains import POSITIVE
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.options import Option
from rsbounds._numerics.parameters import Parameter
from rsbounds._numerics.rationals import as_double
from rsbounds._numerics.rounding import (
    EPS,
    TINY,
    capped,
    product,
    round_down,
    round_up,
)
from rsbounds.certificate import Norm
from rsbounds.noises import Bits
from rsbounds.noises.internal import (
    AddedNoise,
    Moved,
    checked_scores,
    leads,
    log_share_above,
    moved_score,
    scores_of,
    share_above,
)
from rsbounds.schemes._drawn import DrawnScheme

__all__ = ["Exponential", "exponential"]

#: Below it sums of shares may hold fewer digits than doubles do.
FEW_DIGITS = 1e-300


class Exponential(DrawnScheme, AddedNoise):
    """Exponential noise of one side, in l_1; see :func:`exponential`."""

    name = "exponential"
    help = "exponential noise of a rate, certified in l1 against changes >= 0 alone"
    law = "exponential"
    of_bits = True
    farthest = 36.1  # 52 ln 2: see the draw
    norm = Norm(1.0, upward=True).spelled
    declared = (
        Parameter.asked(
            "rate of the noise",
            POSITIVE,
            Option("rate", "rate of the noise, one over its mean"),
        ),
    )

    def read(self) -> None:
        rate = self.parameters["rate"]
        self.rate = POSITIVE.one("rate", rate)
        with np.errstate(over="ignore", under="ignore"):
            self.level = float(np.divide(1.0, self.rate))
        if not 0 < self.level < np.inf:
            raise ArgumentError("rate", f"must have a finite inverse; got {rate}")
        self.law = f"exponential rate={self.rate!r}"

    def offsets(self, shape: tuple[int, ...], bits: Bits) -> Any:
        # 1 - u is 0 or at least 2^-53
        tail = (1 - bits.uniform(shape)).clip(min=2.0**-52)
        numbers = bits.xp.log(tail)
        numbers /= -self.rate
        return numbers

    def radius_of_scores(self, z_a: float, z_b: float | None = None) -> float:
        first, second = checked_scores(z_a, z_b)
        rival = -first if second is None else second
        return float(self._radii(np.float64(first), np.float64(rival)))

    def radius_of_probabilities(self, p_a: Any, p_b: Any = None) -> Any:
        return self._radii(*scores_of(p_a, p_b))[()]

    def _radii(self, first: Any, second: Any) -> Array:
        """Radii of two scores or arrays of them."""
        gap = leads(first, second)
        # what is left of 1, in whichever form has more digits
        rest = round_up(share_above(-first) + share_above(second), 2 * EPS)
        with np.errstate(divide="ignore", over="ignore", under="ignore"):
            left = -np.log(rest)
            few = rest < FEW_DIGITS
            if few.any():
                # beyond the smallest doubles, which may be 0, logarithms go on
                logs = np.logaddexp(log_share_above(-first), log_share_above(second))
                left = either(few, -round_up(logs, 8 * EPS), left)
            reach = np.maximum(-np.log1p(-gap), left)
            radius = capped(np.divide(reach, self.rate), np.isfinite(reach))
            # below TINY a quotient has too few digits to be rounded down
            radius = either(radius >= TINY, round_down(radius, 8 * EPS), 0.0)
        return np.asarray(either(gap > 0, radius, gap))

    def transport(
        self, z: Any, radius: Any, sigma: float | None = None
    ) -> tuple[Any, Any]:
        """Ends for changes of this sum that are all at least 0."""
        self.fixed_level(sigma)
        scores, moved = self._moved(z, radius)
        with np.errstate(over="ignore", under="ignore"):
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

        return _both_ends(scores, low, high)

    def inverse(
        self, z: Any, radius: Any, sigma: float | None = None
    ) -> tuple[Any, Any]:
        """Ends at x of an event at x', which lies above x by this sum.

        Of the noise at x all but a share 1 - e^(-rate a) exceeds the change, and is
        what the noise at x' is: of an event of probability p there x has at least
        e^(-rate a) p, and besides at most that share.
        """
        self.fixed_level(sigma)
        scores, moved = self._moved(z, radius)
        with np.errstate(under="ignore"):
            # 1 - e^(-rate a), rounded up
            share = np.minimum(round_up(-np.expm1(-moved), 8 * EPS), 1.0)

        def low(p: Array) -> Array:
            with np.errstate(under="ignore"):
                least = np.nextafter(p - np.nextafter(share * p, np.inf), -np.inf)
            return np.where(share == 0, p, np.maximum(least, 0.0))

        def high(q: Array) -> Array:
            with np.errstate(under="ignore"):
                more = np.nextafter(share * np.nextafter(1 - q, np.inf), np.inf)
                most = np.nextafter(q + more, np.inf)
            return np.where(share == 0, q, np.minimum(most, 1.0))

        return _both_ends(scores, low, high)

    def _moved(self, z: Any, radius: Any) -> tuple[Array, Array]:
        """Scores, and rate times the sums of changes, rounded up."""
        scores = as_floats("z", z, exact=True)
        distance = as_floats("radius", radius, 0.0, nan=False, towards=np.inf)
        scores, distance = np.broadcast_arrays(scores, distance)
        with np.errstate(over="ignore", under="ignore"):
            moved = np.asarray(round_up(product(distance, self.rate), 2 * EPS))
        # a change that has a size moves something
        return scores, np.where(distance > 0, np.maximum(moved, TINY), 0.0)


def exponential(rate: float) -> Exponential:
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
    return Exponential({"rate": POSITIVE.one("rate", as_double("rate", rate))})


def _both_ends(scores: Array, low: Moved, high: Moved) -> tuple[Any, Any]:
    """The least and the largest scores, of what becomes of probabilities."""
    least = moved_score(scores, low, high)
    most = -moved_score(-scores, low, high)
    return least[()], most[()]
