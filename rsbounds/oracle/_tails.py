"""Claimed confidence bounds against the exact tails of their counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mpmath import mp

from rsbounds.oracle._confidence import log_mass, log_tail, log_wealth
from rsbounds.oracle._normal import GUARD, Mpf, Real, exact, log_ndtr, ndtri


def binomial_excess(count: int, n: int, z: Real, alpha: Real, *, dps: int = 20) -> Mpf:
    """log P(Binomial(n, Phi(z)) >= count) - log alpha: positive where z is above the bound."""
    with mp.workdps(dps + GUARD):
        z, alpha = exact(z), exact(alpha)
        if count == 0 or z == mp.inf:
            return -mp.log(alpha)  # probability 1
        if z == -mp.inf:
            return -mp.inf
        return log_tail(count, n, z, dps) - mp.log(alpha)


def bound_excess(
    bound: str, count: int, n: int, z: Real, alpha: Real, u: Real | None = None, *, dps: int = 20
) -> Mpf:
    """A number that is positive exactly where z is above the lower bound's score at level alpha.

    ``bound`` is a key of ``BOUNDS``, z the score of a claimed lower bound after ``count``
    successes in n trials, u the uniform number of a randomized bound.
    """
    with mp.workdps(dps + GUARD):
        return BOUNDS[bound](count, n, exact(z), exact(alpha), u, dps)


def bound_score(
    bound: str, count: int, n: int, alpha: Real, u: Real | None = None, *, dps: int = 20
) -> Mpf:
    """The score at which ``bound_excess`` is zero: -inf for no success."""
    if count == 0:
        return -mp.inf
    with mp.workdps(dps + GUARD):

        def above(z: Mpf, digits: int = 10) -> Mpf:
            return bound_excess(bound, count, n, z, alpha, u, dps=digits)

        low = high = ndtri((mp.mpf(count) + 0.5) / (n + 1), dps=15)
        step = mp.mpf(0.5)
        while above(high) <= 0:
            low, high, step = high, high + step, 2 * step
        while above(low) > 0:
            low, high, step = low - step, low, 2 * step
        ends = (low, high)
        tol = mp.mpf(10) ** (-2 * dps)
        return mp.findroot(lambda z: above(z, dps), ends, solver="anderson", tol=tol, verify=False)


def _clopper_pearson(count: int, n: int, z: Mpf, alpha: Mpf, u: Real | None, dps: int) -> Mpf:
    return binomial_excess(count, n, z, alpha, dps=dps)


def _randomized(count: int, n: int, z: Mpf, alpha: Mpf, u: Real | None, dps: int) -> Mpf:
    """P(X > count) + u P(X = count) against alpha; never above what n + 1 of n + 1 would give."""
    if u is None:
        raise ValueError("a randomized bound needs its number u")
    if z == -mp.inf:
        return -mp.inf
    log_p, log_q = log_ndtr(z, dps=dps + GUARD), log_ndtr(-z, dps=dps + GUARD)
    weight = exact(u) * mp.exp(log_mass(count, n, log_p, log_q))
    if count == n:
        return max(mp.log(weight), (n + 1) * log_p) - mp.log(alpha)
    above = alpha * mp.exp(binomial_excess(count + 1, n, z, alpha, dps=dps))
    return mp.log(above + weight) - mp.log(alpha)


def _anytime(count: int, n: int, z: Mpf, alpha: Mpf, u: Real | None, dps: int) -> Mpf:
    if z == -mp.inf:
        return -mp.inf
    return -mp.log(alpha) - log_wealth(count, n, z, dps=dps)


#: The evaluation of each confidence bound on counts that rows can name.
BOUNDS: Mapping[str, Callable[[int, int, Mpf, Mpf, Real | None, int], Mpf]] = {
    "clopper-pearson": _clopper_pearson,
    "randomized": _randomized,
    "anytime": _anytime,
}
