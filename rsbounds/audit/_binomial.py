"""Binomial tails and the incomplete beta function in ball arithmetic (python-flint's Arb)."""

from __future__ import annotations

from typing import Any

Arb = Any  # flint.arb: python-flint is loaded only where something is proved

PRECISION = 192
_BITS = 64  # of a sum, relative to its first term


def normal(z: Arb) -> Arb:
    """Phi(z)."""
    from flint import arb

    return (-z / arb(2).sqrt()).erfc() / 2


def tail(count: int, n: int, p: Arb, q: Arb) -> Arb:
    """P(Bin(n, p) >= count) for q = 1 - p."""
    from flint import arb

    if not (p > 0 and q > 0):
        return arb(1 if q <= 0 or not count else 0) if p <= 0 or q <= 0 else arb(0.5, 0.5)
    if not count:
        return arb(1)
    if (n + 1) * p < count + 1:
        return beta(2 * count, 2 * (n - count + 1), p, q)
    return 1 - beta(2 * (n - count + 1), 2 * count, q, p)  # fewer terms, none above the first


def beta(a: int, b: int, x: Arb, y: Arb) -> Arb:
    """The regularized incomplete beta function I_x(a/2, b/2) for 0 < x = 1 - y < 1.

    I_x(a, b) = T + I_x(a + 1, b - 1) with T = x^a y^(b-1)/(a B(a, b)), again and again: positive
    terms whose ratios fall, summed as whole numbers in fixed point. (Arb's own function takes
    seconds at some points, such as I_.68(441, 3).)
    """
    from flint import arb

    odds = x / y
    scaled, exponent = (int(part) for part in odds.mid().man_exp())
    scaled, shift = scaled << max(exponent, 0), max(-exponent, 0)
    term = 1 << PRECISION  # of the first one
    total, rest, up, down = 0, 0, a + 2, b - 2
    while down >= 0:
        total += term
        following = (term * scaled * down // up) >> shift
        if following << _BITS < total:
            rest = following * term // (term - following) + 1  # as of a geometric series
            break
        term, up, down = following, up + 2, down - 2
    steps = (up - a) // 2
    slack = steps**2 * (1 + (total >> PRECISION))  # each term is rounded down once
    radius = (odds.rad() / odds.mid()).upper()
    sums = arb(total).union(arb(total + rest + slack)) * (1 + arb(0, 1) * radius) ** steps
    first, second = arb(a) / 2, arb(b) / 2
    logs = (first + second).lgamma() - (first + 1).lgamma() - second.lgamma()
    largest = (first * x.log() + (second - 1) * y.log() + logs).exp()
    return sums / (1 << PRECISION) * largest + (_half(up - 2, x, y) if down == -1 else 0)


def _half(a: int, x: Arb, y: Arb) -> Arb:
    """I_x(a/2, 1/2) for odd a, from that of a = 1 and a/2 steps: of use for small a alone."""
    from flint import arb

    total, term = 2 * (x / y).sqrt().atan() / arb.pi(), 2 * (x * y).sqrt() / arb.pi()
    for i in range(1, a, 2):
        total -= term
        term *= x * (i + 1) / (i + 2)
    return total
