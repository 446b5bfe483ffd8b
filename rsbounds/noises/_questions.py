"""What is asked of a curve: whether changes leave the top class, and how sure it is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, Self

import numpy as np

from rsbounds._numerics.checks import Array
from rsbounds.noises._estimates import (
    DOUBLE,
    LONG,
    SMALL,
    Estimates,
    Kind,
    Part,
    estimated,
)
from rsbounds.noises._exact import score_above
from rsbounds.noises._regions import Regions
from rsbounds.noises._ways import Answers, Places


class Kept(NamedTuple):
    """Bounds of what events keep, and of 1 less that: each has digits where small."""

    least: Array
    most: Array
    least_other: Array
    most_other: Array


class Shares(NamedTuple):
    """Probabilities of events, and of their complements, as numbers of a kind.

    ``kind`` is None where they are too small for any: only whole numbers decide.
    """

    shares: Array
    others: Array
    kind: Kind | None

    @classmethod
    def of(cls, shares: Iterable[Fraction]) -> Self:
        """These rational numbers, rounded."""
        given = list(shares)
        both = [*given, *(1 - share for share in given)]
        # doubles would lose the digits of such a share among the subnormals
        small = any(0 < share < SMALL for share in both)
        kind = LONG if small else DOUBLE
        numbers = [kind.of(*share.as_integer_ratio()) for share in both]
        if any(number is None for number in numbers):
            return cls(np.zeros(0), np.zeros(0), None)
        size = len(given)
        return cls(
            np.array(numbers[:size], kind.type),
            np.array(numbers[size:], kind.type),
            kind,
        )

    def of_some(self, places: Any) -> Shares:
        """The shares of the questions at some places."""
        if self.kind is None:
            return self
        return Shares(self.shares[:, places], self.others[:, places], self.kind)

    def estimates(self, parts: Sequence[Part] | None) -> Estimates | None:
        """The estimates of these parts in numbers of this kind, if there are."""
        if self.kind is None or parts is None:
            return None
        return estimated(parts, self.kind)

    @np.errstate(all="ignore")
    def kept(self, parts: Sequence[Part] | None) -> Kept | None:
        """What events of these probabilities keep, where estimates know it."""
        estimates = self.estimates(parts)
        if estimates is None:
            return None
        return Kept(
            *estimates.low(self.shares, self.others), *estimates.high(self.others)
        )


def may_be_least(kept: Sequence[Kept | None], size: int) -> Answers:
    """Which may be the least for each of ``size`` shares; None may be for all."""
    known = [bounds for bounds in kept if bounds is not None]
    if not known:
        return np.ones((len(kept), size), bool)
    most = np.min([bounds.most for bounds in known], axis=0)
    # the same by the complements, which have digits where shares are next to 1
    least_other = np.max([bounds.least_other for bounds in known], axis=0)
    always = np.ones(size, bool)
    return np.array(
        [
            always
            if bounds is None
            else (bounds.least <= most) & (bounds.most_other >= least_other)
            for bounds in kept
        ]
    )


class Question:
    """Whether low(top) + low(rest) > 1; ``rest`` None stands for ``top``.

    ``top`` and ``rest`` are lower bounds of the top class's probability, and of that of
    all that is not another class.
    """

    def __init__(self, top: Fraction, rest: Fraction | None) -> None:
        self.top = top
        self.rest = rest
        self.shares = Shares.of(share for share in (top, rest) if share is not None)

    @property
    def lead(self) -> Fraction:
        """Half of what both bounds together are above 1."""
        rest = self.top if self.rest is None else self.rest
        return (self.top + rest - 1) / 2

    @property
    def is_sure(self) -> bool:
        """Whether a bound is 1, so that changes may never leave the class."""
        return 1 in (self.top, self.rest)

    def estimated(self, parts: Sequence[Part] | None) -> bool | None:
        """The answer where estimates decide it, else None."""
        yes, no = Questions.of([self]).estimated(parts, np.zeros(1, np.intp))
        return True if yes[0] else False if no[0] else None

    def exact(self, regions: Regions) -> bool:
        """The answer by the exact regions."""
        # not reduced: the greatest common divisor would take longer than all else
        kept, whole = regions.low_parts(*self.top.as_integer_ratio())
        if self.rest is None:
            return 2 * kept > whole
        other, other_whole = regions.low_parts(*self.rest.as_integer_ratio())
        return kept * other_whole + other * whole > whole * other_whole


class Questions(NamedTuple):
    """Questions that are asked together, of numbers of one kind.

    ``shares`` has a row for ``top`` and one for ``rest``, where there is one.
    """

    every: Sequence[Question]
    shares: Shares

    @classmethod
    def of(cls, every: Sequence[Question]) -> Self:
        """Questions of one kind, and all with ``rest`` or all without."""
        shares = np.stack([question.shares.shares for question in every], axis=1)
        others = np.stack([question.shares.others for question in every], axis=1)
        return cls(every, Shares(shares, others, every[0].shares.kind))

    @np.errstate(all="ignore")
    def estimated(
        self, parts: Sequence[Part] | None, places: Places
    ) -> tuple[Answers, Answers]:
        """To which of the questions at some places the answer is yes, and no, surely.

        What lies between both bounds is left open: estimates never decide a question
        that they might decide otherwise than the exact regions.
        """
        shares = self.shares.of_some(places)
        estimates = shares.estimates(parts)
        if estimates is None:
            return np.zeros(len(places), bool), np.zeros(len(places), bool)
        least, most = estimates.low(shares.shares, shares.others)
        yes, no = least[0] + least[-1] > 1, most[0] + most[-1] < 1
        left = ~(yes | no)
        # few answers need the complements' digits
        if left.any():
            least_other, most_other = estimates.high(shares.others[:, left])
            yes[left] = _exceeds(least[:, left], most_other)
            no[left] = _exceeds(least_other, most[:, left]) & ~yes[left]
        return yes, no


class ScoreQuestion(Question):
    """Whether a score of the top class alone is at least the threshold of changes.

    ``top`` is a lower bound of its probability.
    """

    def __init__(self, score: float, top: Fraction) -> None:
        super().__init__(top, None)
        self._score = score

    def exact(self, regions: Regions) -> bool:
        # of a sure event: a threshold that no score reaches is infinite too
        if self._score == math.inf:
            return super().exact(regions)
        # not by the rational bound of the score's probability: a score that equals the
        # threshold, which users are handed as a number, must be certified
        return score_threshold(regions) <= self._score


def score_threshold(regions: Regions) -> float:
    """A score that certifies the top class, alone; inf where none does."""
    parts = regions.infimum_parts()
    # the number 1 is exceeded by no probability
    if parts is None or parts[0] == parts[1]:
        return math.inf
    return score_above(*parts)


def _exceeds(first: Array, second: Array) -> Answers:
    """Where l_1 + l_2 > 1 surely, in whichever form keeps the digits.

    ``first`` are lower bounds of l_1 and l_2 and ``second`` upper bounds of 1 - l_1 and
    1 - l_2; one row stands for two equal ones. A sum that is rounded is on the side
    of 1 that the exact one is on, or 1.
    """
    # l_1 > 1 - l_2 where l_2 is next to 1, the other way around where l_1 is, and the
    # last form where both complements are small: 1 + 1e-20 would be 1.
    a, b = first[0], first[-1]
    other_a, other_b = second[0], second[-1]
    exceeds = (a > other_b) | (b > other_a) | (a + b > 1) | (other_a + other_b < 1)
    return np.asarray(exceeds)
