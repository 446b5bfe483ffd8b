"""What a row of the table of promises is, and the points at which it is checked.

A row has the values of each argument, the ends of its domain among them, and a function
of one point that yields what the library returns there with the least and the largest
value that the docstring allows.
"""

import itertools
import math
import random
from collections.abc import Callable, Iterator
from typing import NamedTuple

import mpmath as mp
import numpy as np

INF = math.inf
TINY = 5e-324
HUGE = 1.7e308
#: What float64 itself loses of numbers below 1e-300, where the side alone is promised.
STEPS = mp.mpf("3e-308")
LARGEST = mp.mpf(float(np.finfo(np.float64).max))
SCORES = (1e-295, 1e-17, 1e-5, 0.3, 2.0, 8.0, 38.0, 1e6, 1e300)
OTHERS = (None, -1e300, -38.0, -1e-17, 0.0, 1e-17, 0.2999999, 7.9999999, 1e5)
LEVELS = (TINY, 1e-300, 0.25, 1.0, 1e300, HUGE)
ABOVE_HALF = (0.5 + 2.0**-53, 0.5 + 1e-9, 0.7, 0.99, 1 - 1e-9, 1 - 2.0**-53)
PROBABILITIES = (TINY, 1e-300, 1e-9, 0.3, 0.5, 0.9, 1 - 2.0**-53)
NORMS = (1.0, 2.0, math.nextafter(2, 3), 3.0, 1e300, INF)
DIMS = (1.0, 1.0000001, 3.0, 784.0, 150528.0, 1e8)

Limits = tuple[float, mp.mpf, mp.mpf]


class Promise(NamedTuple):
    """The values that each argument takes, and what must hold at a point."""

    ends: dict[str, tuple]
    at: Callable[..., Iterator[Limits]]
    quick: int


PROMISES: dict[str, Promise] = {}


def promise(name, quick=40, **ends):
    """Enter what must hold of a public callable at each point of some ends.

    ``quick`` is the number of points that take less than a second.
    """

    def enter(at):
        PROMISES[name] = Promise(ends, at, quick)
        return at

    return enter


def below(value, truth, relative=0, absolute=0):
    """At most the truth, and this near to it as far as float64 goes."""
    least = truth - abs(truth) * mp.mpf(relative) - mp.mpf(absolute)
    least = min(least, LARGEST * (1 - mp.mpf("1e-11")))
    return value, least - STEPS, truth


def above(value, truth, relative=0, absolute=0):
    """At least the truth, and this near to it as far as float64 goes."""
    most = truth + abs(truth) * mp.mpf(relative) + mp.mpf(absolute) + STEPS
    return value, truth, mp.inf if most > LARGEST else most


def around(value, truth, relative=0, absolute=0):
    """This near to the truth, on either side."""
    room = abs(truth) * mp.mpf(relative) + mp.mpf(absolute) + STEPS
    return value, truth - room, truth + room


def broken(value, least, most):
    """Whether a value lies outside of its limits; NaN always does."""
    return not least <= mp.mpf(float(value)) <= most


def points(ends, count):
    """All combinations of the ends, or as many of them as asked for."""
    every = list(itertools.product(*ends.values()))
    if len(every) > count:
        every = random.Random(0).sample(every, count)
    return [dict(zip(ends, values, strict=True)) for values in every]


def drawn(ends, count, seed):
    """Points of which each number is an end or lies between two of them."""
    source = random.Random(seed)
    return [
        {name: _between(source, values) for name, values in ends.items()}
        for _ in range(count)
    ]


def _between(source, values):
    numbers = sorted(v for v in values if isinstance(v, float) and math.isfinite(v))
    if len(numbers) < 2 or source.random() < 0.4:
        return source.choice(values)
    k = source.randrange(len(numbers) - 1)
    low, high = numbers[k], numbers[k + 1]
    share = source.random()
    if low > 0:
        return math.exp(math.log(low) * (1 - share) + math.log(high) * share)
    if high < 0:
        return -math.exp(math.log(-low) * (1 - share) + math.log(-high) * share)
    return low * (1 - share) + high * share


def runner_up(z_a, z_b):
    return -mp.mpf(z_a) if z_b is None else mp.mpf(z_b)
