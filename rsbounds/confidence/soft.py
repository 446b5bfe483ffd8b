"""Scores in [0, 1]: their histogram, rounded outward, bounds on their mean and a
certificate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import (
    Array,
    as_floats,
    as_integers,
    broadcast,
    choice,
    number,
)
from rsbounds._numerics.rounding import EPS, product, round_down, round_up
from rsbounds._numerics.search import Accepted, bisect
from rsbounds.confidence.counts import End, lower_bound, score
from rsbounds_ext import kernels

_METHODS = ("chernoff", "maurer-pontil", "hoeffding", "betting")


def default_edges() -> Array:
    """Cell edges: steps of 2^-12, and near 0 and 1 relative steps of 2^-6 down to
    2^-30.
    """
    uniform = np.arange(2**12 + 1) / 2.0**12
    octaves = np.ldexp(1.0 + np.arange(64) / 64.0, np.arange(-30, -6)[:, None]).ravel()
    return np.unique(np.concatenate([uniform, octaves, 1.0 - octaves]))


class ScoreHistogram:
    """Counts of scores in [0, 1] by cell, the only state that the soft bounds need.

    A score counts as the lower edge of its cell, so a lower bound computed from the
    histogram is one for the scores themselves; `complement` does the same for upper
    bounds. Two histograms over the same edges merge by adding, so batches, shards and
    resumed runs give the same result in any order.

    Parameters
    ----------
    counts : array_like of int, shape (len(edges),), optional
        Number of scores in [edges[i], edges[i + 1]), the last cell being exactly {1}.
        Zero by default.
    edges : array_like of float, optional
        Increasing from 0 to 1, with 1 - edges exact in float64 (multiples of 2^-52
        are). By default 7,169 edges: steps of 2^-12, and near 0 and 1 relative steps of
        2^-6.

    Examples
    --------
    >>> from rsbounds.confidence import ScoreHistogram
    >>> first, second = ScoreHistogram(), ScoreHistogram()
    >>> first.add([0.9, 1.0])
    >>> second.add([0.25])
    >>> first.merge(second).n
    3
    """

    def __init__(self, counts: Any = None, edges: Any = None) -> None:
        self.edges = (
            default_edges()
            if edges is None
            else as_floats("edges", edges, 0.0, 1.0, nan=False)
        )
        e = self.edges
        if not (
            e.ndim == 1
            and e.size >= 2
            and e[0] == 0.0
            and e[-1] == 1.0
            and np.all(np.diff(e) > 0)
        ):
            raise ValueError("edges must increase from 0 to 1; got other values")
        if not np.all(1.0 - (1.0 - e) == e):
            raise ValueError(
                "edges must have 1 - edges exact (multiples of 2**-52); got others"
            )
        self.counts = (
            np.zeros(e.size, dtype=np.int64)
            if counts is None
            else as_integers("counts", counts)
        )
        if self.counts.shape != e.shape:
            raise ValueError(
                f"counts must have shape {e.shape}; got {self.counts.shape}"
            )

    @property
    def n(self) -> int:
        """Number of scores."""
        return int(self.counts.sum())

    def add(self, scores: Any) -> None:
        """Count a batch of scores, an array of any shape with values in [0, 1]."""
        scores = as_floats("scores", scores, 0.0, 1.0, nan=False).ravel()
        cell = np.searchsorted(self.edges, scores, side="right") - 1
        self.counts += np.bincount(cell, minlength=self.edges.size)

    def merge(self, other: ScoreHistogram) -> ScoreHistogram:
        """The histogram of both sets of scores; the edges must be the same."""
        if not np.array_equal(self.edges, other.edges):
            raise ValueError(
                "edges of merged histograms must be equal; got different ones"
            )
        return ScoreHistogram(self.counts + other.counts, self.edges)

    def complement(self) -> ScoreHistogram:
        """The histogram of 1 - score, each again counted at or below its value."""
        edges = 1.0 - self.edges[::-1]
        counts = np.zeros_like(self.counts)
        counts[:-1] = self.counts[-2::-1]
        counts[0] += self.counts[-1]
        return ScoreHistogram(counts, edges)

    def at_least(self, threshold: Any) -> NDArray[np.int64]:
        """Number of scores >= threshold, for thresholds among the edges."""
        threshold = as_floats("threshold", threshold, 0.0, 1.0, nan=False)
        cell = np.searchsorted(self.edges, threshold)
        if not np.all(self.edges[cell] == threshold):
            raise ValueError("threshold must be one of the edges; got another value")
        from_cell = np.cumsum(self.counts[::-1])[::-1]
        return np.asarray(from_cell[cell])


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
    method : {"chernoff", "maurer-pontil", "hoeffding", "betting"}
        "chernoff": p with n kl(mean, p) = log(1/alpha); never below "hoeffding".
        "maurer-pontil": empirical Bernstein, better where the variance is far below
        mean (1 - mean). "betting": the p at which a mixture of constant bets has won
        1/alpha; adapts to the variance, and holds at every n at once, so that sampling
        may stop on it. For the top class and the runner-up together use
        :data:`rsbounds.confidence.BOUNDS`, which has all of them but "hoeffding".
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
    >>> for method in "chernoff", "maurer-pontil", "hoeffding", "betting":
    ...     print(f"{method:14}{soft_lower_bound(h, 0.001, method=method):.4f}")
    chernoff      0.8683
    maurer-pontil 0.8846
    hoeffding     0.8475
    betting       0.8967
    """
    result = soft_end(histogram, alpha, method)
    return (result.z if scores else result.p)[()]


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
    result = soft_end(histogram.complement(), alpha, method)
    return (-result.z if scores else result.q)[()]


