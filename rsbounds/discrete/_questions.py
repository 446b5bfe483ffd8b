"""What is asked of a curve: whether changes leave the top class."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from rsbounds._numerics.checks import Array
from rsbounds._numerics.scores import ndtri
from rsbounds.discrete._laws import LEAST, UNIT
from rsbounds.discrete._regions import Regions, Shares
from rsbounds.discrete._ways import Answers
from rsbounds.noises.internal import not_above, tails


def shares_of(p: Array) -> Shares:
    """Events of at least these probabilities."""
    # from 1/2 on the difference is exact, and so is that of 0
    inexact = (p < 0.5) & (p > 0)
    return Shares(p, np.minimum(1 - p + np.where(inexact, UNIT, 0.0), 1.0))


def shares_beside(p: Array) -> Shares:
    """Events whose complements have at most these probabilities."""
    inexact = (p < 0.5) & (p > 0)
    return Shares(1 - p - np.where(inexact, UNIT, 0.0), p)


def shares_of_scores(z: Array) -> Shares:
    """Events of at least these normal scores, each tail with its digits."""
    return Shares(*tails(z))


def _score(shares: Shares) -> Array:
    """About the normal scores of events."""
    p, q = shares
    # finite, also of what is sure
    least, most = (ndtri(np.clip(tail, LEAST, 1 - UNIT)) for tail in shares)
    return np.where(p < q, least, -most)


class Questions(NamedTuple):
    """Whether low(top) + low(rest) > 1, of several pairs of events.

    ``top`` is the top class, ``rest`` all that is not another class; None stands for
    the top class alone.
    """

    top: Shares
    rest: Shares | None

    @classmethod
    def of(cls, a: Any, b: Any, *, scores: bool) -> Self:
        """What arrays of bounds of the top class and of any other ask, checked ones."""
        a, b = np.atleast_1d(a), None if b is None else np.atleast_1d(b)
        if scores and b is None:
            return cls(shares_of_scores(not_above(a)), None)
        if scores:
            both = np.concatenate([a, -b])
            return cls(*shares_of_scores(not_above(both)).halves())
        return cls(shares_of(a), None if b is None else shares_beside(b))

    @property
    def size(self) -> int:
        return len(self.top.p)

    @property
    def sure(self) -> Answers:
        """Where an event is sure, so that changes may never leave the class."""
        sure: Answers = self.top.q == 0
        return sure if self.rest is None else sure | (self.rest.q == 0)

    @property
    def lead(self) -> Array:
        """Half of what both bounds are above 1 together."""
        if self.rest is None:
            return 0.5 - self.top.q
        return ((0.5 - self.top.q) + (0.5 - self.rest.q)) / 2

    @property
    def score(self) -> Array:
        """Half of what the normal scores of both events are together."""
        other = self.top if self.rest is None else self.rest
        return (_score(self.top) + _score(other)) / 2

    def at(self, places: Any) -> Questions:
        """The questions at some places."""
        if len(places) == self.size:  # all of them, in their order
            return self
        rest = None if self.rest is None else self.rest.at(places)
        return Questions(self.top.at(places), rest)

    def hold_in(self, regions: Regions) -> Answers:
        """Whether the answer to each question is surely yes.

        What lies within the error of the regions of its edge is not.
        """
        return regions.hold(self.top, self.rest)
