"""Regions of constant likelihood ratio, and the curve through their corners.

The masses of a region under the law at x and under that at x' are whole numbers p and q
over one scale. Sorted by q/p, least first, their partial sums are the corners of the
least probability that an event of probability P can have at x' (Neyman and Pearson).
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
from rsbounds.discrete._exact import float_down, float_up, lower_float, upper_float

Weights = Sequence[int]

#: Relative, and far above the rounding of a logarithm.
_LOG_ERROR = 2.0**-40


class Regions:
    """The regions that x can produce, by rising q/p.

    Parameters
    ----------
    p, q : sequences of int
        Masses of the regions over ``scale``, in the order of q/p. What x can't produce
        is left out: it counts as mass of x' that q lacks.
    scale : int
        The whole mass; the sum of p.
    """

    def __init__(self, p: Iterable[int], q: Iterable[int], scale: int) -> None:
        pairs = [(there, here) for there, here in zip(p, q, strict=True) if there]
        self.p = [there for there, _ in pairs]
        self.q = [here for _, here in pairs]
        self.scale = scale
        self.below_p = [0, *accumulate(self.p)]
        self.below_q = [0, *accumulate(self.q)]

    @classmethod
    def unsorted(cls, p: Iterable[int], q: Iterable[int], scale: int) -> Regions:
        """Regions in any order: sorted by the exact value of q/p."""
        known = [_Known(*pair) for pair in zip(p, q, strict=True) if pair[0]]
        known.sort(key=cmp_to_key(_Known.compared))
        return cls([pair.p for pair in known], [pair.q for pair in known], scale)

    def low(self, p: Fraction) -> Fraction:
        """The least probability at x' of an event of probability ``p`` at x."""
        numerator, denominator = self.low_parts(p.numerator, p.denominator)
        return Fraction(numerator, denominator)

    def low_parts(self, top: int, bottom: int) -> tuple[int, int]:
        """:meth:`low` of top/bottom as numerator and denominator, not reduced."""
        reached = top * self.scale
        full = bisect_right(self.below_p, reached // bottom) - 1
        if full == len(self.p):
            return self.below_q[-1], self.scale
        there, here = self.p[full], self.q[full]
        rest = reached - self.below_p[full] * bottom
        numerator = self.below_q[full] * there * bottom + rest * here
        return numerator, there * bottom * self.scale

    def infimum_parts(self) -> tuple[int, int] | None:
        """The number that p must exceed so that :meth:`low` exceeds 1/2; None: none.

        As numerator and denominator, not reduced: the greatest common divisor of
        numbers of thousands of bits would take longer than all else.
        """
        full = bisect_right(self.below_q, self.scale // 2) - 1
        if full == len(self.q):
            return None
        there, here = self.p[full], self.q[full]
        rest = self.scale - 2 * self.below_q[full]
        numerator = 2 * self.below_p[full] * here + rest * there
        return numerator, 2 * self.scale * here

    @property
    def bits(self) -> int:
        """About how many bits all its numbers have."""
        return 4 * len(self.p) * self.scale.bit_length()

    @property
    def covers(self) -> bool:
        """Whether x produces all that x' produces, and the other way around."""
        return self.below_q[-1] == self.scale and all(self.q)

    @cached_property
    def corners(self) -> Corners:
        """The same in doubles, rounded outward."""
        return Corners(self)


class _Known:
    """A region's masses p > 0 and q, and the logarithm of q/p to within ``error``.

    Most regions are told apart by their logarithms. The products of whole numbers of
    thousands of bits, which decide the others, take a hundred times as long.
    """

    __slots__ = ("error", "log", "p", "q")

    def __init__(self, p: int, q: int) -> None:
        self.p = p
        self.q = q
        log_p = math.log(p)
        log_q = math.log(q) if q else -math.inf
        self.log = log_q - log_p
        # four thousand times the rounding of each logarithm
        self.error = _LOG_ERROR * (2 + log_p + max(log_q, 0.0))

    def compared(self, other: _Known) -> int:
        """Below 0 where q/p is less than the other's, 0 where they are equal."""
        gap = self.log - other.log
        if abs(gap) > self.error + other.error:
            return 1 if gap > 0 else -1
        # of -inf and -inf too, whose gap is no number
        exact = self.q * other.p - other.q * self.p
        return (exact > 0) - (exact < 0)


class Corners:
    """Lines under the curve, and lines over its other end, in doubles.

    The curve is convex, so that the line through any of its segments is nowhere above
    it: whichever segment a search finds, what its line says is a bound.
    """

    def __init__(self, regions: Regions) -> None:
        scale = regions.scale
        segments = list(zip(regions.p, regions.q, strict=True))
        self._start = np.array([float_up(v, scale) for v in regions.below_p[:-1]])
        self._low = np.array([float_down(v, scale) for v in regions.below_q[:-1]])
        self._least = np.array([float_down(q, p) for p, q in segments])
        # from the other end: what is left out counts for x' and costs x nothing
        after_p = [regions.below_p[-1] - v for v in regions.below_p[:0:-1]]
        after_q = [scale - v for v in regions.below_q[:0:-1]]
        self._tail = np.array([float_down(v, scale) for v in after_p])
        self._high = np.array([float_up(v, scale) for v in after_q])
        self._most = np.array([_quotient_up(q, p) for p, q in reversed(segments)])

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
        with np.errstate(under="ignore", over="ignore"):
            further = np.maximum(q - self._tail[segment], 0.0)
            risen = np.where(
                further > 0,
                upper_float(upper_float(further) * self._most[segment]),
                0.0,
            )
            bound = upper_float(self._high[segment] + risen)
        bound = np.where(risen > 0, bound, self._high[segment])
        return np.minimum(bound, 1.0)


def _quotient_up(top: int, bottom: int) -> float:
    """top/bottom rounded up, inf beyond the largest double; never below TINY."""
    try:
        return max(float_up(top, bottom), TINY)
    except OverflowError:
        return math.inf


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
