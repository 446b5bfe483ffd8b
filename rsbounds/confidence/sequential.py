"""Anytime-valid tests and bounds by betting: look at the counts at any time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import Array, flag, number, operand
from rsbounds._numerics.rounding import EPS, round_down, round_up
from rsbounds._numerics.scores import LOG_NDTR_ERROR
from rsbounds._numerics.threads import apply
from rsbounds.confidence.bound import Bound, End
from rsbounds.confidence.counts import arguments, score, signed
from rsbounds_ext import kernels

MOST_ALPHA = 0.5  # beyond it the p0 that are rejected might be no interval


@dataclass(frozen=True)
class SequentialTest:
    """Anytime-valid test of "the radius is at least ``radius``" from hits so far.

    A gambler who starts with 1 bets on hits at the odds that are fair when p = p0 =
    Phi(radius/sigma), with a Krichevsky-Trofimov mixture of strategies restricted to p
    > p0. For every p <= p0 the wealth is a non-negative supermartingale, so it ever
    reaches 1/alpha with probability at most alpha (Ville): stop at any time, for any
    reason. Wealth depends on the counts (hits, trials) alone; shards and batches merge
    by adding their counts.

    Attributes
    ----------
    radius : float
        Target radius, >= 0 and finite.
    sigma : float
        Standard deviation of the noise, > 0 and finite.
    alpha : float
        Probability of error, in (0, 1/2].

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
        radius = number("radius", self.radius, 0.0)
        sigma = number("sigma", self.sigma, 0.0, closed="right")
        alpha = number("alpha", self.alpha, 0.0, MOST_ALPHA, closed="right")
        # numbers of a narrower type would make the arithmetic below as narrow
        object.__setattr__(self, "radius", radius)
        object.__setattr__(self, "sigma", sigma)
        object.__setattr__(self, "alpha", alpha)

    def log_wealth(self, hits: Any, trials: Any) -> Any:
        """Log of the wealth after ``hits`` successes in ``trials`` >= 1.

        Arrays broadcast.

        Rounded down, by 5e-12 and 5e-14 of it where it is above 0 and hits and misses
        are below 1e4, by a little more than 1/trials beyond. Where hits/trials is far
        below p0 the wealth is below 1, and -inf is returned. ValueError for other
        counts.
        """
        hits, trials, _ = arguments(hits, trials, self.alpha, "hits", "trials")
        with np.errstate(all="ignore"):
            # p0 - 1, rounded up
            log_q = kernels.log_ndtr(-round_up(self.radius / self.sigma, 2.0 * EPS))
            null = -round_down(np.exp(log_q), -LOG_NDTR_ERROR * log_q + 4.0 * EPS)
            return kernels.log_wealth(hits, trials, null)[()]

    def proves(self, hits: Any, trials: Any) -> Any:
        """Return whether the wealth has reached 1/alpha and certifies the radius.

        The wealth is rounded down.

        ``hits`` and ``trials`` as for `log_wealth`; one bool for each pair of counts.
        """
        goal = round_up(-np.log(self.alpha), 2.0 * EPS)
        return (self.log_wealth(hits, trials) >= goal)[()]


def anytime_lower_bound(
    hits: Any, trials: Any, alpha: Any, *, scores: bool = False
) -> Any:
    """Lower bound on a success probability that holds at all sample sizes at once.

    The largest p0 such that the test of `SequentialTest` rejects p <= p0. With
    probability at least 1 - alpha it is below the truth after every trial, so sampling
    may stop when it is good enough, for instance within eps of `anytime_upper_bound`
    (for an interval give alpha/2 to each). References as for `SequentialTest`.

    Parameters
    ----------
    hits, trials, alpha, scores
        Successes and trials so far as count and n in `lower_bound`; alpha at most 1/2.

    Returns
    -------
    float or ndarray
        At most the exact bound, its score within 1e-9 of the exact one for alpha <=
        0.01; 0 (score -inf) for no hits.

    Examples
    --------
    >>> from rsbounds.confidence import anytime_lower_bound
    >>> print(f"{anytime_lower_bound(990, 1000, 0.001):.6f}")
    0.971248
    """
    result = anytime_end(*_arguments(hits, trials, alpha))
    return (result.z if flag("scores", scores) else result.p)[()]


def anytime_upper_bound(
    hits: Any, trials: Any, alpha: Any, *, scores: bool = False
) -> Any:
    """Upper bound on a success probability that holds at all sample sizes at once.

    It is 1 minus the `anytime_lower_bound` of the misses, rounded up; parameters,
    accuracy and errors as there.

    Examples
    --------
    >>> from rsbounds.confidence import anytime_upper_bound
    >>> print(f"{anytime_upper_bound(10, 1000, 0.001):.6f}")
    0.028752
    """
    hits, trials, alpha = _arguments(hits, trials, alpha)
    result = anytime_end(trials - hits, trials, alpha)
    return (-result.z if flag("scores", scores) else result.q)[()]


def _arguments(hits: Any, trials: Any, alpha: Any) -> tuple[Any, Any, Any]:
    """The three, checked and broadcast; alpha at most 1/2."""
    level = operand("alpha", alpha, 0.0, MOST_ALPHA, closed="right", nan=False)
    return arguments(hits, trials, level, "hits", "trials")


def anytime_end(hits: NDArray[Any], trials: NDArray[Any], alpha: Array) -> End:
    """The anytime lower bound in all its forms, solved once."""
    with np.errstate(all="ignore"):
        p, q = signed(apply(kernels.anytime_bound, hits, trials, alpha, cost=50.0))
    return End(score(p, q), p, q)


def _lower(k: Any, n: NDArray[Any], alpha: Array) -> End:
    return anytime_end(*arguments(k, n, alpha))


ANYTIME = Bound("anytime", "counts", _lower, at_any_time=True, most_alpha=MOST_ALPHA)
