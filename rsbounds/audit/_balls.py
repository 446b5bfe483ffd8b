r"""Enclosures of off-centre ball probabilities in ball arithmetic (python-flint's Arb).

P(|Z - s e1| <= s + u), Z ~ N(0, I_dim), is 1/(2 pi i) times the integral of e^K(tau) /
(tau - 1) upward along Re tau = c > 1; for 0 < c < 1 that integral is the probability
less 1. With x = (s + u)^2, nc = s^2 and mu = dim/2, K(tau) = (x (tau - 1) - nc (tau -
1)/tau)/2 - mu log tau. On tau = c (1 + i q), with beta = nc/(2c) and w = (c - 1)/c, the
integral is

    e^K(c)/pi int_0^inf E(q) (w cos T + q sin T)/(w^2 + q^2) dq,
    E = exp(-mu/2 log(1 + q^2) - beta q^2/(1 + q^2)),
    T = (c x/2 - beta - mu) q + mu (q - atan q) + beta q^3/(1 + q^2).

By Poisson's summation formula the midpoint rule of step h errs by tails of the same
law, at x + d j and x - d j for d = 4 pi/(c h) and j = 1, 2, ... With Chernoff's bound
at an abscissa c' on their side of c, each series is at most e^K(c') r/(1 - r), r =
e^(-2 pi |c' - c|/(c h)). Where the pole at 1 lies between c and c' the error contains
1/(1 + e^(2 pi |w|/h)) besides, which is added.
"""

from __future__ import annotations

import importlib
import math
from contextlib import suppress
from typing import Any, NamedTuple

flint: Any = None
with suppress(
    ImportError
):  # it is needed where something is proved, and `verify` says so
    flint = importlib.import_module("flint")
arb: Any = getattr(flint, "arb", None)
acb: Any = getattr(flint, "acb", None)
ctx: Any = getattr(flint, "ctx", None)
Arb = Any

_DIGITS = (
    44.0  # natural logarithm of the accuracy aimed at, relative to the smaller tail
)
# of a mixture: more are needed for tails below e^-1500 alone, which no score is
_MOST_TERMS = 1500
_FEW = 80.0  # up to this mu + beta E falls slowly, and Poisson's mixture has few terms


class Event(NamedTuple):
    """The probability of an event and that of its complement, as balls."""

    p: Arb
    q: Arb

    def complement(self) -> Event:
        return Event(self.q, self.p)


def event(z: Arb) -> Event:
    """An event of probability Phi(z)."""
    scaled = z / (z * 0 + 2).sqrt()
    return Event((-scaled).erfc() / 2, scaled.erfc() / 2)


def bits(s: Arb) -> int:
    """Choose the working precision for a centre at distance s.

    x - nc has more digits then than are asked for.
    """
    return 160 + 3 * max(0, math.frexp(float(s))[1])


def ball(u: Arb, dim: Arb, s: Arb) -> Event:
    """The event |Z - s e1| <= s + u, the less likely side to 18 digits of its own."""
    if not s + u > 0:
        return Event(arb.nan(), arb.nan())
    x, nc, mu = (s + u) ** 2, s**2, dim / 2
    c = (
        (mu + (mu**2 + nc * x).sqrt()) / x
    ).mid()  # the saddle point; any c > 0 is right
    lower = bool(c > 1)
    if mu + nc / (2 * c) > _FEW:
        p = _integral(x, nc, mu, c, lower)
    else:
        p = _mixture(x / 2, nc / 2, mu, lower)
    return Event(p, 1 - p) if lower else Event(1 - p, p)


def _integral(x: Arb, nc: Arb, mu: Arb, c: Arb, lower: bool) -> Arb:
    """The lower tail or, where c <= 1, the upper one."""
    beta, w = nc / (2 * c), (c - 1) / c
    slope = c * x / 2 - beta - mu
    wide = math.sqrt(2 * _DIGITS / float(mu + 2 * beta))
    reach = wide / (1 + wide / 2)  # how far to the left c' is, over c
    growth = float(beta) * reach**2 / (1 - reach) - float(mu) * (
        math.log1p(-reach) + reach
    )
    h = arb(2 * math.pi * reach / (_DIGITS + growth))

    def height(q: Arb) -> Arb:
        return (-mu / 2 * (1 + q * q).log() - beta * q * q / (1 + q * q)).exp()

    total, q, least = arb(0), h / 2, float(h) * math.exp(-_DIGITS)
    while (size := height(q)) > least and q < 2:
        square = q * q
        sin, cos = (
            slope * q + mu * (q - q.atan()) + beta * q * square / (1 + square)
        ).sin_cos()
        total += size * (w * cos + q * sin) / (w * w + square)
        q += h
    # all nodes left: up to 2 none is higher than this one, beyond E falls as a power of
    # q
    rest = size / q * (2 / h + 1) + height(arb(2)) * (
        1 + (arb(5) / 4) ** (mu / 2) / (h * mu)
    )
    total = (total + _about(rest)) * h / arb.pi() * _exponential(c, x, nc, mu)
    p = total if lower else -total
    for other in ((c - c * reach).mid(), (c + c * wide).mid()):
        ratio = (-2 * arb.pi() * abs(other - c) / (c * h)).exp()
        p += _about(_exponential(other, x, nc, mu) * ratio / (1 - ratio))
        if other <= 1 if lower else other >= 1:
            p += 1 / (1 + (2 * arb.pi() * abs(w) / h).exp())
    return p


def _exponential(tau: Arb, x: Arb, nc: Arb, mu: Arb) -> Arb:
    """e^K(tau)."""
    return ((tau - 1) * (x - nc / tau) / 2 - mu * tau.log()).exp()


def _about(bound: Arb) -> Arb:
    """The ball of all numbers of that size at most."""
    return arb(0, 1) * bound.upper()


def _mixture(y: Arb, half: Arb, mu: Arb, lower: bool) -> Arb:
    """Sum the same tail as a Poisson mixture of central chi-square laws.

    All terms are positive.
    """
    weight, density = (-half).exp(), y**mu * (-y).exp() / (mu + 1).gamma()
    # the tails of dim + 2j: an upper one grows by the density, a lower one is the sum
    # from j on
    weights, tail = arb(0), arb(0) if lower else y.gamma_upper(mu, regularized=1)
    total, j = arb(0), 0
    while True:
        weights += weight
        total += density * weights if lower else weight * tail
        tail += density
        j += 1
        weight, density = weight * half / j, density * y / (mu + j)
        step, term = (y / (mu + j + 1), density) if lower else (half / (j + 1), weight)
        if step < 0.5 and (term < total * math.exp(-_DIGITS) or j > _MOST_TERMS):
            return total + _about(2 * term)
        if j > _MOST_TERMS:
            return arb.nan()
