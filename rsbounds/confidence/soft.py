"""Bounds on the mean of a score in [0, 1], from its histogram."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import Array, choice, flag, number
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.levels import warn_of_confidence
from rsbounds._numerics.rounding import EPS, round_up
from rsbounds._numerics.search import Accepted, bisect
from rsbounds.confidence.bound import Bound, End
from rsbounds.confidence.counts import score
from rsbounds.confidence.histogram import ScoreHistogram, require_histogram

_METHODS = ("chernoff", "maurer-pontil", "betting")


def soft_lower_bound(
    histogram: ScoreHistogram,
    alpha: Any,
    *,
    method: str = "chernoff",
    scores: bool = False,
) -> Any:
    """Lower confidence bound on the mean of a score in [0, 1].

    Parameters
    ----------
    histogram : ScoreHistogram
        At least one score (two for "maurer-pontil"), independent and identically
        distributed.
    alpha : float
        Probability of error, in (0, 1).
    method : {"chernoff", "maurer-pontil", "betting"}
        "chernoff": p with n kl(mean, p) = log(1/alpha); never below Hoeffding's bound.
        "maurer-pontil": empirical Bernstein, better where the variance is far below
        mean (1 - mean). "betting": the p at which a mixture of constant bets has won
        1/alpha; adapts to the variance, and holds at every n at once, so that sampling
        may stop on it. For the top class and the runner-up together use
        :data:`rsbounds.confidence.BOUNDS`.
    scores : bool
        Return the normal score of the bound.

    Returns
    -------
    float
        At most the exact bound for the scores: they are rounded down to their cells'
        edges and the arithmetic is rounded down (1e-9 relative in 1 - p).

    References
    ----------
    W. Hoeffding, Probability inequalities for sums of bounded random variables, JASA 58
    (1963), Theorems 1 and 2. A. Maurer and M. Pontil, Empirical Bernstein bounds and
    sample variance penalization, COLT 2009, Theorem 4. I. Waudby-Smith and A. Ramdas,
    Estimating means of bounded random variables by betting, JRSS B 86 (2024).

    Examples
    --------
    >>> from rsbounds.confidence import ScoreHistogram, soft_lower_bound
    >>> h = ScoreHistogram()
    >>> h.add([0.875, 0.9375] * 500)
    >>> for method in "chernoff", "maurer-pontil", "betting":
    ...     print(f"{method:14}{soft_lower_bound(h, 0.001, method=method):.4f}")
    chernoff      0.8683
    maurer-pontil 0.8846
    betting       0.8967
    """
    result = soft_end(histogram, alpha, method)
    warn_of_confidence(alpha, stacklevel=2)
    return (result.z if flag("scores", scores) else result.p)[()]


def soft_upper_bound(
    histogram: ScoreHistogram,
    alpha: Any,
    *,
    method: str = "chernoff",
    scores: bool = False,
) -> Any:
    """Upper confidence bound on the mean of a score in [0, 1], rounded up.

    It is 1 minus the `soft_lower_bound` for 1 - score; parameters, accuracy, errors and
    references as there.

    Examples
    --------
    >>> from rsbounds.confidence import ScoreHistogram, soft_upper_bound
    >>> h = ScoreHistogram()
    >>> h.add([0.0] * 1000)
    >>> print(f"{soft_upper_bound(h, 0.001):.6f}")
    0.006884
    """
    require_histogram(histogram)
    result = soft_end(histogram.complement(), alpha, method)
    warn_of_confidence(alpha, stacklevel=2)
    return (-result.z if flag("scores", scores) else result.q)[()]


def soft_end(histogram: ScoreHistogram, alpha: Any, method: str) -> End:
    """The lower bound in all its forms."""
    require_histogram(histogram)
    level = number("alpha", alpha, 0.0, 1.0, closed="neither")
    log_inverse = float(round_up(-math.log(level), 2.0 * EPS))
    method = choice("method", method, _METHODS)
    n = histogram.n
    deficit = _deficit(histogram, least=2 if method == "maurer-pontil" else 1)
    match method:
        case "chernoff":
            q = deficit + _chernoff(deficit, n, log_inverse)
        case "maurer-pontil":
            q = deficit + _maurer_pontil(histogram, log_inverse)
        case _:
            q = deficit + _betting(histogram, deficit, log_inverse)
    # p and q = 1 - p, each rounded to its own side
    above = np.asarray(min(float(round_up(q, 4.0 * EPS)), 1.0))
    p = np.asarray(np.nextafter(1.0 - above, 0.0) if above < 1.0 else 0.0)
    return End(z=score(p, above), p=p, q=above)


def _deficit(histogram: ScoreHistogram, least: int = 1) -> float:
    """Mean of 1 - score, rounded up."""
    n = histogram.n
    cells = histogram.counts > 0
    if not n >= least:
        raise ArgumentError("histogram", f"must hold at least {least} scores; got {n}")
    total = math.fsum(histogram.counts[cells] * (1.0 - histogram.edges[cells]))
    return min(float(round_up(total / n, 4.0 * EPS)), 1.0)


def _chernoff(d: float, n: int, log_inverse: float) -> float:
    """The u with n kl(d, d + u) = log(1/alpha), rounded up, at most 1 - d."""
    goal = round_up(log_inverse, 4.0 * EPS)

    def accepted(u: Array) -> NDArray[np.bool_]:
        ratio = u / (1.0 - d)
        kl = -(1.0 - d) * np.log1p(-ratio)
        if d > 0.0:
            kl = kl - d * np.log1p(u / d)
        error = 8.0 * EPS * u / (1.0 - ratio)
        return np.asarray(n * (kl - error) >= goal)

    return _least(1.0 - d, accepted)


def _maurer_pontil(histogram: ScoreHistogram, log_inverse: float) -> float:
    """sqrt(2 V log(2/alpha)/n) + 7 log(2/alpha)/(3 (n - 1)), rounded up."""
    log_two = float(round_up(log_inverse + math.log(2.0), 2.0 * EPS))
    n = histogram.n
    cells = histogram.counts > 0
    edges = histogram.edges[cells]
    counts = histogram.counts[cells]
    centre = float(edges[np.argmax(counts)])
    mean = math.fsum(counts * (edges - centre)) / n
    square = math.fsum(counts * (edges - centre) ** 2)
    variance = max(square - n * mean * mean, 0.0) + 8.0 * EPS * square
    width = math.sqrt(2.0 * variance / (n - 1) * log_two / n)
    return float(round_up(width + 7.0 * log_two / (3.0 * (n - 1)), 16.0 * EPS))


def _betting(histogram: ScoreHistogram, d: float, log_inverse: float) -> float:
    """The u at which the bets against mean >= 1 - d - u have won 1/alpha, rounded up.

    Against the mean m a bet of fraction c multiplies the wealth by 1 + c (x - m)/m,
    which is at least 0 for c <= 1, decreases in m and has expectation at most 1 for
    every mean <= m. The mixture puts equal weights on 48 fractions that do not depend
    on the data.
    """
    cells = histogram.counts > 0
    edges = histogram.edges[cells]
    counts = histogram.counts[cells].astype(np.float64)
    fractions = np.exp(np.linspace(np.log(1e-5), np.log(0.9), 46))
    fractions = np.append(fractions, [0.97, 1.0])
    threshold = log_inverse + math.log(fractions.size)
    mean = 1.0 - d

    def accepted(u: Array) -> NDArray[np.bool_]:
        m = mean - u
        bet = fractions[:, None]
        log_factors = np.log((1.0 - bet) + bet * (edges / m))
        error = 1e-12 * (np.abs(log_factors) @ counts)
        error = error + 8.0 * EPS * histogram.n * (1.0 + mean / m)
        wealth = np.logaddexp.reduce(log_factors @ counts - error)
        return np.asarray(wealth >= threshold)

    return _least(mean, accepted)


def _least(limit: float, accepted: Accepted) -> float:
    """The least accepted number, rounded up, at most ``limit``."""
    with np.errstate(all="ignore"):
        # 2^-85 is 1e-9 of 1e-16, less than any bound on 1e12 scores
        return float(bisect(np.asarray(limit), np.asarray(0.0), accepted, steps=85))


@dataclass(frozen=True)  # a copy of it is equal, as one of a partial isn't
class _Lower:
    """The lower end of a class by one of the methods."""

    method: str

    def __call__(
        self,
        histogram: ScoreHistogram,
        n: NDArray[np.int64],
        alpha: Array,
    ) -> End:
        return soft_end(histogram, alpha, self.method)


def _entry(method: str) -> Bound:
    return Bound(method, "scores", _Lower(method))


CHERNOFF = _entry("chernoff")
MAURER_PONTIL = _entry("maurer-pontil")
BETTING = _entry("betting")
