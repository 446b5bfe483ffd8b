"""Searches for the last number, and the last pairs, for which something holds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import Array

#: Into how many parts a search of doubles is divided at each step.
_SECTIONS = 256
#: How many doubles on either side of a guess are looked at first.
_NEAR = 16


def staircase(
    holds: Callable[[int, int], bool], limits: Sequence[int | None]
) -> list[tuple[int, int]]:
    """The largest pairs that hold, where what holds for a pair holds below it."""
    if not holds(0, 0):
        return []
    second = last(lambda n: holds(0, n), limits[1])
    result: list[tuple[int, int]] = []
    first = 0
    # Walk down the edge of what holds: a larger first number never allows a larger
    # second one, so that each moves one way only. To ask pair by pair would take the
    # product of both limits.
    while second >= 0:
        stay = second

        # a default, as the loop changes ``second`` before the next search
        def along(n: int, second: int = stay) -> bool:
            return holds(n, second)

        first = last(along, limits[0], start=first)
        result.append((first, second))
        if limits[0] is not None and first >= limits[0]:
            break
        first += 1
        second -= 1
        while second >= 0 and not holds(first, second):
            second -= 1
    return result


def last(
    holds: Callable[[int], bool],
    limit: int | None,
    start: int = 0,
    guess: int | None = None,
) -> int:
    """The last number that holds, from ``start`` on; start - 1 where it doesn't.

    It is soon found where it is next to a guess.
    """
    good, step = start, 1
    # what holds for a number holds for those below it
    if guess is not None and start < guess and (limit is None or guess <= limit):
        if holds(guess):
            good = guess
        elif not holds(start):
            return start - 1
        else:
            bad = guess
            while bad - step > good and not holds(bad - step):
                bad -= step
                step *= 2
            return _halved(holds, max(bad - step, good), bad)
    elif not holds(start):
        return start - 1
    # Steps that double, and then halves: most radii are far below the limit, and what
    # is asked of many changes costs most.
    while limit is None or good + step <= limit:
        if not holds(good + step):
            break
        good += step
        step *= 2
    else:
        step = limit - good + 1  # beyond the limit nothing need be asked
    return _halved(holds, good, good + step)


def _halved(holds: Callable[[int], bool], good: int, bad: int) -> int:
    """The last number that holds, of which one holds and a larger one doesn't."""
    while bad - good > 1:
        middle = (good + bad) // 2
        if holds(middle):
            good = middle
        else:
            bad = middle
    return good


def powers(log_kept: float, lead: float, end: int) -> int:
    """About the last r, up to ``end``, with e^(r log_kept) above 1 - lead."""
    return int(min(math.log1p(-lead) / log_kept, end)) if log_kept else end


def misses(dim: int, keep_count: int, lead: float) -> int:
    """About the last r that ``keep_count`` of ``dim`` miss with more than 1 - lead."""
    # each of the kept ones misses the changed as if it were the middle one of them
    share = -math.expm1(math.log1p(-lead) / keep_count)
    return int((dim - (keep_count - 1) / 2) * share)


def last_of_each(
    holds: Callable[[NDArray[np.intp], int], NDArray[np.bool_]], size: int, end: int
) -> NDArray[np.int64]:
    """The last number, up to ``end``, that holds for each of ``size``; -1: none does.

    ``holds(places, number)`` answers for some of them together: no number is asked of
    one of them twice.
    """
    result = np.empty(size, np.int64)
    stack = [(np.arange(size), -1, end + 1)]
    while stack:
        places, good, bad = stack.pop()
        if bad - good == 1:
            result[places] = good
            continue
        # steps that double, and then halves, as in :func:`last`
        middle = (good + bad) // 2
        if bad > end:
            middle = min(middle, 2 * good + 2)
        answers = holds(places, middle)
        if answers.all():
            stack.append((places, middle, bad))
        elif not answers.any():
            stack.append((places, good, middle))
        else:
            stack.append((places[~answers], good, middle))
            stack.append((places[answers], middle, bad))
    return result


def rising(function: Callable[[Array], Any], values: Array, together: int) -> Array:
    """A function that never falls, of every value of an array.

    ``function(some)`` is asked of some values, ``together`` at first; between two of
    one result it isn't asked.
    """
    if not values.size:
        return values
    known, places = np.unique(values, return_inverse=True)
    number = min(known.size, together)
    asked = np.unique(np.linspace(0, known.size - 1, number).astype(int))
    results = np.array(function(known[asked]))
    while True:
        left = (results[:-1] != results[1:]) & (np.diff(asked) > 1)
        if not left.any():
            break
        middle = (asked[:-1] + asked[1:])[left] // 2
        after = np.flatnonzero(left) + 1
        results = np.insert(results, after, function(known[middle]))
        asked = np.insert(asked, after, middle)
    at_or_below = np.searchsorted(asked, np.arange(known.size), side="right") - 1
    return np.asarray(results[at_or_below][places].reshape(values.shape), np.float64)


def least_accepted(
    accepts: Callable[[Array], NDArray[np.bool_]],
    low: float,
    high: float,
    guess: float,
) -> float:
    """The least double from ``low`` on that is accepted; inf where ``high`` is not.

    Both are at least 0. What is accepted is so above it too. Doubles next to a guess
    are looked at first.
    """
    # the bits of doubles count them; sections take fewer calls than halves
    below, above, near = (_number(end) for end in (low, high, guess))
    between = np.arange(near - _NEAR, near + _NEAR)
    between = between[(between > below) & (between < above)]
    places = np.concatenate([[below], between, [above]])
    while True:
        accepted = accepts(places.view(np.float64))
        if accepted[0]:
            return low
        if not accepted[-1]:
            return math.inf
        first = int(np.argmax(accepted))
        below, above = places[first - 1 : first + 1].tolist()
        if above - below == 1:
            return float(np.int64(above).view(np.float64))
        step = -(-(above - below) // _SECTIONS)
        places = np.append(np.arange(below, above, step), above)


def _number(value: float) -> int:
    """The place of a double, at least 0, among all doubles."""
    return int(np.float64(value).view(np.int64))


def by_pair(function: Callable[[Array, Array], Any], a: Array, b: Array) -> Array:
    """A function of two arrays, of two others' pairs, each once."""
    pairs, places = np.unique(
        np.stack([a.ravel(), b.ravel()]), axis=1, return_inverse=True
    )
    results = np.array(function(*pairs), np.float64)
    return results[places.ravel()].reshape(a.shape)
