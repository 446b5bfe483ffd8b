"""Buehler's limit of z_a - z_b: both counts in one test, instead of a bound for each.

Order the outcomes (n_a, n_b) of n samples by T, the estimate of theta = z_a - z_b less the
length of its arms, sqrt(d_a^2 + d_b^2 - 2 rho d_a d_b) with Wilson's arms at level alpha. With
one rho for all outcomes, in (-1, 0), the length increases by no more than an arm does, so T
increases in n_a and decreases in n_b as Wilson's limits do. The limit is the least theta of
the p with P_p(T >= T observed) > alpha. Here that is bounded from below: P_p increases in p_a
and decreases in p_b, so for all p with theta <= theta_0 and u_i <= z_a <= u_(i+1) it is at
most its value at the corner (Phi(u_(i+1)), Phi(u_i - theta_0)), p_a cut to 1 - p_b. The two
sum to more than 1 beyond z_a = theta_0/2; elsewhere z_a is cut off by Clopper-Pearson's bounds
at alpha/100 each, and the corners have the other 49/50 of alpha. As T falls in n_b and the top
class comes from other samples, the largest other count needs no union over classes.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special as sc

from rsbounds._numerics.checks import Array
from rsbounds._numerics.rounding import round_down, round_up
from rsbounds.confidence.counts import end

MAX_N = 10**6
_CUT = 1 / 50  # the share of alpha that bounds z_a
_SAFETY = 1e-7  # relative; the terms of the sums are right to 1e-8 for n <= MAX_N
_RHO = -0.5  # between the two estimates, in the order: -0.3 to -0.8 where it matters
_FINEST = 0.05  # of a cell, in standard deviations of the top class's score


def joint_difference(count_a: int, count_b: int, n: int, alpha: float) -> float:
    """A lower bound of z_a - z_b at level alpha, at least 0 (which certifies nothing)."""
    outcome = _Outcome(count_a, count_b, n, alpha)
    estimate = float(sc.ndtri((count_a + 0.5) / (n + 1)) - sc.ndtri((count_b + 0.5) / (n + 1)))
    if not estimate > 0:
        return 0.0
    half = np.full(2, alpha / 2.0)
    ends = end(np.array([count_a, n - count_b]), np.full(2, n), half).z
    low, high = max(float(ends.sum()), 0.0), estimate  # the pair's limit is never far below
    low = low if outcome.plausibly_above(low) else 0.0
    for _ in range(9):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if outcome.plausibly_above(middle) else (low, middle)
    while low > 0.0 and not outcome.proved_above(low):
        low -= outcome.spacing
    return max(low, 0.0)


class _Outcome:
    """The outcomes that favour class A as much as what was observed, or more."""

    def __init__(self, count_a: int, count_b: int, n: int, alpha: float) -> None:
        self.most = _favourable(count_a, count_b, n, alpha)
        self.first = int(np.argmax(self.most >= 0))
        self.n, self.level = n, alpha * (1.0 - _CUT) * (1.0 - _SAFETY)
        hits = np.array([count_a, n - count_a])
        cut = end(hits, np.full(2, n), np.full(2, alpha * _CUT / 2.0)).z
        p = (count_a + 0.5) / (n + 1)
        self.centre = float(sc.ndtri(p))
        density = math.exp(-(self.centre**2) / 2) / math.sqrt(2 * math.pi)
        self.spread = math.sqrt(p * (1 - p) / (n + 1)) / density
        self.floor, self.ceiling = max(float(cut[0]), -38.0), min(-float(cut[1]), 38.0)
        self.spacing = _FINEST * self.spread
        self.reach = math.sqrt(2.0 * math.log(1e5 / alpha))

    def plausibly_above(self, theta: float) -> bool:
        """Whether no point of a few on the border theta makes the outcome likely."""
        top = min(theta / 2.0, self.ceiling)
        if top <= self.floor:
            return True
        u = np.linspace(self.floor, top, 12)
        p_a = np.minimum(sc.ndtr(u + self.spacing), sc.ndtr(theta - u))
        return bool(np.all(self.probability(p_a, sc.ndtr(u - theta)) <= self.level))

    def proved_above(self, theta: float) -> bool:
        """Whether every p with z_a - z_b <= theta is ruled out; cells are split as needed."""
        top = min(theta / 2.0, self.ceiling)
        if top <= self.floor:
            return True
        edges = np.linspace(self.floor, top, 33)
        low, high = edges[:-1], edges[1:]
        while low.size:
            p_b = round_down(sc.ndtr(low - theta), 1e-14)
            p_a = round_up(np.minimum(sc.ndtr(high), sc.ndtr(theta - low)), 1e-14)
            open_ = ~(self.probability(np.minimum(p_a, 1.0), p_b) <= self.level)
            low, high = low[open_], high[open_]
            if np.any(high - low <= self.spacing):
                return False
            middle = 0.5 * (low + high)
            low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
        return True

    def probability(self, p_a: Array, p_b: Array) -> Array:
        """Of these outcomes, rounded up, for each pair of class probabilities."""
        return np.array([self._one(float(a), float(b)) for a, b in zip(p_a, p_b, strict=True)])

    def _one(self, p_a: float, p_b: float) -> float:
        n = self.n
        half = self.reach * math.sqrt(n * p_a * (1.0 - p_a)) + self.reach**2
        low = max(int(n * p_a - half), self.first)
        high = min(math.ceil(n * p_a + half), n)
        beyond = sc.bdtrc(high, n, p_a) if high < n else 0.0
        before = sc.bdtr(low - 1, n, p_a) if low > self.first else 0.0
        if low > high:
            return float(beyond + before)
        a = np.arange(low, high + 1)
        rest = n - a
        weight = np.exp(
            _log_factorials(n)[n]
            - _log_factorials(n)[a]
            - _log_factorials(n)[rest]
            + sc.xlogy(a, p_a)
            + sc.xlog1py(rest, -p_a)
        )
        most = np.minimum(self.most[low : high + 1], rest)
        share = min(p_b / (1.0 - p_a), 1.0) if p_a < 1.0 else 1.0
        fits = np.where(most >= rest, 1.0, 0.0)
        inner = (most < rest) & (most >= 0)
        fits[inner] = sc.betaincc(most[inner] + 1.0, rest[inner] - most[inner], share)
        return float(weight @ fits + beyond + before)


@lru_cache(maxsize=4)
def _log_factorials(n: int) -> Array:
    return np.asarray(sc.gammaln(np.arange(n + 1) + 1.0))


def _favourable(count_a: int, count_b: int, n: int, alpha: float) -> NDArray[np.int64]:
    """For each n_a the largest n_b as good as what was observed; -1 if none is."""
    centre, arm = _estimates(n, float(-sc.ndtri(min(alpha, 0.4))))

    def order(a: Any, b: Any) -> Array:
        d_a, d_b = arm[a], arm[n - b]
        return np.asarray(
            centre[a] + centre[n - b] - np.sqrt(d_a * (d_a - 2.0 * _RHO * d_b) + d_b * d_b)
        )

    observed = order(count_a, count_b)
    observed = observed - 1e-9 * (1.0 + abs(observed))  # what is as good within rounding
    a = np.arange(n + 1)
    low, high = np.full(n + 1, -1), n - a + 1
    while np.any(high - low > 1):
        middle = (low + high) // 2
        good = order(a, np.maximum(middle, 0)) >= observed
        low, high = np.where(good, middle, low), np.where(good, high, middle)
    return np.asarray(np.maximum.accumulate(low))


@lru_cache(maxsize=4)
def _estimates(n: int, z: float) -> tuple[Array, Array]:
    """Scores estimated from 0 ... n successes, and how far below them Wilson's limit is."""
    k = np.arange(n + 1.0)
    centre = sc.ndtri((k + 0.5) / (n + 1.0))
    limit = k + z * z / 2.0 - z * np.sqrt(k * (n - k) / n + z * z / 4.0)
    score = np.maximum(sc.ndtri(np.maximum(limit, 0.0) / (n + z * z)), -40.0)
    return centre, np.maximum(centre - np.maximum.accumulate(score), 0.0)
