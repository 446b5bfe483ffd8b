"""Anytime-valid tests and bounds by betting: look at the counts as often as you like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special as sc

from rsbounds._numerics.checks import Array, as_floats
from rsbounds._numerics.rounding import EPS, round_down, round_up
from rsbounds._numerics.search import bisect
from rsbounds.confidence.counts import End, arguments, both, clopper_pearson, score


@dataclass(frozen=True)
class SequentialTest:
    """Anytime-valid test of "the radius is at least ``radius``" from hits so far.

    A gambler who starts with 1 bets on hits at the odds that are fair when p = p0 =
    Phi(radius/sigma), with a Krichevsky-Trofimov mixture of strategies restricted to
    p > p0. For every p <= p0 the wealth is a non-negative supermartingale, so it ever
    reaches 1/alpha with probability at most alpha (Ville): stop at any time, for any
    reason. Wealth depends on the counts (hits, trials) alone; shards and batches merge by
    adding their counts.

    Attributes
    ----------
    radius : float
        Target radius, >= 0 and finite.
    sigma : float
        Standard deviation of the noise, > 0 and finite.
    alpha : float
        Probability of error, in (0, 1/2].

    Raises
    ------
    ValueError
        If an argument is outside its domain.

    References
    ----------
    J. Ville, Etude critique de la notion de collectif (1939). R. Krichevsky and
    V. Trofimov, The performance of universal encoding, IEEE Trans. IT 27 (1981).

    Examples
    --------
    >>> from rsbounds.confidence import SequentialTest
    >>> test = SequentialTest(radius=0.25, sigma=0.25, alpha=0.001)
    >>> bool(test.proves(hits=95, trials=100)), bool(test.proves(hits=190, trials=200))
    (False, True)
    """

    radius: float
    sigma: float
    alpha: float

    def __post_init__(self) -> None:
        limit = np.finfo(np.float64).max
        for name, low, high, closed in (
            ("radius", 0.0, limit, "both"),
            ("sigma", 0.0, limit, "right"),
            ("alpha", 0.0, 0.5, "right"),
        ):
            value = as_floats(name, getattr(self, name), low, high, closed=closed, nan=False)
            if value.ndim:
                raise ValueError(f"{name} must be a single number; got shape {value.shape}")

    def log_wealth(self, hits: Any, trials: Any) -> Any:
        """Log of the wealth after ``hits`` successes in ``trials`` >= 1, arrays that broadcast.

        Within 1e-12 of its largest term; -inf (the wealth being below 1) where hits/trials
        is so far below p0 that P(Beta > p0) underflows. ValueError for other counts.
        """
        hits, trials, _ = arguments(hits, trials, self.alpha, "hits", "trials")
        return _log_wealth(hits, trials, self._null())[0][()]

    def proves(self, hits: Any, trials: Any) -> Any:
        """Whether the wealth, less its error, has reached 1/alpha: the radius is certified.

        ``hits`` and ``trials`` as for `log_wealth`; one bool for each pair of counts.
        """
        hits, trials, _ = arguments(hits, trials, self.alpha, "hits", "trials")
        wealth, error = _log_wealth(hits, trials, self._null())
        return (wealth - error >= -np.log(self.alpha))[()]

    def _null(self) -> Array:
        return round_up(np.asarray(self.radius / self.sigma), 2.0 * EPS)


def anytime_lower_bound(hits: Any, trials: Any, alpha: Any, *, scores: bool = False) -> Any:
    """Lower bound on a success probability that holds at all sample sizes at once.

    The largest p0 such that the test of `SequentialTest` rejects p <= p0. With probability
    at least 1 - alpha it is below the truth after every trial, so sampling may stop when
    it is good enough, for instance within eps of `anytime_upper_bound` (for an interval give
    alpha/2 to each). References as for `SequentialTest`.

    Parameters
    ----------
    hits : array_like of int
        Number of successes so far, 0 <= hits <= trials.
    trials : array_like of int
        Number of trials so far, 1 <= trials <= 1e12.
    alpha : array_like of float
        Probability of error, in (0, 1/2].
    scores : bool
        Return the normal score, which keeps full precision near p = 1.

    Returns
    -------
    float or ndarray
        At most the exact bound, its score within 1e-9 of the exact one up to 1e7 trials;
        0 (score -inf) for no hits.

    Raises
    ------
    ValueError
        If an argument is outside its domain or the shapes do not broadcast.

    Notes
    -----
    The p0 that are rejected form an interval from 0: d log W/dp0 = -(H - T p0)/(p0 q0) +
    h (1 - 1/W), where h, the hazard of the Beta(1/2, 1/2) law, has p0 q0 h <= 1/2; so W
    decreases wherever W > 1 and H - T p0 >= 1/2, and W < 2 where H - T p0 < 1/2.

    Examples
    --------
    >>> from rsbounds.confidence import anytime_lower_bound
    >>> print(f"{anytime_lower_bound(990, 1000, 0.001):.6f}")
    0.971248
    """
    anytime_level(alpha)
    result = anytime_end(*arguments(hits, trials, alpha, "hits", "trials"))
    return (result.z if scores else result.p)[()]


def anytime_upper_bound(hits: Any, trials: Any, alpha: Any, *, scores: bool = False) -> Any:
    """Upper bound on a success probability that holds at all sample sizes at once.

    It is 1 minus the `anytime_lower_bound` of the misses, rounded up; parameters, accuracy
    and errors as there.

    Examples
    --------
    >>> from rsbounds.confidence import anytime_upper_bound
    >>> print(f"{anytime_upper_bound(10, 1000, 0.001):.6f}")
    0.028752
    """
    anytime_level(alpha)
    hits, trials, alpha = arguments(hits, trials, alpha, "hits", "trials")
    result = anytime_end(trials - hits, trials, alpha)
    return (-result.z if scores else result.q)[()]


def anytime_level(alpha: Any) -> None:
    """ValueError where alpha is above 1/2: the p0 that are rejected might be no interval."""
    as_floats("alpha", alpha, 0.0, 0.5, closed="right", nan=False)


def anytime_end(hits: NDArray[Any], trials: NDArray[Any], alpha: Array) -> End:
    """The anytime lower bound in all its forms, solved once."""
    z = _bound(hits, trials, alpha)
    # SciPy's ndtr is within 2e-13
    in_p = z < 0.0
    x = np.where(in_p, round_down(sc.ndtr(z), 4e-13), round_up(sc.ndtr(-z), 4e-13))
    return End(z, *both(x, in_p))


def _bound(hits: NDArray[Any], trials: NDArray[Any], alpha: Array) -> Array:
    """Normal score of the anytime lower bound, rounded down."""
    z = np.full(hits.shape, -np.inf)
    some = hits > 0
    h, t, goal = hits[some], trials[some], -np.log(alpha[some])

    def accepted(z0: Array) -> NDArray[np.bool_]:
        wealth, error = _log_wealth(h, t, z0)
        return np.asarray(wealth - error >= goal)

    high = score(*clopper_pearson(h, t, alpha[some]))
    step = np.ones(h.shape)
    low = high - step
    while True:
        good = accepted(low) | (low < -38.0)
        if good.all():
            break
        step = np.where(good, step, 2.0 * step)
        low = high - step
    z[some] = np.where(low < -38.0, -np.inf, bisect(low, high, accepted))
    return z


def _log_wealth(hits: Any, trials: Any, z0: Array) -> tuple[Array, Array]:
    """Log wealth against p0 = Phi(z0), and its error bound."""
    misses = trials - hits
    a, b = hits + 0.5, misses + 0.5
    q0 = sc.ndtr(-z0)
    # near 0 the logarithm of p0 keeps its digits only as log1p(-q0)
    hit_term = hits * np.where(z0 > 0.0, np.log1p(-np.minimum(q0, 0.5)), sc.log_ndtr(z0))
    miss_term = misses * sc.log_ndtr(-z0)
    beta_term = _log_beta(a, b)
    with np.errstate(divide="ignore"):
        one_sided = _log_above(a, b, z0, q0) - _log_above(0.5, 0.5, z0, q0)
    wealth = beta_term - np.log(np.pi) - hit_term - miss_term + one_sided
    error = 1e-12 * (1.0 + np.abs(beta_term) + np.abs(hit_term) + np.abs(miss_term))
    return np.asarray(wealth), np.asarray(error)


def _log_above(a: Any, b: Any, z0: Array, q0: Array) -> Array:
    """log P(Beta(a, b) > Phi(z0)); from the smaller of p0 and q0, the other has no digits left."""
    p0 = sc.ndtr(z0)
    return np.asarray(np.log(np.where(z0 < 0.0, sc.betaincc(a, b, p0), sc.betainc(b, a, q0))))


def _log_beta(a: Array, b: Array) -> Array:
    """log B(a, b) for a, b >= 1/2, within 1e-13 (1 + its size) of it.

    By Stirling's series, whose large parts cancel in closed form; SciPy's betaln subtracts
    logarithms of gamma functions, which are larger by far.
    """
    p, q = np.minimum(a, b), np.maximum(a, b)
    x = p / (p + q)
    large = np.maximum(q, 10.0)
    rest = _stirling(large) - _stirling(p + large)
    both_large = (
        0.5 * np.log(2.0 * np.pi / large)
        + (_stirling(np.maximum(p, 10.0)) + rest)
        + (p - 0.5) * np.log(x)
        + q * np.log1p(-x)
    )
    one_large = sc.gammaln(p) + rest + p - p * np.log(p + q) + (q - 0.5) * np.log1p(-x)
    return np.select([p >= 10.0, q >= 10.0], [both_large, one_large], sc.betaln(a, b))


def _stirling(x: Array) -> Array:
    """log Gamma(x) - (x - 1/2) log x + x - log(2 pi)/2 for x >= 10, to 1e-15."""
    y = 1.0 / (x * x)
    series = 1 / 1188 - y * (691 / 360360)
    for term in (-1 / 1680, 1 / 1260, -1 / 360, 1 / 12):
        series = term + y * series
    return series / x
