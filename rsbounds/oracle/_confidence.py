"""Bounds on probabilities from counts: binomial tails, and the wealth of a bet."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from mpmath import mp

from rsbounds.oracle._entry import checked, exact
from rsbounds.oracle._normal import (
    GUARD,
    Mpf,
    Real,
    log_complement,
    ndtr,
    ndtri_exp,
    rounded,
    whole,
)


@checked
def lower_complement(count: int, n: int, alpha: Real, *, dps: int = 30) -> Mpf:
    """Return 1 - p for the Clopper-Pearson bound p.

    P(Binomial(n, p) >= count) = alpha. Arguments as of
    :func:`rsbounds.confidence.lower_bound`.
    """
    with mp.workdps(dps + GUARD):
        log_q, _ = _log_bound(whole("count", count), whole("n", n), exact(alpha), dps)
        value = mp.exp(log_q)
    return rounded(value, dps)


@checked
def lower_score(count: int, n: int, alpha: Real, *, dps: int = 30) -> Mpf:
    """The normal score of the lower bound.

    Arguments as of :func:`rsbounds.confidence.lower_bound`.
    """
    with mp.workdps(dps + GUARD):
        count, n = whole("count", count), whole("n", n)
        log_q, log_p = _log_bound(count, n, exact(alpha), dps + 5)
        if log_q < log_p:
            return -ndtri_exp(log_q, dps=dps)
        return ndtri_exp(log_p, dps=dps)


@checked
def upper_bound(count: int, n: int, alpha: Real, *, dps: int = 30) -> Mpf:
    """The upper bound p: P(Binomial(n, p) <= count) = alpha.

    Arguments as of :func:`rsbounds.confidence.upper_bound`.
    """
    return lower_complement(_others(count, n), n, alpha, dps=dps)


@checked
def upper_score(count: int, n: int, alpha: Real, *, dps: int = 30) -> Mpf:
    """The normal score of the upper bound.

    Arguments as of :func:`rsbounds.confidence.upper_bound`.
    """
    with mp.workdps(dps):
        return -lower_score(_others(count, n), n, alpha, dps=dps)


@checked
def pair_scores(
    count_a: int, count_b: int, n: int, alpha: Real, *, dps: int = 30
) -> tuple[Mpf, Mpf]:
    """Scores of A's lower and B's upper bound, at alpha/2 each, B's capped.

    Arguments as of :func:`rsbounds.confidence.pair_bounds`.
    """
    with mp.workdps(dps + GUARD):
        half = exact(alpha) / 2
    z_a = lower_score(count_a, n, half, dps=dps)
    return z_a, min(upper_score(count_b, n, half, dps=dps), -z_a)


def _others(count: int, n: int) -> int:
    """Return n - count, which a narrow type could not hold."""
    return whole("n", n) - whole("count", count)


def _log_bound(count: int, n: int, alpha: Mpf, dps: int) -> tuple[Mpf, Mpf]:
    """log(1 - p) and log p for the lower bound p."""
    if not (0 <= count <= n and 0 < alpha < 1):
        raise ValueError(
            f"need 0 <= count <= n and 0 < alpha < 1; got {count}, {n}, {alpha}"
        )
    if count == 0:
        return mp.zero, -mp.inf
    if count == n:
        log_p = mp.log(alpha) / n
        return log_complement(log_p), log_p
    # The log tail is increasing and concave in the log odds: Newton comes from below.
    log_odds = mp.log(mp.mpf(count) / (n - count))
    digits, settled = 15, False
    for _ in range(100):
        with mp.workdps(digits + GUARD):
            odds = mp.exp(log_odds)
            total = _tail_over_first(count, n, odds, mp.prec)
            log_first = log_mass(count, n, -mp.log1p(1 / odds), -mp.log1p(odds))
            slope = count / (1 + odds) / total
            step = (mp.log(alpha) - log_first - mp.log(total)) / slope
        log_odds += step
        if abs(step) < mp.mpf(10) ** (-digits // 2):
            if settled:
                return -mp.log1p(mp.exp(log_odds)), -mp.log1p(mp.exp(-log_odds))
            digits = min(2 * digits, dps + 10)
            settled = digits == dps + 10
    raise ArithmeticError(f"no convergence at {count}, {n}, {alpha}")


def log_mass(count: int, n: int, log_p: Mpf, log_q: Mpf) -> Mpf:
    """Logarithm of P(Binomial(n, p) = count)."""
    log_choose = (
        mp.loggamma(n + 1) - mp.loggamma(count + 1) - mp.loggamma(n - count + 1)
    )
    return log_choose + count * log_p + (n - count) * log_q


def log_tail(count: int, n: int, z: Mpf, dps: int) -> Mpf:
    """Logarithm of P(Binomial(n, Phi(z)) >= count), count > 0."""
    p, q = ndtr(z, dps=dps + GUARD), ndtr(-z, dps=dps + GUARD)
    total = _tail_over_first(count, n, p / q, 3 * dps + 10)
    return log_mass(count, n, mp.log(p), mp.log(q)) + mp.log(total)


def _tail_over_first(count: int, n: int, odds: Mpf, bits: int) -> Mpf:
    """P(Binomial(n, p) >= count) over P(Binomial(n, p) = count), for p/(1 - p) = odds.

    One sum of terms of one sign, in fixed-point integers, until a term is below 2^-bits
    of it.
    """
    point = int(mp.prec) + max(0, int(-mp.log(odds, 2))) + n.bit_length()
    scaled = int(mp.floor(odds * mp.mpf(2) ** point))
    term = total = 1 << point
    for j in range(count, n):
        term = (term * scaled >> point) * (n - j) // (j + 1)
        total += term
        if term << bits < total and scaled * (n - j) < (j + 1) << point:
            break
    return mp.ldexp(total, -point)


@checked
def log_wealth(hits: int, trials: int, z0: Real, *, dps: int = 30) -> Mpf:
    """Log wealth of the Krichevsky-Trofimov bet against p <= p0 = Phi(z0).

    The likelihood ratio against p0, averaged over the Beta(1/2, 1/2) law restricted to
    p > p0: numerator and normalisation are integrals from p0 to 1. ``hits`` of
    ``trials`` succeeded; ``z0`` is the score of p0.
    """
    with mp.workdps(dps + GUARD):
        p0, q0 = ndtr(z0, dps=dps + GUARD), ndtr(-exact(z0), dps=dps + GUARD)
        hits, trials = whole("hits", hits), whole("trials", trials)
        half, misses = mp.mpf(0.5), trials - hits
        value = (
            mp.log(_beta_below(misses + half, hits + half, q0, p0))
            - mp.log(_beta_below(half, half, q0, p0))
            - hits * mp.log(p0)
            - misses * mp.log(q0)
        )
    return rounded(value, dps)


def _beta_below(a: Mpf, b: Mpf, x: Mpf, y: Mpf) -> Mpf:
    """The incomplete beta function from 0 to x = 1 - y: a series of positive terms."""
    if x > a / (a + b):  # the terms would grow first, and the rest is the smaller part
        return mp.beta(a, b) - _beta_below(b, a, y, x)
    term = total = mp.one
    j = 0
    while term > mp.eps * total * y:
        term *= (a + b + j) / (a + 1 + j) * x
        total += term
        j += 1
    return x**a * y**b / a * total


@checked
def bound_excess(
    bound: str,
    count: int,
    n: int,
    z: Real,
    alpha: Real,
    *,
    dps: int = 20,
) -> Mpf:
    """Number that is positive exactly where z is above the lower bound's score.

    The bound has level alpha.

    ``bound`` is a key of ``BOUNDS``, z the score of a claimed lower bound after
    ``count`` successes in n trials.
    """
    if bound not in BOUNDS:
        raise ValueError(f"bound must be one of {', '.join(BOUNDS)}; got {bound!r}")
    with mp.workdps(dps + GUARD):
        count, n = whole("count", count), whole("n", n)
        return BOUNDS[bound](count, n, exact(z), exact(alpha), dps)


def _clopper_pearson(count: int, n: int, z: Mpf, alpha: Mpf, dps: int) -> Mpf:
    if count == 0 or z == mp.inf:
        return -mp.log(alpha)  # probability 1
    if z == -mp.inf:
        return -mp.inf
    return log_tail(count, n, z, dps) - mp.log(alpha)


def _anytime(count: int, n: int, z: Mpf, alpha: Mpf, dps: int) -> Mpf:
    if z == -mp.inf:
        return -mp.inf
    return -mp.log(alpha) - log_wealth(count, n, z, dps=dps)


#: The evaluation of each confidence bound on counts that rows can name.
BOUNDS: Mapping[str, Callable[[int, int, Mpf, Mpf, int], Mpf]] = {
    "clopper-pearson": _clopper_pearson,
    "anytime": _anytime,
}