def soft_end(histogram: ScoreHistogram, alpha: Any, method: str) -> End:
    """The lower bound in all its forms."""
    level = number("alpha", alpha, 0.0, 1.0, closed="neither")
    log_inverse = float(round_up(-math.log(level), 2.0 * EPS))
    method = choice("method", method, _METHODS)
    n = histogram.n
    deficit = _deficit(histogram, least=2 if method == "maurer-pontil" else 1)
    match method:
        case "chernoff":
            q = deficit + _chernoff(deficit, n, log_inverse)
        case "hoeffding":
            q = deficit + float(round_up(math.sqrt(log_inverse / (2.0 * n)), 4.0 * EPS))
        case "maurer-pontil":
            q = deficit + _maurer_pontil(histogram, log_inverse)
        case _:
            q = deficit + _betting(histogram, deficit, log_inverse)
    above = np.asarray(min(float(round_up(q, 4.0 * EPS)), 1.0))
    p = np.asarray(np.nextafter(1.0 - above, 0.0) if above < 1.0 else 0.0)
    return End(score(p, above), p, above)


def _deficit(histogram: ScoreHistogram, least: int = 1) -> float:
    """Mean of 1 - score, rounded up."""
    n, cells = histogram.n, histogram.counts > 0
    if not n >= least:
        raise ValueError(f"histogram must hold at least {least} scores; got {n}")
    total = math.fsum(histogram.counts[cells] * (1.0 - histogram.edges[cells]))
    return min(float(round_up(total / n, 4.0 * EPS)), 1.0)


def _chernoff(d: float, n: int, log_inverse: float) -> float:
    """The u with n kl(d, d + u) = log(1/alpha), rounded up, at most 1 - d."""
    goal = round_up(log_inverse, 4.0 * EPS)

    def accepted(u: Array) -> NDArray[np.bool_]:
        ratio = u / (1.0 - d)
        kl = -(1.0 - d) * np.log1p(-ratio) - (d * np.log1p(u / d) if d > 0.0 else 0.0)
        error = 8.0 * EPS * u / (1.0 - ratio)
        return np.asarray(n * (kl - error) >= goal)

    return _least(1.0 - d, accepted)


def _maurer_pontil(histogram: ScoreHistogram, log_inverse: float) -> float:
    """sqrt(2 V log(2/alpha)/n) + 7 log(2/alpha)/(3 (n - 1)), rounded up."""
    log_two = float(round_up(log_inverse + math.log(2.0), 2.0 * EPS))
    n, cells = histogram.n, histogram.counts > 0
    edges, counts = histogram.edges[cells], histogram.counts[cells]
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
    edges, counts = histogram.edges[cells], histogram.counts[cells].astype(np.float64)
    fractions = np.append(
        np.exp(np.linspace(np.log(1e-5), np.log(0.9), 46)), [0.97, 1.0]
    )
    threshold = log_inverse + math.log(fractions.size)
    mean = 1.0 - d

    def accepted(u: Array) -> NDArray[np.bool_]:
        m = mean - u
        log_factors = np.log(
            (1.0 - fractions)[:, None] + fractions[:, None] * (edges / m)
        )
        error = 1e-12 * (np.abs(log_factors) @ counts) + 8.0 * EPS * histogram.n * (
            1.0 + mean / m
        )
        return np.asarray(
            np.logaddexp.reduce(log_factors @ counts - error) >= threshold
        )

    return _least(mean, accepted)


def _least(limit: float, accepted: Accepted) -> float:
    """The least accepted number, rounded up, at most ``limit``."""
    with np.errstate(divide="ignore", invalid="ignore"):
        # 2^-85 is 1e-9 of 1e-16, less than any bound on 1e12 scores
        return float(bisect(np.asarray(limit), np.asarray(0.0), accepted, steps=85))


