"""Statistics of two runs on the same inputs: an exact test, and a paired bootstrap."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from rsbounds._numerics.checks import Array

#: The level of intervals and bands.
LEVEL = 0.95
_ENTRIES = 2**22  # of the resamples that are held at once


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


def holm(each: Sequence[float]) -> list[float]:
    """Adjust values of p by Holm's method.

    One below a level may be told from chance at it, however many were asked for.
    """
    adjusted, highest = [0.0] * len(each), 0.0
    for rank, i in enumerate(sorted(range(len(each)), key=lambda i: each[i])):
        highest = max(highest, min(1.0, (len(each) - rank) * each[i]))
        adjusted[i] = highest
    return adjusted


class Interval(NamedTuple):
    """The ends of an interval; NaN where there is none."""

    low: float
    high: float


def interval_of_mean(differences: Array, draws: int, seed: int) -> Interval:
    """Interval of the mean of pairs' differences, by the symmetric bootstrap-t.

    The mean plus and minus its standard error times that quantile of |t| over
    resamples of the pairs [Hall, On symmetric bootstrap confidence intervals, JRSS B
    50, 1988]. NaN where it can't be told: fewer than two pairs, too few that differ,
    or a difference that is not finite.
    """
    n = differences.size
    none = Interval(math.nan, math.nan)
    if n < 2 or not np.isfinite(differences).all():
        return none
    # in a unit in which squares neither overflow nor vanish
    unit = float(np.abs(differences).max()) or 1.0
    mean = float(np.mean(differences / unit))
    centred = differences / unit - mean
    variance = float(np.mean(centred**2))
    drawn = [np.zeros(0)]
    for own in _resamples(n, draws, seed):
        means = own @ centred / n
        variances = own @ centred**2 / n - means**2
        # a resample of equal differences has no t: its deviation is beyond all others
        has_none = variances <= 1e-12 * variance
        variances[has_none] = 1.0
        drawn.append(np.where(has_none, np.inf, np.abs(means) / np.sqrt(variances)))
    quantile = float(np.sort(np.concatenate(drawn))[math.ceil(LEVEL * draws) - 1])
    if not math.isfinite(quantile):
        return none
    reach = quantile * math.sqrt(variance)
    return Interval((mean - reach) * unit, (mean + reach) * unit)


class Band(NamedTuple):
    """The difference of two step curves, and how far from it the true one may be.

    From one edge to the next the difference is as at the later edge.
    """

    edges: Array
    heights: Array
    half_width: float


def band(a: Array, b: Array, draws: int, seed: int) -> Band:
    """The difference of certified accuracies at all radii.

    With a 95 % band for all at once.

    Parameters
    ----------
    a, b : array, shape (n,)
        Radii of the same inputs; negative where nothing is certified.
    draws, seed : int
        Resamples of the inputs.

    Returns
    -------
    Band
        Its half width holds at all radii at once: that quantile of the largest
        deviation over all radii of a resample's difference from the one of all inputs.
    """
    n = a.size
    radii, inputs = np.concatenate([a, b]), np.tile(np.arange(n), 2)
    signs = np.repeat([1.0, -1.0], n)
    held = radii >= 0
    radii, inputs, signs = radii[held], inputs[held], signs[held]
    order = np.argsort(-radii)
    radii, inputs, signs = radii[order], inputs[order], signs[order]
    # sums count the radii of at least an edge: where it stands for the last time
    last = np.flatnonzero(np.append(np.diff(radii) != 0, radii.size > 0))
    heights = np.cumsum(signs)[last] / n
    largest = [np.zeros(0)]
    for own in _resamples(n, draws, seed):
        moved = np.cumsum((own[:, inputs] - 1) * signs, axis=1)[:, last]
        largest.append(np.abs(moved).max(axis=1, initial=0.0) / n)
    half_width = np.sort(np.concatenate(largest))[math.ceil(LEVEL * draws) - 1]
    return Band(radii[last][::-1], heights[::-1], float(half_width))


def _resamples(n: int, draws: int, seed: int) -> Iterator[Array]:
    """How often each of n inputs is drawn, for some resamples at a time."""
    rng = np.random.default_rng(seed)
    some = max(1, _ENTRIES // n)
    for start in range(0, draws, some):
        many = min(some, draws - start)
        drawn = rng.integers(n, size=(many, n)) + n * np.arange(many)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=many * n)
        yield counts.reshape(many, n).astype(np.float64)
