"""The noncentral chi-square as a Poisson mixture of central ones.

P(X <= x) = sum_k w_k P(mu + k, y), w_k Poisson(h), y = x/2, h = nc/2.

With g_a = y^a e^-y / Gamma(a + 1), P(a, y) = g_a + P(a + 1, y), so the lower tail is
also sum_k g_{mu+k} W_k with W_k the Poisson CDF; the upper tail is sum_k w_k Q_k with
Q(a + 1, y) = Q(a, y) + g_a. Both run upwards and add positive terms only. The terms are
log-concave in k, which bounds what is left out at either end.
"""

import math
from bisect import bisect_left
from collections.abc import Iterator

from mpmath import mp

from rsbounds.oracle._normal import Mpf

_LEAST = 5e-324


def mixture(x: Mpf, mu: Mpf, nc: Mpf) -> tuple[Mpf, Mpf, Mpf]:
    """P(X <= x), P(X > x) and the density at x, for 0 < x < inf and any nc >= 0.

    The tail beyond the mean is summed first; where it is small, the other is its
    complement.
    """
    at = x / 2, mu, nc / 2
    first, second = (_lower, _upper) if x < nc else (_upper, _lower)
    beyond = _total(first(*at))
    rest = 1 - beyond if beyond < 0.1 else _total(second(*at))
    lower, upper = (beyond, rest) if x < nc else (rest, beyond)
    return lower, upper, _total(_density(*at)) / 2


def terms(x: float, dim: float, nc: float, dps: int = 60) -> float:
    """About how many terms the longest sum takes."""
    y, mu, h = x / 2, dim / 2, nc / 2
    peak = (math.hypot(mu, math.sqrt(4 * h * y)) - mu) / 2
    if (
        abs(math.sqrt(y) - math.sqrt(h + mu)) > 3
    ):  # one tail, and all of it is about the peak
        return 30 * math.sqrt(dps * (1 + peak)) + _gamma_terms(y, mu, dps)
    ends = (h, peak, y - mu)
    return max(ends) - min(ends) + 30 * math.sqrt(dps * (1 + max(h, peak, y / 100)))


def _gamma_terms(y: float, a: float, dps: int) -> float:
    """About how many terms P(a, y) takes below the mean, as each is y/a of the last."""
    rise = max(a - y, 0.0) / max(y, _LEAST)
    return dps * math.log(10) / math.log1p(rise) if rise > 0 else 0.0


Terms = Iterator[
    tuple[Mpf, Mpf]
]  # positive terms, each with a bound on all ratios from it on


def _total(terms: Terms) -> Mpf:
    """The sum, until what is left out is negligible."""
    total = mp.zero
    for term, ratio in terms:
        total += term
        if ratio < 1 and term * ratio < mp.eps / 100 * total * (1 - ratio):
            return total
    raise AssertionError("the terms never end")


def _lower(y: Mpf, mu: Mpf, h: Mpf) -> Terms:
    k = _start(y, mu, h, upper=False)
    weight, gamma = _poisson(k, h), _poisson(mu + k, y)
    cdf = weight
    while True:
        k += 1
        weight *= h / k
        # W_{k+1}/W_k <= 1 + w_{k+1}/W_k, and the ratios of the terms decrease.
        yield gamma * cdf, y / (mu + k) * (1 + weight / cdf)
        cdf += weight
        gamma *= y / (mu + k)


def _upper(y: Mpf, mu: Mpf, h: Mpf) -> Terms:
    k = _start(y, mu, h, upper=True)
    weight, gamma, q = _poisson(k, h), _poisson(mu + k, y), gamma_q(mu + k, y)
    while True:
        k += 1
        yield weight * q, h / k * (1 + gamma / q)
        weight *= h / k
        q += gamma
        gamma *= y / (mu + k)


def _density(y: Mpf, mu: Mpf, h: Mpf) -> Terms:
    """Density at y: the sum of w_k g_{mu+k-1}."""
    k = _start(y, mu, h, upper=False)
    term = _poisson(k, h) * _poisson(mu + k, y) * (mu + k) / y
    while True:
        ratio = h * y / ((k + 1) * (mu + k))
        yield term, ratio
        term *= ratio
        k += 1


def gamma_q(a: Mpf, y: Mpf) -> Mpf:
    """Q(a, y) = Gamma(a, y)/Gamma(a): continued fraction, or 1 - P up to the mean."""
    if mp.sqrt(y) - mp.sqrt(a) > 1:
        # Legendre's fraction by the modified Lentz method.
        b = y + 1 - a
        c, d = mp.inf, 1 / b
        value = d
        for i in range(1, 100000):
            an = -i * (i - a)
            b += 2
            d = 1 / (an * d + b)
            c = b + an / c
            value *= c * d
            if abs(c * d - 1) < mp.eps:
                return value * _poisson(a, y) * a
        raise ArithmeticError("the continued fraction did not settle")
    with mp.extradps(15 - min(0, int(mp.log10(a)))):  # Q falls with a
        term = _poisson(a, y)
        total, k = mp.zero, a
        while term > mp.eps * total or k < y:
            total += term
            k += 1
            term *= y / k
        return 1 - total


def _poisson(a: Mpf, y: Mpf) -> Mpf:
    """y^a e^-y / Gamma(a + 1)."""
    if y == 0:
        return mp.one if a == 0 else mp.zero
    with mp.extradps(int(mp.log10(a + y + 10)) + 5):
        return mp.exp(a * mp.log(y) - y - mp.loggamma(a + 1))


def _start(y: Mpf, mu: Mpf, h: Mpf, *, upper: bool) -> int:
    """First term that matters: earlier ones are below 10^-(dps + 10) of the largest."""
    peak = (mp.sqrt(mu**2 + 4 * h * y) - mu) / 2
    first = int(max(peak, h) if upper else min(peak, h))
    if first == 0:
        return 0
    log_h, log_y, base = float(mp.log(h)), float(mp.log(y)), float(mu)

    def log_term(k: int) -> float:
        weight = (k - first) * log_h - math.lgamma(k + 1) + math.lgamma(first + 1)
        gamma = (
            (k - first) * log_y
            - math.lgamma(base + k + 1)
            + math.lgamma(base + first + 1)
        )
        if upper:
            return weight + (gamma if peak > h else 0.0)
        return weight + max(gamma, 0.0)

    negligible = -(mp.dps + 10) * math.log(10)
    return bisect_left(range(first), True, key=lambda k: log_term(k) >= negligible)
