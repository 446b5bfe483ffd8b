"""Laws of discrete noise at x and at an x', in balls, and the least that events keep.

Where regions have the masses P and Q at x and at x', an event of probability 1 - q at
x has at least sum min(Q, k P) - k q at x', for every k >= 0: of each region's mass at
x' it has all but what it leaves out, and sum min(Q, k P) over what it leaves out is at
most k q. At k = Q/P of the region in which the event of Neyman and Pearson ends, the
bound is its probability. That region is looked for in doubles, and the sum is evaluated
in balls. Regions that are left out of the sum only make it less.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate, product
from math import ceil, floor, log, sqrt
from typing import Any, NamedTuple

import numpy as np

from rsbounds.audit._balls import Arb, arb, ctx, flint

#: Scores further away have no probability as a double.
FAR_SCORE = 37.0
#: Rows of fewer coordinates are whole; longer ones lack what no precision shows.
_SHORT = 1024
#: Probabilities of what comes out, at x and at x'.
Cells = tuple[tuple[Fraction, Fraction], ...]
#: Kinds of coordinates, and how many there are of each.
Parts = tuple[tuple[Cells, int], ...]


def precision(*scores: float) -> int:
    """Bits that leave digits where probabilities are next to 1 and slopes are large."""
    sizes = (abs(z) if abs(z) < FAR_SCORE else FAR_SCORE for z in scores)
    return 192 + int(2 * max(sizes) ** 2)


class Region(NamedTuple):
    """The masses of a region at x and at x', and the logarithm of their ratio."""

    mass: Arb
    shifted_mass: Arb
    log: Arb


class RegionRow:
    """Regions of independent coordinates whose ratios rise by one factor each.

    ``first`` and ``step`` are the logarithms of the first ratio and of that factor.
    """

    def __init__(
        self, mass: list[Arb], shifted_mass: list[Arb], first: Arb, step: Arb
    ) -> None:
        zero = arb(0)
        self.mass = mass
        self.shifted_mass = shifted_mass
        self.first = first
        self.step = step
        #: Of x' before each region, and of x from each region on.
        self.shifted_before = list(accumulate(shifted_mass, initial=zero))
        self.from_here = list(accumulate(mass[::-1], initial=zero))[::-1]

    def regions(self) -> Iterator[Region]:
        """The regions, by rising ratio."""
        for place, masses in enumerate(zip(self.mass, self.shifted_mass, strict=True)):
            yield Region(*masses, self.first + place * self.step)


class BallLaw:
    """What comes out of independent coordinates, at x and at x'.

    Parameters
    ----------
    mass, shifted_mass : arb
        The mass of all that both x and x' can produce.
    rows : sequence of Row
        How it is shared out, each row on its own.
    """

    def __init__(
        self, mass: Arb, shifted_mass: Arb, rows: Sequence[RegionRow] = ()
    ) -> None:
        alone = RegionRow([arb(1)], [arb(1)], arb(0), arb(1))
        *others, self._row = sorted(rows or [alone], key=lambda row: len(row.mass))
        self.mass = mass
        #: What an event keeps that is sure at x.
        self.shifted_mass = shifted_mass
        self._heads = []
        if mass > 0:
            whole = Region(mass, shifted_mass, (shifted_mass / mass).log())
            for heads in product(*(row.regions() for row in others)):
                self._heads.append(_together(whole, *heads))

    def least(self, q: Arb) -> Arb:
        """A lower bound of what an event of probability 1 - q keeps at x'."""
        if q == 0:
            return self.shifted_mass
        if not self._heads:
            return arb(0)
        log_k = self._log_of_end(float(q))
        k = log_k.exp()
        total = sum(
            (self._sum_of_smaller(head, log_k, k) for head in self._heads), arb(0)
        )
        bound = total - k * q
        return bound if bound > 0 else arb(0)

    def regions(self) -> Iterator[Region]:
        """What both can produce, region by region."""
        for head, region in product(self._heads, self._row.regions()):
            yield _together(head, region)

    def _sum_of_smaller(self, head: Region, log_k: Arb, k: Arb) -> Arb:
        """The sum of min(Q, k P) over the regions of one head and the longest row."""
        row = self._row
        size = len(row.mass)
        # k in steps of the row's ratios; a ball may hold a whole number
        place = (log_k - head.log - row.first) / row.step
        below = min(max(_whole(place.lower().floor()) + 1, 0), size)
        above = min(max(_whole(place.upper().ceil()), below), size)
        total = head.shifted_mass * row.shifted_before[below]
        total += k * head.mass * row.from_here[above]
        for i in range(below, above):
            shifted_mass = head.shifted_mass * row.shifted_mass[i]
            total += shifted_mass.min(k * head.mass * row.mass[i])
        return total

    def _log_of_end(self, q: float) -> Arb:
        """The logarithm of the ratio at which about q is left out."""
        order, left_out = self._falling
        end = min(int(np.searchsorted(left_out, q)), len(order) - 1)
        head, step = divmod(int(order[end]), len(self._row.mass))
        return self._heads[head].log + self._row.first + step * self._row.step

    @cached_property
    def _falling(self) -> tuple[Any, Any]:
        """The regions by falling ratio, and the mass at x down to each, in doubles."""
        row = self._row
        logs = [float(head.log) for head in self._heads]
        own_logs = float(row.first) + float(row.step) * np.arange(len(row.mass))
        masses = [float(head.mass) for head in self._heads]
        own_masses = [float(mass) for mass in row.mass]
        order = np.argsort(-np.add.outer(logs, own_logs).ravel(), kind="stable")
        return order, np.cumsum(np.outer(masses, own_masses).ravel()[order])