@dataclass(frozen=True)
class CDFCertificate:
    """Lower bounds on P(score >= t) at several thresholds t, carried to other inputs.

    Each event score >= t obeys the bound for hard decisions, so at distance R the mean
    is at least sum_i (t_i - t_{i-1}) Phi(z_i - R/sigma). With many samples and
    thresholds that is never below the bound from the mean alone, and far above it where
    the score rarely falls below the level. For a certified decision, take for the score
    the class's own probability with level 1/2, or (1 + score - largest other score)/2.

    Attributes
    ----------
    thresholds : ndarray, shape (k,)
        Increasing, in (0, 1].
    scores : ndarray, shape (k,)
        Normal scores of lower bounds on P(score >= t), all holding together.

    References
    ----------
    A. Kumar, A. Levine, S. Feizi and T. Goldstein, Certifying confidence via randomized
    smoothing, NeurIPS 2020, the bound from the distribution function (here with
    Clopper-Pearson bounds in place of Dvoretzky-Kiefer-Wolfowitz).

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.confidence import CDFCertificate, ScoreHistogram
    >>> h = ScoreHistogram()
    >>> h.add(np.linspace(0.7, 1.0, 10_000))
    >>> certificate = CDFCertificate.from_histogram(h, 0.001)
    >>> print(f"{certificate.lower_mean(0.1, sigma=0.25):.4f}")
    0.8013
    >>> print(f"{certificate.radius(0.25):.4f}")
    0.6268
    """

    thresholds: Array
    scores: Array

    def __post_init__(self) -> None:
        t = as_floats(
            "thresholds", self.thresholds, 0.0, 1.0, closed="right", nan=False
        )
        if not (t.ndim == 1 and t.size > 0 and np.all(np.diff(t) > 0)):
            raise ValueError(
                "thresholds must be one-dimensional and increasing; got others"
            )
        z = as_floats("scores", self.scores, closed="left", nan=False)
        if z.shape != t.shape:
            raise ValueError(f"scores must have shape {t.shape}; got {z.shape}")
        object.__setattr__(self, "thresholds", t)
        object.__setattr__(self, "scores", z)

    @classmethod
    def from_histogram(
        cls, histogram: ScoreHistogram, alpha: Any, thresholds: Any = None
    ) -> CDFCertificate:
        """Clopper-Pearson at each threshold, at level alpha/k each (a union bound).

        Parameters
        ----------
        histogram : ScoreHistogram
            At least one score, independent and identically distributed.
        alpha : float
            Probability of error of all bounds together, in (0, 1).
        thresholds : array_like, shape (k,), optional
            Edges of the histogram, increasing, in (0, 1], chosen without its counts; by
            default the multiples of 1/64 up to 1.
        """
        t = np.arange(1, 65) / 64.0 if thresholds is None else np.atleast_1d(thresholds)
        if not t.size:
            raise ValueError("thresholds must hold at least one; got none")
        alpha = as_floats("alpha", alpha, 0.0, 1.0, closed="neither", nan=False)
        z = lower_bound(histogram.at_least(t), histogram.n, alpha / t.size, scores=True)
        return cls(t, z)

    def lower_mean(self, distance: Any, sigma: Any) -> Any:
        """Lower bound on the mean score at any input within ``distance`` (l2), rounded
        down.

        ``distance`` >= 0 and ``sigma`` > 0, in the units of the input, arrays that
        broadcast; ValueError otherwise. Within 1e-11 of the exact value (relative); 0
        at an infinite distance.
        """
        distance = as_floats("distance", distance, 0.0)
        sigma = as_floats("sigma", sigma, 0.0, closed="right")
        distance, sigma = broadcast(distance=distance, sigma=sigma)
        # within an infinite distance nothing is certified, whatever the noise
        shift = np.divide(distance, sigma, where=distance < np.inf, out=distance.copy())
        with np.errstate(invalid="ignore"):
            return self._mean(round_up(shift, EPS))[()]

    def radius(self, sigma: Any, level: Any = 0.5) -> Any:
        """Largest distance within which the mean is certified > ``level``, rounded
        down.

        ``sigma`` > 0 and finite and ``level`` in (0, 1), arrays that broadcast;
        ValueError otherwise. 0 where the bound at the input itself does not exceed the
        level.
        """
        sigma = as_floats("sigma", sigma, 0.0, closed="neither")
        level = as_floats("level", level, 0.0, 1.0, closed="neither")
        sigma, level = broadcast(sigma=sigma, level=level)

        def accepted(shift: Array) -> NDArray[np.bool_]:
            return np.asarray(self._mean(shift) > level)

        reach = np.full(sigma.shape, 40.0 + max(self.scores.max(), 0.0))
        shift = bisect(np.zeros(sigma.shape), reach, accepted)
        with np.errstate(invalid="ignore"):
            result = round_down(product(sigma, shift), EPS)
        return np.where(np.isnan(sigma) | np.isnan(level), np.nan, result)[()]

    def _mean(self, shift: Array) -> Array:
        z = self.scores - np.asarray(shift)[..., None]
        weights = np.diff(self.thresholds, prepend=0.0)
        # a logarithm within 2e-15 of itself, and at most 745 in size
        return round_down(np.exp(kernels.log_ndtr(round_down(z, EPS))) @ weights, 2e-12)
