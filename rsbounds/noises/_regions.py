"""Regions of constant likelihood ratio, and the curve through their corners.

The masses of a region under the law at x and under that at x' are whole numbers over
one scale, ``mass`` and ``shifted_mass``. Sorted by shifted_mass/mass, least first,
their partial sums are the corners of the least probability that an event of probability
p can have at x' (Neyman and Pearson).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from operator import attrgetter

import numpy as np

from rsbounds._numerics.checks import Array
from rsbounds._numerics.rounding import EPS, TINY
from rsbounds.noises._exact import float_down, float_up, lower_float, upper_float

Weights = Sequence[int]

#: Leading bits that a rounding is looked for in first: doubles end at 2^-1074.
_LEADING = 1600
#: Doubles below it may lack digits.
_SMALL = 1e-290
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
        known.sort(key=attrgetter("log"))
        # what logarithms don't tell apart is near its place: each moves down to it
        for end in range(1, len(known)):
            place = end
            while place and known[place - 1].compared(known[place]) > 0:
                known[place - 1 : place + 1] = known[place], known[place - 1]
                place -= 1
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

    @cached_property
    def leading(self) -> _Leading | None:
        """The same regions by their leading bits, where they have many more."""
        beyond = self.scale.bit_length() - _LEADING
        return _Leading(self, beyond) if beyond > _LEADING else None

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


class _Leading:
    """Regions by the leading bits of their masses, of which each lacks less than 1."""

    def __init__(self, regions: Regions, beyond: int) -> None:
        self._mass = [v >> beyond for v in regions.mass]
        self._shifted_mass = [v >> beyond for v in regions.shifted_mass]
        self._before = [v >> beyond for v in regions.before]
        self._shifted_before = [v >> beyond for v in regions.shifted_before]
        self._scale = regions.scale >> beyond

    def low_bounds(self, top: int, bottom: int) -> tuple[float, float] | None:
        """Bounds of the least probability, both rounded down; None: not known."""
        least, most = top * self._scale, top * (self._scale + 1)
        full = bisect_right(self._before, least // bottom) - 1
        # a corner that p may be on either side of; the end of all regions is one
        if full + 1 == len(self._before) or not self._mass[full]:
            return None
        if least <= (self._before[full] + 1) * bottom:
            return None
        if most >= self._before[full + 1] * bottom:
            return None
        mass, shifted_mass = self._mass[full], self._shifted_mass[full]
        shifted_before = self._shifted_before[full]
        # what is left of p for this region, times the slope there
        rest = least - (self._before[full] + 1) * bottom
        below = shifted_before * bottom * (mass + 1) + rest * shifted_mass
        more = most - self._before[full] * bottom
        above = (shifted_before + 1) * bottom * mass + more * (shifted_mass + 1)
        return (
            float_down(below, (mass + 1) * bottom * (self._scale + 1)),
            float_down(above, mass * bottom * self._scale),
        )


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


def low_float(regions: Regions, top: int, bottom: int) -> float:
    """:meth:`Regions.low` of top/bottom, rounded down to a double."""
    if regions.leading is not None:
        bounds = regions.leading.low_bounds(top, bottom)
        if bounds is not None and bounds[0] == bounds[1]:
            return bounds[0]
    return float_down(*regions.low_parts(top, bottom))


class Corners:
    """Lines under the curve, and lines over its other end, in doubles.

    The curve is convex, so that the line through any of its segments is nowhere above
    it: whichever segment a search finds, what its line says is a bound.
    """

    def __init__(self, regions: Regions) -> None:
        scale, size = regions.scale, len(regions.mass)
        before, shifted = regions.before, regions.shifted_before

        def slope(i: int) -> tuple[int, int]:
            return regions.shifted_mass[i], regions.mass[i]

        self._start = _Quotients(size, lambda i: (before[i], scale), float_up)
        self._low = _Quotients(size, lambda i: (shifted[i], scale), float_down)
        # a slope beyond the largest double is that double below, and inf above
        self._least = _Quotients(size, slope, float_down)
        # from the other end: what is left out counts for x' and costs x nothing
        self._tail = _Quotients(
            size, lambda i: (before[-1] - before[size - i], scale), float_down
        )
        self._high = _Quotients(
            size, lambda i: (scale - shifted[size - i], scale), float_up
        )
        self._most = _Quotients(size, lambda i: slope(size - 1 - i), float_up)

    def low(self, p: Array) -> Array:
        """A lower bound of the least probability at x', for lower bounds ``p`` at x."""
        segment = self._start.last_not_above(p)
        start, low = self._start[segment], self._low[segment]
        with np.errstate(under="ignore"):
            further = lower_float(np.maximum(p - start, 0.0))
            risen = lower_float(further * self._least[segment])
            bound = lower_float(low + risen)
        # the last corner itself needs no rounding
        return np.where(p == start, low, bound)

    def high(self, q: Array) -> Array:
        """An upper bound of the largest probability at x', for upper bounds at x."""
        segment = self._tail.last_not_above(q)
        high, most = self._high[segment], np.maximum(self._most[segment], TINY)
        # a slope may be infinite: of nothing further, nothing is risen
        with np.errstate(under="ignore", over="ignore", invalid="ignore"):
            further = np.maximum(q - self._tail[segment], 0.0)
            risen = np.where(further > 0, upper_float(upper_float(further) * most), 0.0)
            bound = upper_float(high + risen)
        bound = np.where(risen > 0, bound, high)
        return np.minimum(bound, 1.0)


class _Quotients:
    """Quotients of whole numbers, each rounded when it is asked for.

    To round all of them would take longer than to add up the numbers.
    """

    def __init__(
        self,
        size: int,
        parts: Callable[[int], tuple[int, int]],
        rounded: Callable[[int, int], float],
    ) -> None:
        self._parts = parts
        self._rounded = rounded
        self._known = np.full(size, np.nan)

    def __getitem__(self, places: Array) -> Array:
        for place in np.unique(places).tolist():
            self._one(place)
        return np.asarray(self._known[places])

    def _one(self, place: int) -> float:
        if np.isnan(self._known[place]):
            self._known[place] = self._rounded(*self._parts(place))
        return float(self._known[place])

    def last_not_above(self, values: Array) -> Array:
        """The place of the last one that isn't above each value, 0 where all are.

        They rise.
        """
        near, flat = self._near, np.ravel(values)
        # What is rounded is the nearest double or one beside it. Among the smallest the
        # exact numbers are asked: a processor may be set to take them for 0.
        with np.errstate(under="ignore"):
            below, above = flat * (1 - 4 * EPS) - _SMALL, flat * (1 + 4 * EPS) + _SMALL
        first = np.searchsorted(near, below, side="right")
        end = np.searchsorted(near, above, side="right")
        for i in np.flatnonzero(first < end):
            value = flat[i]
            first[i] = bisect_right(
                range(int(end[i])), value, int(first[i]), key=self._one
            )
        return np.asarray(np.maximum(first - 1, 0).reshape(np.shape(values)))

    @cached_property
    def _near(self) -> Array:
        parts = map(self._parts, range(len(self._known)))
        # Python rounds a quotient of whole numbers to the nearest double
        return np.array([above / below for above, below in parts])


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
