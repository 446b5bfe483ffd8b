"""Searches for the last number, and the last pairs, for which something holds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import Array


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
    if not holds(start):
        return start - 1
    # Steps that double, and then halves: most radii are far below the limit, and what
    # is asked of many changes costs most.
    good, step = start, 1
    if guess is not None and start < guess and (limit is None or guess <= limit):
        if holds(guess):
            good = guess
        else:
            bad = guess
            while bad - step > good and not holds(bad - step):
                bad -= step
                step *= 2
            return _halved(holds, max(bad - step, good), bad)
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


def powers(chance: Fraction, lead: Fraction, end: int) -> int:
    """About the last r, up to ``end``, with (1 - chance)^r above 1 - lead."""
    if float(chance) == 1.0:
        return 0
    one = _log_of_rest(chance)
    return int(min(_log_of_rest(lead) / one, end)) if one else end


def misses(dim: int, kept: int, lead: Fraction) -> int:
    """About the last r that ``kept`` of ``dim`` miss with more than 1 - lead."""
    # each of the kept ones misses the changed as if it were the middle one of them
    share = -math.expm1(_log_of_rest(lead) / kept)
    return int((dim - (kept - 1) / 2) * share)


def _log_of_rest(share: Fraction) -> float:
    """The logarithm of 1 - share; 0 where that is no double below 1."""
    value = float(share)
    return math.log1p(-value) if value < 1 else 0.0


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
        held = holds(places, middle)
        if not held.all():
            stack.append((places[~held], good, middle))
        if held.any():
            stack.append((places[held], middle, bad))
    return result


def rising(
    function: Callable[[Array, Array, Array], Any], values: Array, together: int
) -> Array:
    """A function that never falls, of every value of an array.

    ``function(some, least, most)`` is asked of some values, ``together`` at first, and
    told what each result lies between; between two of one result it isn't asked.
    """
    if not values.size:
        return values
    known, places = np.unique(values, return_inverse=True)
    number = min(known.size, together)
    asked = np.unique(np.linspace(0, known.size - 1, number).astype(int))
    results = np.array(
        function(known[asked], np.zeros(number), np.full(number, np.inf))
    )
    while True:
        low, high = results[:-1], results[1:]
        left = (low != high) & (np.diff(asked) > 1)
        if not left.any():
            break
        middle = (asked[:-1] + asked[1:])[left] // 2
        between = function(known[middle], low[left], high[left])
        after = np.flatnonzero(left) + 1
        asked = np.insert(asked, after, middle)
        results = np.insert(results, after, between)
    at_or_below = np.searchsorted(asked, np.arange(known.size), side="right") - 1
    return np.asarray(results[at_or_below][places].reshape(values.shape), np.float64)


def by_pair(function: Callable[[list[Any]], Any], a: Array, b: Array) -> Array:
    """A function of a list of pairs, of those of two arrays, each once."""
    pairs = list(zip(a.ravel().tolist(), b.ravel().tolist(), strict=True))
    different = list(dict.fromkeys(pairs))
    known = dict(zip(different, function(different), strict=True))
    return np.array([float(known[pair]) for pair in pairs]).reshape(a.shape)
