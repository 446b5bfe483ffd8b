"""What regions decide in floating point, without the whole numbers.

Masses of thousands of changes are numbers of megabits. Most questions are far from
their edge: floating-point numbers with a bound of their error answer them, and leave
the others open.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from rsbounds._numerics.checks import Array
from rsbounds._numerics.rounding import EPS

#: One change adds this much, relative, to the error of a sum of masses: see the theory
#: page on discrete noise.
CHANGE_ERROR = 32 * EPS
#: At least so much is left open, where roundings of scores have their place.
OPEN_ERROR = 1e-11
#: Numbers below it are estimated in long doubles.
SMALL = 1e-200
#: A ratio of ratios, as numerator and denominator.
_Step = tuple[int, int]
#: Rows of so many changes are kept: others are megabytes.
_KEPT = 1024
#: Bits of a whole number that take about as long as Python's step from one to the next.
_SHORT = 512
#: The same of one that is sorted among others.
_SORTED = 8192


class Part(NamedTuple):
    """Independent coordinates that are alike, by what comes out of one of them.

    ``cells`` are the masses at x and at x' over ``scale`` of what x can produce. Where
    three of them are of both, the middle one's ratio is 1, and the others' are inverse.
    """

    cells: tuple[tuple[int, int], ...]
    scale: int
    times: int

    @classmethod
    def of(cls, cells: Iterable[tuple[int, int]], scale: int, times: int) -> Part:
        """The part of these cells, of which some may have no mass at x."""
        return cls(tuple(cell for cell in cells if cell[0]), scale, times)


class Kind(NamedTuple):
    """Floating-point numbers of a kind: their type, and the least with full digits."""

    type: type[Any]
    least: Any

    @np.errstate(under="ignore")
    def of(self, numerator: int, denominator: int) -> Any:
        """A quotient in [0, 1], rounded; None where it may lack digits."""
        # the leading 64 bits: whole numbers of megabits have no float to be divided as
        shift = 64 - numerator.bit_length() + denominator.bit_length()
        digits = (numerator << max(shift, 0)) // (denominator << max(-shift, 0))
        value = np.ldexp(self.type(digits), -shift)
        return value if value >= self.least or not numerator else None


DOUBLE = Kind(np.float64, 1e-290)
LONG = Kind(np.longdouble, np.finfo(np.longdouble).tiny * 1e18)


class Estimates:
    """The curve through regions whose masses are known but for a share of each.

    Parameters
    ----------
    mass, shifted_mass : ndarray
        By rising ratio, of the regions that x can produce.
    lacking : float
        The mass at x' of what x can't produce.
    unseen : float
        The mass at x' of what x produces with a mass that is too small for a number.
    error : float
        Relative, of each mass and of each sum of masses.
    lost : float
        What is lacking of all masses together where numbers are too small.
    """

    def __init__(
        self,
        mass: Array,
        shifted_mass: Array,
        *,
        lacking: Any,
        unseen: Any,
        error: float,
        lost: Any,
    ) -> None:
        self.error = error
        self.lost = lost
        self.unseen = unseen
        self._before = _summed(mass)
        self._shifted = _summed(shifted_mass)
        self._terms = mass, shifted_mass, lacking

    def low(self, p: Array, q: Array) -> tuple[Array, Array]:
        """Bounds of the least probability at x' of events of probability p = 1 - q.

        An event that attains it has within the error of its masses the probability p
        here, and the mass that is counted here at x'.
        """
        # a sure event has the last region too, however small that is
        below, above = np.where(q == 0, np.inf, self._below(p)), self._above(p)
        ends = np.concatenate([below, above])
        line = _between(ends, self._before, self._shifted)
        least, most = line[: len(p)], line[len(p) :]
        # beyond the last corner is what has no number
        most = np.where(above < self._before[-1], most, most + self.unseen)
        return self._below(least), np.minimum(self._above(most), 1)

    def high(self, p: Array) -> tuple[Array, Array]:
        """Bounds of the largest probability, that keep the digits of a small one."""
        mass, shifted_mass, lacking = self._terms
        after = _summed(mass[::-1])
        # what x can't produce comes first: it takes nothing of p
        largest = _summed(shifted_mass[::-1], lacking)
        ends = np.concatenate([self._below(p), self._above(p)])
        line = _between(ends, after, largest)
        least, most = line[: len(p)], line[len(p) :]
        # what has no number may take nothing of p
        most = most + self.unseen
        return self._below(least), np.minimum(self._above(most), 1)

    def _below(self, values: Array) -> Array:
        return np.asarray(np.maximum(values * (1 - 2 * self.error) - self.lost, 0))

    def _above(self, values: Array) -> Array:
        return np.asarray(values * (1 + 2 * self.error) + self.lost)


def _summed(terms: Array, first: Any = 0) -> Array:
    """The partial sums of terms, from ``first`` on."""
    sums = np.empty(len(terms) + 1, terms.dtype)
    sums[0] = first
    sums[1:] = terms
    return np.cumsum(sums, out=sums)


def _between(p: Array, at: Array, values: Array) -> Array:
    """The broken line through these corners, level beyond the last of them.

    The corner before p and that after it are known but for the error that p is moved
    by: so is what lies between them.
    """
    # "right": of corners above each other, where a region has no mass, the last one
    place = np.searchsorted(at, p, side="right")
    after = np.minimum(place, len(at) - 1)
    start, end = at[after - 1], at[after]
    share = np.minimum((p - start) / np.where(end > start, end - start, 1), 1)
    line = values[after - 1] + share * (values[after] - values[after - 1])
    return np.asarray(np.where(place < len(at), line, values[-1]))


@np.errstate(all="ignore")
def estimated(parts: Sequence[Part], kind: Kind) -> Estimates | None:
    """The estimates of independent parts; None where numbers are too small for them."""
    mass, shifted = np.ones(1, kind.type), np.ones(1, kind.type)
    lacking = kind.type(0)
    groups = _grouped(parts)
    for step, alike in groups.items():
        law = _common(alike, kind) if step is None else _lattice(alike, kind)
        if law is None:
            return None
        mass = np.outer(mass, law[0]).ravel()
        shifted = np.outer(shifted, law[1]).ravel()
        lacking = lacking + (1 - lacking) * law[2]
    produced = mass > 0
    unseen = shifted[~produced].sum()
    mass, shifted = mass[produced], shifted[produced]
    if len(groups) > 1:
        # one group comes by rising ratio; products of several are in no order
        order = np.argsort(shifted / mass)
        mass, shifted = mass[order], shifted[order]
    # the error of a power of one number does not grow with it
    changes = sum(part.times for step, own in groups.items() if step for part in own)
    return Estimates(
        mass,
        shifted,
        lacking=lacking,
        unseen=unseen,
        error=max(OPEN_ERROR, CHANGE_ERROR * max(changes, len(mass))),
        # a million times the least mass that has all digits: room for those that lack
        # them
        lost=kind.least * 1e6,
    )


def size(parts: Iterable[Part]) -> int:
    """About how many regions these parts have."""
    number = 1
    for step, alike in _grouped(parts).items():
        own = sum((len(part.cells) - 1) * part.times for part in alike) + 1
        number *= 2 if step is None else own
    return number


def bits(parts: Sequence[Part]) -> int:
    """About how many bits the exact masses of these parts have."""
    length = sum(part.times * part.scale.bit_length() for part in parts)
    # kinds without a second ratio, of noise of a single way, have numbers too
    number = max(size(parts), sum(part.times for part in parts))
    # products with a long chance take longer than their bits say
    longest = max((part.scale.bit_length() for part in parts), default=0)
    # a region has two masses, and each of them a partial sum; short numbers take as
    # long as those of some hundred bits
    return 4 * number * (length + _SHORT) * max(longest // 128, 1)


def product_bits(each: Sequence[Sequence[Part]]) -> int:
    """The same of the product of several noises' regions, which are sorted."""
    number = math.prod(size(parts) for parts in each)
    length = sum(part.times * part.scale.bit_length() for own in each for part in own)
    return 4 * number * (length + _SORTED)


