"""Statistics of two runs on the same inputs: a test, an interval, and a band."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from rsbounds._numerics.checks import Array
from rsbounds._numerics.rounding import EPS
from rsbounds.reports._bets import lower_mean

#: The level of intervals and bands.
LEVEL = 0.95
#: Steps of the radius between which a band is level.
_CELLS = 48


def sign_test(only_a: int, only_b: int) -> float:
    """The exact two-sided p of McNemar's test, rounded up.

    Parameters
    ----------
    only_a, only_b : int
        Inputs of which one thing holds for the first run alone, and for the second.

    Returns
    -------
    float
        The chance of a split at least as uneven, if each of the inputs were as likely
        to be the one's as the other's: min(1, 2 P(X <= min)), X binomial of chance
        1/2. 1.0 without such inputs.
    """
    total, fewer = only_a + only_b, min(only_a, only_b)
    ways, tail = 1, 1
    for k in range(fewer):
        ways = ways * (total - k) // (k + 1)
        tail += ways
    exact = min(Fraction(1), Fraction(tail, 2 ** max(total - 1, 0)))
    p = float(exact)
    return p if p >= exact else math.nextafter(p, 1)


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust values of p by Holm's method.

    One below a level may be told from chance at it, however many were asked for.
    """
    adjusted, highest = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = highest
    return adjusted


class PairedInterval(NamedTuple):
    """The ends of an interval; NaN where there is none."""

    low: float
    high: float


NO_INTERVAL = PairedInterval(math.nan, math.nan)


def interval_of_mean(
    a: Array, b: Array, most_a: float, most_b: float
) -> PairedInterval:
    """The 95 % interval of the mean of a - b, for pairs drawn at random from many.

    It holds with probability at least 95 %, whatever the law of the pairs: each end is
    the bound of :func:`lower_mean` at level 2.5 %.

    Parameters
    ----------
    a, b : array, shape (n,)
        Numbers of the same inputs, within [0, most_a] and [0, most_b].
    most_a, most_b : float
        What they can be at most, known without seeing them; finite, one above 0.
    """
    reach = most_a + most_b
    differences = a - b
    once = np.ones(a.size)
    alpha = (1 - LEVEL) / 2
    low, high = (
        float(lower_mean(_from_below(values, least, reach), once, alpha)) * reach
        + least
        for values, least in ((differences, -most_b), (-differences, -most_a))
    )
    return PairedInterval(low - 4 * EPS * reach, -high + 4 * EPS * reach)


def _from_below(values: Array, least: float, reach: float) -> Array:
    """Values in [least, least + reach] as shares of the reach, rounded down."""
    return np.clip((values - least) / reach - 4 * EPS, 0.0, 1.0)


class Band(NamedTuple):
    """The difference of two step curves, and between what the true one may be.

    From one edge to the next each is as at the later edge; ends are NaN where there is
    no band.
    """

    edges: Array
    heights: Array
    low: Array
    high: Array


def band(a: Array, b: Array, most: float | None) -> Band:
    """The difference of certified accuracies at all radii, with its 95 % band.

    Parameters
    ----------
    a, b : array, shape (n,)
        Radii of the same inputs; negative where nothing is certified.
    most : float, optional
        What radii can be at most, known without seeing them: without it there is no
        band.

    Returns
    -------
    Band
        The true difference lies within it at all radii at once with probability at
        least 95 %, whatever the law of the pairs. Radii up to ``most`` are cut into
        steps. At a radius in a step the first accuracy lies between those at its two
        ends, and so does the second: what both differ by at most, and at least, is the
        mean of differences that are -1, 0 or 1. All of their bounds hold together.
    """
    grid = np.zeros(0) if most is None else np.linspace(0.0, most, _CELLS + 1)
    radii = np.concatenate([a, b])
    edges = np.unique(np.concatenate([grid, radii[radii >= 0]]))
    heights = (_at_least(a, edges) - _at_least(b, edges)) / a.size
    if most is None:
        none = np.full(edges.shape, np.nan)
        return Band(edges, heights, none, none)
    before = np.concatenate([grid[:1], grid[:-1]])
    low = _least_difference(a, b, grid, before)
    high = -_least_difference(b, a, grid, before)
    place = np.minimum(np.searchsorted(grid, edges), _CELLS)
    return Band(edges, heights, low[place], high[place])


def _least_difference(a: Array, b: Array, ends: Array, starts: Array) -> Array:
    """Lower bounds of P(a >= end) - P(b >= start) of steps, all true at once."""
    in_a = a >= ends[:, None]
    in_b = b >= starts[:, None]
    only_a = np.sum(in_a & ~in_b, axis=1)
    only_b = np.sum(in_b & ~in_a, axis=1)
    counts = np.stack([only_b, a.size - only_a - only_b, only_a], axis=1)
    # both ends of each step
    alpha = (1 - LEVEL) / (2 * ends.size)
    return np.asarray(2 * lower_mean([0.0, 0.5, 1.0], counts, alpha) - 1 - 4 * EPS)


def _at_least(radii: Array, edges: Array) -> Array:
    """How many radii reach each edge."""
    return np.asarray(radii.size - np.searchsorted(np.sort(radii), edges))