def law_of(parts: Parts) -> BallLaw:
    """The law of so many coordinates of each kind, in the working precision."""
    return _law(parts, ctx.prec)


@lru_cache(maxsize=32)
def _law(parts: Parts, bits: int) -> BallLaw:
    with ctx.workprec(bits):
        mass = shifted_mass = arb(1)
        alike: dict[Fraction, list[tuple[Cells, int]]] = {}
        for cells, times in parts:
            both = _rising(cells)
            if len(both) > 1:
                step = _ratio(both[1]) / _ratio(both[0])
                alike.setdefault(step, []).append((both, times))
                continue
            # all that is of one region, or nothing
            mass *= sum((as_ball(p) for p, _ in both), arb(0)) ** times
            shifted_mass *= sum((as_ball(q) for _, q in both), arb(0)) ** times
        rows = [_row(step, tuple(members), bits) for step, members in alike.items()]
        return BallLaw(mass, shifted_mass, rows)


def as_ball(share: Fraction) -> Arb:
    """A rational number as a ball."""
    return arb(share.numerator) / share.denominator


def _together(*regions: Region) -> Region:
    """One region of each of several independent groups of coordinates."""
    mass, shifted_mass, ratio = regions[0]
    for region in regions[1:]:
        mass = mass * region.mass
        shifted_mass = shifted_mass * region.shifted_mass
        ratio = ratio + region.log
    return Region(mass, shifted_mass, ratio)


def _whole(ball: Arb) -> int:
    return int(ball.unique_fmpz())


def _ratio(cell: tuple[Fraction, Fraction]) -> Fraction:
    return cell[1] / cell[0]


def _rising(cells: Cells) -> Cells:
    """The cells that both x and x' can produce, by rising ratio."""
    return tuple(sorted((cell for cell in cells if all(cell)), key=_ratio))


@lru_cache(maxsize=32)
def _row(step: Fraction, parts: Parts, bits: int) -> RegionRow:
    """The regions of coordinates whose cells' ratios rise by the same factor."""
    mass, shifted_mass = [arb(1)], [arb(1)]
    first = arb(0)
    for cells, times in parts:
        start = 0
        if len(cells) == 2:
            start, *masses = _binomial(cells, times, bits)
        else:
            masses = [_power([cell[side] for cell in cells], times) for side in (0, 1)]
        mass = _convolved(mass, masses[0])
        shifted_mass = _convolved(shifted_mass, masses[1])
        first += times * as_ball(_ratio(cells[0])).log() + start * as_ball(step).log()
    return RegionRow(mass, shifted_mass, first, as_ball(step).log())


def _convolved(a: list[Arb], b: list[Arb]) -> list[Arb]:
    return list(flint.arb_poly(a) * flint.arb_poly(b))


def _power(cells: Iterable[Fraction], times: int) -> list[Arb]:
    return list(flint.arb_poly([as_ball(share) for share in cells]) ** times)


def _binomial(cells: Cells, times: int, bits: int) -> tuple[int, list[Arb], list[Arb]]:
    """The laws of the number of second cells at x and at x', from some number on.

    It is 0 unless there are many coordinates.
    """
    (p_0, p), (q_0, q) = zip(*cells, strict=True)
    start, end = 0, times
    if times >= _SHORT:
        # Hoeffding: a sum is further from its mean more rarely than is looked for
        away = sqrt((bits + 24) * log(2) * times / 2)
        start = max(floor(times * (p / (p + p_0)) - away), 0)
        end = min(ceil(times * (q / (q + q_0)) + away), times)
    mass = _run(p_0, p, times, range(start, end + 1))
    return start, mass, _run(q_0, q, times, range(start, end + 1))


def _run(first: Fraction, second: Fraction, times: int, numbers: range) -> list[Arb]:
    """C(n, i) f^(n - i) s^i for a run of i."""
    odds = as_ball(second / first)
    value = _choose(times, numbers[0])
    value *= as_ball(first) ** (times - numbers[0]) * as_ball(second) ** numbers[0]
    values = [value]
    for i in numbers[:-1]:
        value = value * (times - i) / (i + 1) * odds
        values.append(value)
    return values


def _choose(n: int, k: int) -> Arb:
    """C(n, k), of any size."""
    with ctx.workprec(ctx.prec + 2 * n.bit_length()):
        return (_log_factorial(n) - _log_factorial(k) - _log_factorial(n - k)).exp()


def chance_of_none(dim: int, keep_count: int, changes: int) -> Arb:
    """The probability that none of the coordinates that are kept is changed."""
    if changes > dim - keep_count:
        return arb(0)
    with ctx.workprec(ctx.prec + 2 * dim.bit_length()):
        shown = _log_factorial(dim) - _log_factorial(dim - keep_count)
        others = _log_factorial(dim - changes) - _log_factorial(
            dim - changes - keep_count
        )
        return (others - shown).exp()


def _log_factorial(n: int) -> Arb:
    return arb(n + 1).lgamma()
