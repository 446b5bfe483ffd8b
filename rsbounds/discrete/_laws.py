"""Laws of what changed coordinates produce, in doubles with a proved error.

All masses are sums of products of positive numbers: errors are relative, and are
counted while a law is made. The theory page on discrete noise has the proofs.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from rsbounds._numerics.checks import Array
from rsbounds._numerics.rounding import EPS, TINY
from rsbounds.discrete._cells import Cells

#: One correctly rounded operation, relative.
UNIT = EPS / 2
#: One step of a binomial law from its largest mass on.
STEP_ERROR = 7 * UNIT
#: The sum of a binomial law, its quotient and the place of its largest mass.
SCALE_ERROR = 64 * UNIT
#: A power of a number, relative, over 1 and the power's logarithm.
POWER_ERROR = 48 * UNIT
#: Masses below it are left out, and counted as lost.
LEAST = 1e-300
_LOG_LEAST = math.log(LEAST)
#: Rows of so many changes are made of those of one change less.
_STEPWISE = 64
#: Rows of so many changes are kept: others are megabytes.
_CACHED = 1024


class PairedLaw(NamedTuple):
    """What changed coordinates produce, by regions of constant likelihood ratio.

    Parameters
    ----------
    mass, shifted_mass : ndarray
        Masses of the regions at x and at x', in any order; of the regions that x can't
        produce there is none.
    outside : float
        The mass at x' of what x can't produce; 0.0 if there is nothing.
    error : float
        Relative, of each mass.
    lost : float
        What the masses of any event may lack besides, as they were too small.
    """

    mass: Array
    shifted_mass: Array
    outside: float
    error: float
    lost: float

    def along(self, other: PairedLaw) -> PairedLaw:
        """The law of both together, whose regions' places add up."""
        if self is UNCHANGED or other is UNCHANGED:
            return other if self is UNCHANGED else self
        rows = zip(self._rows(), other._rows(), strict=True)
        return _of_rows(*(_convolved(first, second) for first, second in rows))

    def _rows(self) -> tuple[_Row, _Row]:
        return (
            _Row(self.mass, 0, self.error, self.lost),
            _Row(self.shifted_mass, 0, self.error, self.lost),
        )

    def beside(self, other: PairedLaw) -> PairedLaw:
        """The law of both together, a region for each two."""
        if self is UNCHANGED or other is UNCHANGED:
            return other if self is UNCHANGED else self
        error = self.error + other.error + 4 * UNIT
        lost = self.lost + other.lost
        with np.errstate(under="ignore"):
            mass = _settled(np.outer(self.mass, other.mass).ravel())
            shifted = _settled(np.outer(self.shifted_mass, other.shifted_mass).ravel())
        return PairedLaw(
            mass=mass[0],
            shifted_mass=shifted[0],
            outside=self.outside + (1 - self.outside) * other.outside,
            error=error,
            lost=lost + mass[1] + shifted[1],
        )


#: The law of no changes.
UNCHANGED = PairedLaw(np.ones(1), np.ones(1), 0.0, 0.0, 0.0)


def law_of(cells: Cells, times: int) -> PairedLaw:
    """The law of so many changed coordinates that are alike."""
    if not times:
        return UNCHANGED
    if cells.is_lattice:
        mass = _row(cells.mass, times)
        if cells.is_symmetric:
            last = (len(cells.mass) - 1) * times
            return _of_rows(mass, mass.reversed(last))
        return _of_rows(mass, _row(cells.shifted_mass, times))
    return kept_law(times * cells.log_kept, times * cells.log_kept_shifted)


def kept_law(log_kept: float, log_kept_shifted: float) -> PairedLaw:
    """The law of what is of both x and x' in one region.

    The logarithms of that region's masses at x and at x' have a relative error of at
    most ``POWER_ERROR`` less 4 units. A logarithm 0 is exact.
    """
    if log_kept == log_kept_shifted == 0:
        return UNCHANGED
    shared, alone = _parts(log_kept)
    kept_shifted, outside = _parts(log_kept_shifted)
    size = max(-log_kept, -log_kept_shifted)
    return PairedLaw(
        mass=np.array([alone, shared]),
        shifted_mass=np.array([0.0, kept_shifted]),
        outside=outside,
        error=POWER_ERROR * (1 + min(size, -_LOG_LEAST)),
        lost=TINY if size < -_LOG_LEAST else 2 * LEAST,
    )


def _parts(log: float) -> tuple[float, float]:
    """e^log and 1 - e^log; 0 and 1 where the first is too small."""
    if log < _LOG_LEAST:
        return 0.0, 1.0
    return math.exp(log), -math.expm1(log)


