"""Regions of constant likelihood ratio, and the curve through their corners.

The masses of a region under the law at x and under that at x' are whole numbers over
one scale, ``mass`` and ``shifted_mass``. Sorted by shifted_mass/mass, least first,
their partial sums are the corners of the least probability that an event of probability
p can have at x' (Neyman and Pearson).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property, cmp_to_key
from itertools import accumulate

import numpy as np

from rsbounds._numerics.checks import Array
from rsbounds._numerics.rounding import TINY
from rsbounds.noises._exact import float_down, float_up, lower_float, upper_float

Weights = Sequence[int]

#: Relative, and far above the rounding of a logarithm.
_LOG_ERROR = 2.0**-40


class Regions:
    """The regions that x can produce, by rising shifted_mass/mass.

    Parameters
    ----------
    mass, shifted_mass : iterables of int
        Masses of the regions at x and at x' over ``scale``, in the order of their
        ratio. What x can't produce is left out: it counts as mass of x' that is
        lacking.
    scale : int
        The whole mass; the sum of ``mass``.
    """

    def __init__(
        self, mass: Iterable[int], shifted_mass: Iterable[int], scale: int
    ) -> None:
        pairs = [pair for pair in zip(mass, shifted_mass, strict=True) if pair[0]]
        self.mass = [at_x for at_x, _ in pairs]
        self.shifted_mass = [at_other for _, at_other in pairs]
        self.scale = scale
        self.before = [0, *accumulate(self.mass)]
        self.shifted_before = [0, *accumulate(self.shifted_mass)]

    @classmethod
    def unsorted(
        cls, mass: Iterable[int], shifted_mass: Iterable[int], scale: int
    ) -> Regions:
        """Regions in any order: sorted by the exact value of their ratio."""
        known = [
            _Known(*pair) for pair in zip(mass, shifted_mass, strict=True) if pair[0]
        ]
        known.sort(key=cmp_to_key(_Known.compared))
        return cls(
            [region.mass for region in known],
            [region.shifted_mass for region in known],
            scale,
        )

    def low(self, p: Fraction) -> Fraction:
        """The least probability at x' of an event of probability ``p`` at x."""
        numerator, denominator = self.low_parts(p.numerator, p.denominator)
        return Fraction(numerator, denominator)

    def low_parts(self, top: int, bottom: int) -> tuple[int, int]:
        """:meth:`low` of top/bottom as numerator and denominator, not reduced."""
        reached = top * self.scale
        full = bisect_right(self.before, reached // bottom) - 1
        if full == len(self.mass):
            return self.shifted_before[-1], self.scale
        mass, shifted_mass = self.mass[full], self.shifted_mass[full]
        rest = reached - self.before[full] * bottom
        numerator = self.shifted_before[full] * mass * bottom + rest * shifted_mass
        return numerator, mass * bottom * self.scale

    def infimum_parts(self) -> tuple[int, int] | None:
        """The number that p must exceed so that :meth:`low` exceeds 1/2; None: none.

        As numerator and denominator, not reduced: the greatest common divisor of
        numbers of thousands of bits would take longer than all else.
        """
        full = bisect_right(self.shifted_before, self.scale // 2) - 1
        if full == len(self.mass):
            return None
        mass, shifted_mass = self.mass[full], self.shifted_mass[full]
        rest = self.scale - 2 * self.shifted_before[full]
        numerator = 2 * self.before[full] * shifted_mass + rest * mass
        return numerator, 2 * self.scale * shifted_mass

    @property
    def bits(self) -> int:
        """About how many bits all its numbers have."""
        return 4 * len(self.mass) * self.scale.bit_length()

    @property
    def covers(self) -> bool:
        """Whether x produces all that x' produces, and the other way around."""
        return self.shifted_before[-1] == self.scale and all(self.shifted_mass)

    @cached_property
    def corners(self) -> Corners:
        """The same in doubles, rounded outward."""
        return Corners(self)


class _Known:
    """A region's masses, and the logarithm of their ratio to within ``error``.

    That at x is above 0.

    Most regions are told apart by their logarithms. The products of whole numbers of
    thousands of bits, which decide the others, take a hundred times as long.
    """

    __slots__ = ("error", "log", "mass", "shifted_mass")

    def __init__(self, mass: int, shifted_mass: int) -> None:
        self.mass = mass
        self.shifted_mass = shifted_mass
        log_mass = math.log(mass)
        log_shifted = math.log(shifted_mass) if shifted_mass else -math.inf
        self.log = log_shifted - log_mass
        # four thousand times the rounding of each logarithm
        self.error = _LOG_ERROR * (2 + log_mass + max(log_shifted, 0.0))

    def compared(self, other: _Known) -> int:
        """Below 0 where the ratio is less than the other's, 0 where they are equal."""
        gap = self.log - other.log
        if abs(gap) > self.error + other.error:
            return 1 if gap > 0 else -1
        # of -inf and -inf too, whose gap is no number
        exact = self.shifted_mass * other.mass - other.shifted_mass * self.mass
        return (exact > 0) - (exact < 0)


class Corners:
    """Lines under the curve, and lines over its other end, in doubles.

    The curve is convex, so that the line through any of its segments is nowhere above
    it: whichever segment a search finds, what its line says is a bound.
    """

    def __init__(self, regions: Regions) -> None:
        scale = regions.scale
        segments = list(zip(regions.mass, regions.shifted_mass, strict=True))
        before, shifted = regions.before, regions.shifted_before
        self._start = np.array([float_up(v, scale) for v in before[:-1]])
        self._low = np.array([float_down(v, scale) for v in shifted[:-1]])
        # a slope beyond the largest double is that double below, and inf above
        self._least = np.array([float_down(q, p) for p, q in segments])
        # from the other end: what is left out counts for x' and costs x nothing
        after = [before[-1] - v for v in before[:0:-1]]
        shifted_after = [scale - v for v in shifted[:0:-1]]
        self._tail = np.array([float_down(v, scale) for v in after])
        self._high = np.array([float_up(v, scale) for v in shifted_after])
        slopes = [float_up(q, p) for p, q in reversed(segments)]
        self._most = np.maximum(slopes, TINY)

    def low(self, p: Array) -> Array:
        """A lower bound of the least probability at x', for lower bounds ``p`` at x."""
        segment = np.maximum(np.searchsorted(self._start, p, side="right") - 1, 0)
        with np.errstate(under="ignore"):
            further = lower_float(np.maximum(p - self._start[segment], 0.0))
            risen = lower_float(further * self._least[segment])
            bound = lower_float(self._low[segment] + risen)
        # the last corner itself needs no rounding
        return np.where(p == self._start[segment], self._low[segment], bound)

    def high(self, q: Array) -> Array:
        """An upper bound of the largest probability at x', for upper bounds at x."""
        segment = np.maximum(np.searchsorted(self._tail, q, side="right") - 1, 0)
        # a slope may be infinite: of nothing further, nothing is risen
        with np.errstate(under="ignore", over="ignore", invalid="ignore"):
            further = np.maximum(q - self._tail[segment], 0.0)
            risen = np.where(
                further > 0,
                upper_float(upper_float(further) * self._most[segment]),
                0.0,
            )
            bound = upper_float(self._high[segment] + risen)
        bound = np.where(risen > 0, bound, self._high[segment])
        return np.minimum(bound, 1.0)


def product_of_powers(factors: Iterable[tuple[Weights, int]]) -> list[int]:
    """The coefficients of the product of polynomials to powers.

    With F the product of the polynomials f_i, and G that of sum r_i f_i'/f_i with F,
    the result h has F h' = G h: each coefficient follows from few before it, in whole
    numbers.
    """
    shift = 0
    kept: list[tuple[list[int], int]] = []
    for polynomial, power in factors:
        coefficients = list(polynomial)
        while not coefficients[0]:
            coefficients.pop(0)
            shift += power
        if power:
            kept.append((coefficients, power))
    together, derived = [1], [0]
    start = 1
    degree = 0
    for f, power in kept:
        slope = [power * k * c for k, c in enumerate(f)][1:] or [0]
        derived = _sum(times(derived, f), times(together, slope))
        together = times(together, f)
        start *= f[0] ** power
        degree += power * (len(f) - 1)
    result = [start]
    for n in range(1, degree + 1):
        total = 0
        for i, c in enumerate(derived[:n]):
            total += c * result[n - 1 - i]
        for i, c in enumerate(together[1 : n + 1], start=1):
            total -= c * (n - i) * result[n - i]
        result.append(total // (n * together[0]))
    return [0] * shift + result


def times(a: Weights, b: Weights) -> list[int]:
    """The coefficients of the product of two polynomials."""
    result = [0] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            result[i + j] += x * y
    return result


def _sum(a: Weights, b: Weights) -> list[int]:
    size = max(len(a), len(b))
    return [
        (a[k] if k < len(a) else 0) + (b[k] if k < len(b) else 0) for k in range(size)
    ]
