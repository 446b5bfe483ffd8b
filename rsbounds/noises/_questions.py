"""What is asked of a curve: whether changes leave the top class, and how sure it is."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from rsbounds.noises._estimates import DOUBLE, LONG, SMALL, Estimates, Kind
from rsbounds.noises._exact import score_above
from rsbounds.noises._regions import Regions


class Question:
    """Whether low(top) + low(rest) > 1; ``rest`` None stands for ``top``.

    ``top`` and ``rest`` are lower bounds of the top class's probability, and of that of
    all that is not another class.
    """

    def __init__(self, top: Fraction, rest: Fraction | None) -> None:
        self.top = top
        self.rest = rest
        shares = [share for share in (top, rest) if share is not None]
        both = [*shares, *(1 - share for share in shares)]
        # doubles would lose the digits of such a share among the subnormals
        small = any(0 < share < SMALL for share in both)
        self.kind: Kind = LONG if small else DOUBLE
        numbers = [self.kind.of(*share.as_integer_ratio()) for share in both]
        # beyond the long doubles too: only whole numbers decide
        self._open = any(number is None for number in numbers)
        if not self._open:
            self._shares = np.array(numbers[: len(shares)], self.kind.type)
            self._others = np.array(numbers[len(shares) :], self.kind.type)

    @property
    def is_sure(self) -> bool:
        """Whether a bound is 1, so that changes may never leave the class."""
        return 1 in (self.top, self.rest)

    @np.errstate(all="ignore")
    def estimated(self, estimates: Estimates | None) -> bool | None:
        """The answer where estimates decide it, else None."""
        if estimates is None or self._open:
            return None
        # What lies between both bounds is left open: estimates never decide a question
        # that they might decide otherwise than the exact regions.
        least, most = estimates.low(self._shares)
        # of each complement: 1 less the least of the share
        least_other, most_other = estimates.high(self._others)
        if _exceeds(least, most_other):
            return True
        if _exceeds(least_other, most):
            return False
        return None

    def exact(self, regions: Regions) -> bool:
        """The answer by the exact regions."""
        low = regions.low(self.top)
        return low + (low if self.rest is None else regions.low(self.rest)) > 1


class ScoreQuestion(Question):
    """Whether a score of the top class alone is at least the threshold of changes.

    ``top`` is a lower bound of its probability.
    """

    def __init__(self, score: float, top: Fraction) -> None:
        super().__init__(top, None)
        self._score = score

    def exact(self, regions: Regions) -> bool:
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


def _exceeds(first: Any, second: Any) -> bool:
    """Whether l_1 + l_2 > 1 surely, in whichever form keeps the digits.

    ``first`` are lower bounds of l_1 and l_2 and ``second`` upper bounds of 1 - l_1 and
    1 - l_2; one number stands for two equal ones. A sum that is rounded is on the side
    of 1 that the exact one is on, or 1.
    """
    # l_1 > 1 - l_2 where l_2 is next to 1, the other way around where l_1 is, and the
    # last form where both complements are small: 1 + 1e-20 would be 1.
    a, b = first[0], first[-1]
    other_a, other_b = second[0], second[-1]
    forms = ((a, other_b), (b, other_a), (a + b, 1), (1, other_a + other_b))
    return any(one > another for one, another in forms)
