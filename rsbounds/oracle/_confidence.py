"""Clopper-Pearson bounds from exact binomial tails, in the small complement."""

from __future__ import annotations

from mpmath import mp

from rsbounds.oracle._normal import GUARD, Mpf, Real, exact, log_complement, ndtri_exp


def lower_complement(count: int, n: int, alpha: Real, *, dps: int = 30) -> Mpf:
    """1 - p for the lower bound p: P(Binomial(n, p) >= count) = alpha."""
    with mp.workdps(dps + GUARD):
        log_q, _ = _log_bound(count, n, exact(alpha), dps)
        value = mp.exp(log_q)
    with mp.workdps(dps):
        return +value


def lower_score(count: int, n: int, alpha: Real, *, dps: int = 30) -> Mpf:
    """The normal score of the lower bound."""
    with mp.workdps(dps + GUARD):
        log_q, log_p = _log_bound(count, n, exact(alpha), dps + 5)
        if log_q < log_p:
            return -ndtri_exp(log_q, dps=dps)
        return ndtri_exp(log_p, dps=dps)


def upper_bound(count: int, n: int, alpha: Real, *, dps: int = 30) -> Mpf:
    """The upper bound p: P(Binomial(n, p) <= count) = alpha."""
    return lower_complement(n - count, n, alpha, dps=dps)


def upper_score(count: int, n: int, alpha: Real, *, dps: int = 30) -> Mpf:
    """The normal score of the upper bound."""
    with mp.workdps(dps):
        return -lower_score(n - count, n, alpha, dps=dps)


def _log_bound(count: int, n: int, alpha: Mpf, dps: int) -> tuple[Mpf, Mpf]:
    """log(1 - p) and log p for the lower bound p."""
    if not (0 <= count <= n and 0 < alpha < 1):
        raise ValueError(f"need 0 <= count <= n and 0 < alpha < 1; got {count}, {n}, {alpha}")
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
            excess, slope = _log_tail(count, n, log_odds)
            step = (mp.log(alpha) - excess) / slope
        log_odds += step
        if abs(step) < mp.mpf(10) ** (-digits // 2):
            if settled:
                return -mp.log1p(mp.exp(log_odds)), -mp.log1p(mp.exp(-log_odds))
            digits = min(2 * digits, dps + 10)
            settled = digits == dps + 10
    raise ArithmeticError(f"no convergence at {count}, {n}, {alpha}")


def _log_tail(count: int, n: int, log_odds: Mpf) -> tuple[Mpf, Mpf]:
    """log P(Binomial(n, p) >= count) and its derivative in the log odds of p."""
    odds = mp.exp(log_odds)
    total = tail_sum(count, n, odds, mp.prec)
    log_choose = mp.loggamma(n + 1) - mp.loggamma(count + 1) - mp.loggamma(n - count + 1)
    log_first = log_choose + count * log_odds - n * mp.log1p(odds)
    return log_first + mp.log(total), count / (1 + odds) / total


def tail_sum(count: int, n: int, odds: Mpf, bits: int) -> Mpf:
    """P(Binomial(n, p) >= count) over P(Binomial(n, p) = count), for p/(1 - p) = odds.

    One sum of terms of one sign, in whole numbers of fixed point, until a term is below
    2^-bits of it.
    """
    point = int(mp.prec) + max(0, int(-mp.log(odds, 2))) + n.bit_length()
    scaled = int(mp.floor(odds * mp.mpf(2) ** point))
    one = 1 << point
    term = total = one
    for j in range(count, n):
        term = (term * scaled >> point) * (n - j) // (j + 1)
        total += term
        if term << bits < total and scaled * (n - j) < (j + 1) << point:
            break
    return mp.mpf(total) / one