def _grouped(parts: Iterable[Part]) -> dict[_Step | None, list[Part]]:
    """Parts by the factor between the ratios of their cells, squared.

    Those of one factor make regions of few ratios together. None: at most one cell is
    of both x and x', so that there is no second ratio.
    """
    groups: dict[_Step | None, list[Part]] = {}
    for part in parts:
        if part.times:
            both = tuple(cell for cell in part.cells if cell[1])
            # whole numbers, whose hashes take no division as those of fractions do
            step = None if len(both) < 2 else _step(both)
            groups.setdefault(step, []).append(part)
    return groups


@lru_cache(maxsize=1024)
def _step(cells: tuple[tuple[int, int], ...]) -> _Step:
    low, *_, high = sorted(Fraction(shifted, mass) for mass, shifted in cells)
    whole = high / low
    # outer ratios of three cells are two factors apart, those of two cells one
    return (whole if len(cells) == 3 else whole**2).as_integer_ratio()


def _common(parts: Iterable[Part], kind: Kind) -> tuple[Array, Array, Any] | None:
    """What x alone produces, and what both do; and what x' alone does."""
    log, shifted_log = kind.type(0), kind.type(0)
    for cells, scale, times in parts:
        alone = sum(mass for mass, shifted in cells if not shifted)
        others = scale - sum(shifted for _, shifted in cells)
        # logarithms keep the digits of a chance next to 1
        share, shifted_share = kind.of(alone, scale), kind.of(others, scale)
        if share is None or shifted_share is None:
            return None
        log = log + times * np.log1p(-share)
        shifted_log = shifted_log + times * np.log1p(-shifted_share)
    mass = np.array([-np.expm1(log), np.exp(log)])
    return mass, np.array([kind.type(0), np.exp(shifted_log)]), -np.expm1(shifted_log)


