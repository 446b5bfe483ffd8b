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
#: Of how many values of an array something is asked at a time.
_TOGETHER = 64
#: Of an array of more values every so many is asked first.
_MANY, _APART = 2**12, 64
#: Logarithms are taken for no smaller ones, whose quotients overflow.
_LEAST_LOG = 1e-300
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
) -> int:
    """The last number that holds, from ``start`` on; start - 1 where it doesn't."""
    good, step = start, 1
    # what holds for a number holds for those below it
    if not holds(start):
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


def powers(log_kept: float, lead: Array) -> Array:
    """About the last r with e^(r log_kept) above 1 - lead."""
    return np.log1p(-lead) / min(log_kept, -_LEAST_LOG)


def misses(dim: int, keep_count: int, lead: Array) -> Array:
    """About the last r that ``keep_count`` of ``dim`` miss with more than 1 - lead."""
    # each of the kept ones misses the changed as if it were the middle one of them
    share = -np.expm1(np.log1p(-lead) / keep_count)
    return (dim - (keep_count - 1) / 2) * share


def last_of_each(
    holds: Callable[[NDArray[np.intp], int], NDArray[np.bool_]],
    guesses: NDArray[np.int64],
    end: int,
) -> NDArray[np.int64]:
    """The last number, up to ``end``, that holds for each of several; -1: none does.

    ``holds(places, number)`` answers for some of them together: no number is asked of
    one of them twice. A number is soon found where it is next to its guess; -1 says
    nothing.
    """
    result = np.empty(len(guesses), np.int64)
    stack = [(np.arange(len(guesses)), -1, end + 1)] if len(guesses) else []
    while stack:
        places, good, bad = stack.pop()
        if bad - good == 1:
            result[places] = good
            continue
        # the guess, then steps away from it that double, and then halves
        middle = (good + bad) // 2
        guess = guesses[places[len(places) // 2]].item()
        if good < guess < bad:
            middle = guess
        elif guess <= good:
            middle = min(middle, 2 * good - guess + 1)
        else:
            middle = max(middle, 2 * bad - guess - 1)
        answers = holds(places, middle)
        number = np.count_nonzero(answers)
        if number == len(places):
            stack.append((places, middle, bad))
        elif not number:
            stack.append((places, good, middle))
        else:
            stack.append((places[~answers], good, middle))
            stack.append((places[answers], middle, bad))
    return result


def rising(
    holds: Callable[[NDArray[np.intp]], NDArray[np.bool_]], places: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """What ``holds`` answers for places, where it holds behind one that it holds for.

    It is asked of some at a time, between the last that is known not to hold and the
    first that is known to.
    """
    low, high = 0, len(places)
    while high - low > _TOGETHER:
        asked = np.linspace(low, high - 1, _TOGETHER).astype(int)
        no = asked[~holds(places[asked])]
        low, high = (
            int(no[-1]) + 1 if no.size else low,
            int(asked[no.size]) if no.size < asked.size else high,
        )
    if high - low == len(places):
        return holds(places)
    answers = np.arange(len(places)) >= high
    answers[low:high] = holds(places[low:high])
    return answers


def _of_rising(function: Callable[[Array], Any], values: Array) -> Any:
    """A function that never falls, of values that rise.

    Between two of one result it isn't asked.
    """
    if len(values) <= _MANY:
        return function(values)
    asked = np.append(np.arange(0, len(values) - 1, _APART), len(values) - 1)
    found = np.array(function(values[asked]), np.float64)
    before = np.searchsorted(asked, np.arange(len(values)), side="right") - 1
    results = found[before]
    after = np.minimum(before + 1, len(asked) - 1)
    left = np.flatnonzero(results != found[after])
    results[left] = function(values[left])
    return results


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


def distinct(function: Callable[..., Any], *arrays: Array) -> Array:
    """A function of arrays, asked of each different value, or pair, once; by rising."""
    values = np.stack([array.ravel() for array in arrays])
    if len(arrays) == 1:
        known, places = np.unique(values[0], return_inverse=True)
        results = _of_rising(function, known)
    else:
        known, places = np.unique(values, axis=1, return_inverse=True)
        results = function(*known)
    shape = arrays[0].shape
    return np.array(results, np.float64)[places.ravel()].reshape(shape)
