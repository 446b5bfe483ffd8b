"""Searches for radii and frontiers of a curve."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from rsbounds._numerics.checks import Array
from rsbounds.discrete._cells import Cells
from rsbounds.discrete._questions import Questions
from rsbounds.discrete._search import last_of_each, rising, staircase
from rsbounds.discrete._ways import Answers, Counts, Places, Ways

#: Where the search of a radius or a frontier that may have no end stops.
FAR = 64
#: Changes of either kind beyond which a frontier isn't searched, by the kinds that
#: changes are split over.
WIDE = {2: 512, 3: 64, 4: 24}


class Searched(Protocol):
    """What a search asks of a curve."""

    far: int
    limit: int | None

    @property
    def worst(self) -> Counts:
        """The kinds that changes need be split over."""

    def cells(self, kind: int) -> Cells:
        """What one change of a kind does."""

    def ways(self, name: str, r: Any) -> Ways:
        """Every way to make some changes."""

    def hold(self, questions: Questions, ways: Ways) -> Answers:
        """Whether the answer to each question is yes for all of these ways."""

    def guesses(self, questions: Questions) -> Array | None:
        """About the radii, negative where there is none; None without a formula."""


def radii(curve: Searched, questions: Questions) -> list[Any]:
    """The largest number of changes that is certified for each question.

    Those of the top class alone come by rising probability.
    """
    found: list[Any] = [math.inf] * questions.size
    left = ~endless(curve, questions)
    is_sure = questions.sure
    for sure in (False, True):
        asked = left & (is_sure if sure else ~is_sure)
        if asked.any():
            places = np.flatnonzero(asked)
            largest = _searched(curve, questions.at(places), _end(curve, sure))
            for place, radius in zip(places.tolist(), largest, strict=True):
                found[place] = radius
    return found


def pairs(curve: Searched, question: Questions) -> list[tuple[Any, ...]]:
    """The frontier of two kinds of changes."""
    if endless(curve, question)[0]:
        return [(math.inf, math.inf)]
    # a kind that has no end at p = 1 is searched no further than this
    limit = FAR if question.sure[0] else _widest(curve)

    def holds(first: int, second: int) -> bool:
        return bool(curve.hold(question, curve.ways("r", (first, second)))[0])

    return list(staircase(holds, [limit, limit]))


def pairs_kept(
    curve: Searched, stays: Callable[[tuple[int, int]], bool]
) -> list[tuple[int, int]]:
    """The frontier of two kinds of changes, of what is kept within a pair."""
    limit = min(_widest(curve), FAR)
    return staircase(lambda first, second: stays((first, second)), [limit, limit])


def _widest(curve: Searched) -> int:
    """The largest number of either of two kinds that a frontier is searched up to."""
    wide = sum(len(kinds) for _, kinds in curve.ways("r", (0, 0)).groups)
    # other kinds: each pair is asked for all ways to split both of its numbers
    return WIDE.get(max(wide, 2), 16)


def endless(curve: Searched, questions: Questions) -> Answers:
    """Where every number of changes is certified."""
    sure = questions.sure
    if curve.limit is not None or not sure.any():
        return np.zeros(questions.size, bool)
    # an event of probability 1 keeps it under one change, and so under any
    covers = all(curve.cells(kind).covers for kind in curve.worst)
    return sure & covers & curve.hold(questions, curve.ways("r", 0))


def _end(curve: Searched, sure: bool) -> int:
    """The largest number of changes that is looked at."""
    if curve.limit is not None:
        return min(curve.far, curve.limit)
    # some kinds of changes may have no end where others do
    return min(curve.far, FAR) if sure else curve.far


def _searched(curve: Searched, questions: Questions, end: int) -> list[int]:
    """The radii of questions, up to an end."""

    def hold(places: Places, changes: int) -> Answers:
        ways = curve.ways("r", changes)

        def for_places(asked: Places) -> Answers:
            return curve.hold(questions.at(asked), ways)

        # of the top class alone questions come by rising probability
        return for_places(places) if questions.rest else rising(for_places, places)

    guesses = curve.guesses(questions)
    if guesses is None:
        starts = np.full(questions.size, -1)
    else:
        starts = np.maximum(np.minimum(guesses, end), -1).astype(np.int64)
    return np.maximum(last_of_each(hold, starts, end), 0).tolist()  # type: ignore[no-any-return]
