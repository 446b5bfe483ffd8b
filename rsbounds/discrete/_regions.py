"""Regions of constant likelihood ratio, and bounds of the curve through their corners.

Sorted by shifted_mass/mass, least first, the partial sums of the masses at x and at x'
are the corners of the least probability that an event of probability p can have at x'
(Neyman and Pearson).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from rsbounds._numerics.checks import Array
from rsbounds.discrete._laws import UNIT, PairedLaw
from rsbounds.discrete._ways import Answers
from rsbounds_ext.kernels import region_ends, region_holds

#: Evaluating the line between two corners, relative to the result.
LINE_ERROR = 8 * UNIT


class Shares(NamedTuple):
    """Events at x: each has at least ``p`` and lacks at most ``q``.

    Nothing is lacked by a sure event alone.
    """

    p: Array
    q: Array

    def at(self, places: Any) -> Shares:
        """The shares of the events at some places."""
        return Shares(self.p[places], self.q[places])

    def halves(self) -> tuple[Shares, Shares]:
        """The first half of them, and the second."""
        middle = len(self.p) // 2
        return self.at(slice(middle)), self.at(slice(middle, None))


class Ends(NamedTuple):
    """What events have at x' at least, and what they lack there at most.

    Each has its digits where it is small.
    """

    least: Array
    most: Array

    @property
    def low(self) -> Array:
        """The better lower bound of what events have."""
        # from 1/2 on the difference is exact, and so is that of 0
        inexact = (self.most < 0.5) & (self.most > 0)
        return np.maximum(self.least, 1 - self.most - np.where(inexact, UNIT, 0.0))

    @property
    def high(self) -> Array:
        """The better upper bound of what events lack."""
        inexact = (self.least < 0.5) & (self.least > 0)
        return np.minimum(self.most, 1 - self.least + np.where(inexact, UNIT, 0.0))


class Regions:
    """The regions of a law that have a mass at x, by rising shifted_mass/mass.

    Attributes
    ----------
    mass, shifted_mass : ndarray
        Masses at x and at x'.
    absent, outside : float
        The mass at x' of what has none here at x, and of what x can't produce at all;
        both rounded up.
    error, lost : float
        Of each mass and each sum of masses: relative, and besides.
    changed : bool
        Whether the laws at x and at x' differ.
    """

    def __init__(self, law: PairedLaw) -> None:
        produced = law.mass > 0
        mass, shifted, absent = law.mass, law.shifted_mass, law.outside
        if np.count_nonzero(produced) < mass.size:
            absent += float(shifted[~produced].sum())
            mass, shifted = mass[produced], shifted[produced]
        order = np.argsort(shifted / mass, kind="stable")
        self.mass = mass[order]
        self.shifted_mass = shifted[order]
        at_x, at_other = self.mass, self.shifted_mass
        ordered = np.zeros((4, len(order) + 1))
        ordered[3, 0] = absent
        ordered[0, 1:] = at_x
        ordered[1, 1:] = at_x[::-1]
        ordered[2, 1:] = at_other
        ordered[3, 1:] = at_other[::-1]
        sums, terms = _sums(ordered)
        self.before, self.after, self.shifted_before, self.shifted_after = sums
        self.changed = law.error > 0
        self.error = law.error + terms * UNIT + LINE_ERROR
        self.lost = law.lost
        self.absent = float(self._above(absent)) if absent else 0.0
        outside = float(self._above(law.outside)) if law.outside else 0.0
        self.outside = min(outside, 1.0)
        errors = self.error, self.lost, self.outside, self.changed
        self._compiled = (*sums, *errors)

    def ends(self, shares: Shares) -> Ends:
        """Bounds of what events have and lack at x'."""
        p, q = map(np.ascontiguousarray, shares)
        ends = Ends(np.empty(p.shape), np.empty(p.shape))
        region_ends(self._compiled, p, q, *ends)
        return ends

    def hold(self, top: Shares, rest: Shares | None) -> Answers:
        """Whether two events surely have more than 1 together at x'.

        With one event of each pair alone, whether it has more than 1/2.
        """
        answers = np.empty(len(top.p), bool)
        p, q = map(np.ascontiguousarray, top)
        others = (None, None) if rest is None else map(np.ascontiguousarray, rest)
        region_holds(self._compiled, p, q, *others, answers)
        return answers

    def crossing(self) -> float:
        """About the least rest of events that surely keep more than 1/2."""
        most = (0.5 - self.lost) / (1 + 2 * self.error)
        least = (0.5 + self.lost) / (1 - 2 * self.error)
        rests = [
            _crossed(most, self.shifted_after, self.after),
            _crossed(least, self.shifted_before, self.after[::-1]),
        ]
        rest = max((rest for rest in rests if rest is not None), default=0.0)
        return max((rest - self.lost) / (1 + 2 * self.error), 0.0)

    def _above(self, values: Any) -> Any:
        return values * (1 + 2 * self.error) + self.lost


def _sums(terms: Array) -> tuple[Array, int]:
    """Partial sums along the rows, and of how many terms behind the first each is."""
    number, size = terms.shape[0], terms.shape[1] - 1
    width = max(math.isqrt(size), 64)
    if size <= 2 * width:
        return terms.cumsum(axis=1), size
    first = terms[:, 0]
    # sums of blocks, and within blocks: a sum has few terms either way
    blocks = -(-size // width)
    table = np.zeros((number, blocks * width))
    table[:, :size] = terms[:, 1:]
    within = np.cumsum(table.reshape(number, blocks, width), axis=2)
    starts = np.cumsum(np.column_stack([first, within[:, :-1, -1]]), axis=1)
    sums = (starts[:, :, None] + within).reshape(number, -1)[:, :size]
    return np.column_stack([first, sums]), blocks + width


def _crossed(value: float, rising: Array, at: Array) -> float | None:
    """Where a line reaches a value, if it does."""
    place = int(np.searchsorted(rising, value))
    if not 0 < place < len(rising):
        return None
    before, after = float(rising[place - 1]), float(rising[place])
    start, end = float(at[place - 1]), float(at[place])
    return start + (value - before) / (after - before) * (end - start)
