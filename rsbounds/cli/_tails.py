r"""Enclosures of normal and off-centre ball probabilities (python-flint's Arb).

P(|Z - s e1| <= s + u) is 1/(2 pi i) times the integral of e^K(tau) / (tau - 1) upward along
Re tau = c > 1; for 0 < c < 1 that integral gives it less 1. With x = (s + u)^2, nc = s^2 and
mu = dim/2, K(tau) = (x (tau - 1) - nc (tau - 1)/tau)/2 - mu log tau. The integrand is conjugate
at conjugate points, so the upper half counts twice. There the path turns left at c + i c, to
c - L + i (c + L) and beyond: |tau| >= c and |tau - 1| >= c on it and, where Re tau < 0, also
Re(1/tau) < 0, so |e^(K(tau) - K(c))| <= e^(-x (c - Re tau)/2). What is cut off beyond L > c
is therefore at most sqrt(2) (2/x) e^(-x L/2)/c. The rest is Arb's integration of analytic
functions, whose result is a proven enclosure.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

Arb = Any

_TOLERANCE = 70  # bits of the integral
_CUT = 140.0  # x L, from where the path is bounded


def exact(value: float) -> Arb:
    """The double as a ball of radius 0."""
    import flint

    return flint.arb(value)


def bits(s: float) -> int:
    """Working precision for a centre at distance s: x - nc in more digits than are asked for."""
    return 160 + 3 * max(0, math.frexp(s)[1])


def normal(z: Arb) -> Arb:
    """Phi(z)."""
    return (-z / exact(2.0).sqrt()).erfc() / 2


def offset(z: Arb, s: Arb, dim: Arb, *, inside: bool, quick: bool) -> Arb:
    """An offset that gives the ball, or its complement, a little more than Phi(z): not proved.

    By about 1e-13 standard deviations with ``quick``, else 1e-16.
    """
    import flint
    from mpmath import mp

    from rsbounds import oracle
    from rsbounds.oracle import _quick

    def middle(ball: Arb) -> Any:
        mantissa, exponent = ball.mid().man_exp()
        return mp.ldexp(mp.mpf(int(mantissa)), int(exponent))

    side = 1 if inside else -1
    with mp.workprec(flint.ctx.prec):
        score, centre, size = middle(side * z), middle(s), middle(dim)
        found = _quick.offset(score, centre, size) if quick else None
        if found is not None:
            u, there = found
            u += side * 2 * there.error / there.slope
        else:
            u = oracle.ball_offset(score, size, centre, dps=40)
            u += side * mp.mpf("1e-16") * min(1, centre + u)
        sign, mantissa, exponent, _ = u._mpf_
    return flint.arb((-1) ** sign * int(mantissa)) * flint.arb(2) ** int(exponent)


def tail(u: Arb, dim: Arb, s: Arb, *, upper: bool) -> Arb:
    """P(|Z - s e1| > s + u), or with ``upper=False`` the probability of the ball."""
    from flint import acb, arb

    if not s + u > 0:
        return arb("nan")
    x, nc, mu = (s + u) ** 2, s**2, dim / 2
    c, scale = _abscissa(x, nc, mu, u * (2 * s + u) - dim, upper)
    start, half, quarter = acb(c), x / 2, nc / (2 * c)

    def integrand(tau: Any, analytic: bool) -> Any:
        change = (tau - start) * (half - quarter / tau) - mu * (tau / start).log(analytic=analytic)
        return change.exp() / (tau - 1)

    length = c + arb(_CUT / float(x))
    fall = min(1.0, 12 / scale)
    corners = [
        start,
        acb(c, c * fall),
        *([acb(c, c)] if fall < 1 else []),
        acb(c - length, c + length),
    ]
    tol = arb(2) ** -_TOLERANCE
    total = arb(0)
    for a, b in pairwise(corners):
        total += acb.integral(integrand, a, b, rel_tol=tol, abs_tol=tol).imag
    total += arb(0, 1) * (3 / x * (-half * length).exp() / c).upper()
    top = ((c - 1) * (half - quarter) - mu * c.log()).exp()
    found = total * top / arb.pi()
    found = found if c > 1 else -found
    return found if bool(c < 1) == upper else 1 - found


def _abscissa(x: Arb, nc: Arb, mu: Arb, excess: Arb, upper: bool) -> tuple[Arb, float]:
    """c at the saddle point, or a width from the pole at 1; and 1/width."""
    a, b, m = float(x), float(nc), float(mu)
    root = math.sqrt(m * m + b * a)
    eps = -float(excess) / (a - m + root) if a > m else (m - a + root) / a
    c = 1 + eps
    away = math.exp(1 / math.sqrt(m + b))
    if abs(eps) * math.sqrt(m + b / c) < c < away:
        c = 1 / away if upper else away
    return exact(c), math.sqrt(m + b / c)
