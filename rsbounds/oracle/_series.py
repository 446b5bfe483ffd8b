"""The Poisson mixture: P(X <= x) = sum_k w_k P(mu + k, y), w_k Poisson(h), y = x/2, h = nc/2.

With g_a = y^a e^-y / Gamma(a + 1), P(a, y) = g_a + P(a + 1, y), so the lower tail is also
sum_k g_{mu+k} W_k with W_k the Poisson CDF; the upper tail is sum_k w_k Q_k with
Q(a + 1, y) = Q(a, y) + g_a. Both run upwards and add positive terms only. The terms are
log-concave in k, which bounds what is left out at either end.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from mpmath import mp

from rsbounds.oracle._normal import Mpf


def mixture(x: Mpf, mu: Mpf, nc: Mpf) -> tuple[Mpf, Mpf, Mpf]:
    """P(X <= x), P(X > x) and the density at x, for 0 < x < inf and any nc >= 0.

    The tail beyond the mean is summed first; where it is small, the other is its complement.
    """
    y, h = x / 2, nc / 2
    if y < h:
        lower = _lower(y, mu, h)
        upper = 1 - lower if lower < 0.1 else _upper(y, mu, h)
    else:
        upper = _upper(y, mu, h)
        lower = 1 - upper if upper < 0.1 else _lower(y, mu, h)
    return lower, upper, _density(y, mu, h)


def terms(x: float, dim: float, nc: float, dps: int = 60) -> float:
    """About how many terms the longest sum takes."""
    y, mu, h = x / 2, dim / 2, nc / 2
    peak = (math.hypot(mu, math.sqrt(4 * h * y)) - mu) / 2
    if abs(math.sqrt(y) - math.sqrt(h + mu)) > 3:  # one tail, and all of it is about the peak
        return 30 * math.sqrt(dps * (1 + peak))
    ends = (h, peak, y - mu)
    return max(ends) - min(ends) + 30 * math.sqrt(dps * (1 + max(h, peak, y / 100)))


def _lower(y: Mpf, mu: Mpf, h: Mpf) -> Mpf:
    k = _start(y, mu, h, upper=False)
    tiny = mp.eps / 100
    weight, gamma = _poisson(k, h), _poisson(mu + k, y)
    cdf = weight
    tail = mp.zero
    while True:
        term = gamma * cdf
        tail += term
        k += 1
        weight *= h / k
        # W_{k+1}/W_k <= 1 + w_{k+1}/W_k, and the ratios of the terms decrease.
        ratio = y / (mu + k) * (1 + weight / cdf)
        if ratio < 1 and term * ratio < tiny * tail * (1 - ratio):
            return tail
        cdf += weight
        gamma *= y / (mu + k)


def _density(y: Mpf, mu: Mpf, h: Mpf) -> Mpf:
    """Of X: the sum of w_k g_{mu+k-1} over k, halved."""
    k = _start(y, mu, h, upper=False)
    term = _poisson(k, h) * _poisson(mu + k, y) * (mu + k) / y
    density = mp.zero
    while True:
        density += term
        ratio = h * y / ((k + 1) * (mu + k))
        if ratio < 1 and term * ratio < mp.eps / 100 * density * (1 - ratio):
            return density / 2
        term *= ratio
        k += 1


def _upper(y: Mpf, mu: Mpf, h: Mpf) -> Mpf:
    k = _start(y, mu, h, upper=True)
    tiny = mp.eps / 100
    weight, gamma = _poisson(k, h), _poisson(mu + k, y)
    q = gamma_q(mu + k, y)
    tail = mp.zero
    while True:
        term = weight * q
        tail += term
        k += 1
        ratio = h / k * (1 + gamma / q)
        if ratio < 1 and term * ratio < tiny * tail * (1 - ratio):
            return tail
        weight *= h / k
        q += gamma
        gamma *= y / (mu + k)


def gamma_q(a: Mpf, y: Mpf) -> Mpf:
    """Q(a, y) = Gamma(a, y)/Gamma(a): continued fraction, or 1 - P near and below the mean."""
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
    """The first term that matters: those before it are below 10^-(dps + 10) of the largest."""
    peak = (mp.sqrt(mu**2 + 4 * h * y) - mu) / 2
    first = int(max(peak, h) if upper else min(peak, h))
    if first == 0:
        return 0
    log_h, log_y, base = float(mp.log(h)), float(mp.log(y)), float(mu)

    def log_term(k: int) -> float:
        weight = (k - first) * log_h - math.lgamma(k + 1) + math.lgamma(first + 1)
        gamma = (k - first) * log_y - math.lgamma(base + k + 1) + math.lgamma(base + first + 1)
        if upper:
            return weight + (gamma if peak > h else 0.0)
        return weight + max(gamma, 0.0)

    return _last(0, first, lambda k: log_term(k) < -(mp.dps + 10) * math.log(10))


def _last(low: int, high: int, small: Callable[[int], bool]) -> int:
    """The largest k in [low, high] that is small (or low), small being true first."""
    while high - low > 1:
        middle = (low + high) // 2
        if small(middle):
            low = middle
        else:
            high = middle
    return low