class _Row(NamedTuple):
    """Masses at one of the inputs, with the errors of :class:`PairedLaw`.

    The first one is of the place ``start``; there are none before it, nor behind them.
    """

    masses: Array
    start: int
    error: float
    lost: float

    @property
    def end(self) -> int:
        return self.start + self.masses.size

    def reversed(self, last: int) -> _Row:
        """The masses of places 0 to ``last`` in the other order."""
        return self._replace(masses=self.masses[::-1], start=last + 1 - self.end)

    def within(self, start: int, end: int) -> Array:
        """The masses of places that contain all of them."""
        masses = np.zeros(end - start)
        masses[self.start - start : self.end - start] = self.masses
        return masses


def _of_rows(mass: _Row, shifted: _Row) -> PairedLaw:
    masses, shifted_masses = mass.masses, shifted.masses
    if mass.start != shifted.start or masses.size != shifted_masses.size:
        start, end = min(mass.start, shifted.start), max(mass.end, shifted.end)
        masses, shifted_masses = mass.within(start, end), shifted.within(start, end)
    return PairedLaw(
        mass=masses,
        shifted_mass=shifted_masses,
        outside=0.0,
        error=max(mass.error, shifted.error),
        lost=mass.lost + shifted.lost,
    )


def _row(chances: tuple[float, ...], times: int) -> _Row:
    # searches ask for the same rows again and again
    if times <= _CACHED:
        return _kept_row(chances, times)
    return _computed_row(chances, times)


@np.errstate(under="ignore")
def _computed_row(chances: tuple[float, ...], times: int) -> _Row:
    """The law of a sum over so many coordinates, of 0, 1, ... for each outcome."""
    least = min(chances)
    if least < LEAST:
        # an outcome that no sample shows is taken for none
        chances = tuple(0.0 if c < LEAST else c for c in chances)
    made = _binomial if len(chances) == 2 else _power
    row = made(chances, times)
    unseen = len(chances) * times * LEAST if least < LEAST else 0.0
    return row._replace(lost=row.lost + unseen)


_kept_row = lru_cache(maxsize=4096)(_computed_row)


def _binomial(chances: tuple[float, ...], times: int) -> _Row:
    """The binomial law, from its largest mass on by ratios, which are below 1."""
    fail, success = chances
    if not (fail and success):
        masses = np.zeros(times + 1)
        masses[times if success else 0] = 1.0
        return _Row(masses, 0, SCALE_ERROR, TINY)
    # not from the end: the chance of no success underflows where that of most does not
    top = min(int((times + 1) * success), times)
    # by Hoeffding all masses further away are below LEAST together, as the largest one
    # is within 1 of the mean
    reach = 2 + math.isqrt(int(times * (math.log(times + 1) - _LOG_LEAST) / 2) + 1)
    low, high = max(top - reach, 0), min(top + reach, times)
    successes = np.arange(low, high, dtype=np.float64)
    with np.errstate(over="ignore"):
        ratios = (times - successes) / (successes + 1) * (success / fail)
        above = np.cumprod(ratios[top - low :])
        below = np.cumprod(1 / ratios[: top - low][::-1])[::-1]
    masses = np.concatenate([below, np.ones(1), above])
    masses, lost = _settled(masses / masses.sum())
    nonzero = low + np.flatnonzero(masses)
    steps = max(top - nonzero[0], nonzero[-1] - top)
    # the sum's masses are as far from the largest one as they are from their mean
    error = STEP_ERROR * (steps + min(steps, math.sqrt(times) / 2 + 2)) + SCALE_ERROR
    lost += (times + 1 - len(masses)) * LEAST
    return _Row(masses, low, error, lost)


def _power(chances: tuple[float, ...], times: int) -> _Row:
    """By few changes more, or else by halves: errors grow with the terms of a sum."""
    if times == 1:
        return _Row(np.array(chances), 0, UNIT, TINY)
    fewer = times - 1 if times <= _STEPWISE else times // 2
    return _convolved(_row(chances, fewer), _row(chances, times - fewer))


@np.errstate(under="ignore")
def _convolved(first: _Row, second: _Row) -> _Row:
    """The law of a sum: each mass is a sum of as many products as there are masses."""
    spans = [np.flatnonzero(row.masses) for row in (first, second)]
    # what is too small for a number is left out, and takes no time
    (low, high), (start, end) = [(span[0], span[-1] + 1) for span in spans]
    product = np.convolve(first.masses[low:high], second.masses[start:end])
    masses, lost = _settled(product)
    terms = min(high - low, end - start)
    # a product may be below any double, and beside others that are not
    vanished = (high - low) * (end - start) * TINY
    return _Row(
        masses,
        start=int(first.start + low + second.start + start),
        error=first.error + second.error + (terms + 1) * UNIT,
        lost=first.lost + second.lost + lost + float(vanished),
    )


def _settled(masses: Array) -> tuple[Array, float]:
    """Masses without those that may lack digits, and what these may be at most."""
    small = masses < LEAST
    number = np.count_nonzero(small)
    if number:
        masses = np.where(small, 0.0, masses)
    return masses, float(TINY + number * LEAST)