def _lattice(parts: Iterable[Part], kind: Kind) -> tuple[Array, Array, Any] | None:
    """What coordinates produce whose cells' ratios have one factor between them."""
    mass, shifted = np.ones(1, kind.type), np.ones(1, kind.type)
    for cells, scale, times in parts:
        masses, shifted_masses = _rising(cells)
        own = _row(masses, scale, times, kind)
        other = _row(shifted_masses, scale, times, kind)
        if own is None or other is None:
            return None
        mass = np.convolve(mass, own)
        shifted = np.convolve(shifted, other)
    return mass, shifted, kind.type(0)


@lru_cache(maxsize=1024)
def _rising(cells: tuple[tuple[int, int], ...]) -> tuple[tuple[int, ...], ...]:
    """The masses of cells at x, and those at x', by rising ratio."""
    ordered = sorted(cells, key=lambda cell: Fraction(cell[1], cell[0]))
    return tuple(zip(*ordered, strict=True))


def _row(cells: tuple[int, ...], scale: int, times: int, kind: Kind) -> Array | None:
    # searches ask for the same rows again and again
    if times <= _KEPT:
        return _kept_row(cells, scale, times, kind)
    return _computed_row(cells, scale, times, kind)


def _computed_row(
    cells: tuple[int, ...], scale: int, times: int, kind: Kind
) -> Array | None:
    """The law of a sum over so many coordinates, of 0, 1, ... for each cell."""
    chances = [kind.of(mass, scale) for mass in cells]
    if any(chance is None for chance in chances):
        return None
    if len(cells) == 2:
        most_likely = min((times + 1) * cells[1] // scale, times)
        return _binomial(times, chances[1] / chances[0], most_likely)
    # by squaring: some log2(times) convolutions in place of ``times``
    result, power = np.ones(1, kind.type), np.array(chances)
    while times:
        if times % 2:
            result = np.convolve(result, power)
        times //= 2
        if times:
            power = np.convolve(power, power)
    return result


def _binomial(times: int, odds: Any, most_likely: int) -> Array:
    """The binomial law, from its largest mass on by ratios, which are below 1."""
    # not from the end: the chance of no success underflows where that of most does not
    successes = np.arange(times, dtype=odds.dtype)
    ratios = (times - successes) / (successes + 1) * odds
    above = np.cumprod(ratios[most_likely:])
    below = np.cumprod(1 / ratios[:most_likely][::-1])[::-1]
    masses = np.concatenate([below, np.ones(1, odds.dtype), above])
    return np.asarray(masses / masses.sum())


_kept_row = lru_cache(maxsize=4096)(_computed_row)
