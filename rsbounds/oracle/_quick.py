"""The sign of a two-point excess in plain floats, with an error bound; mpmath decides the rest.

The worst score at a point is G(s1, u1), with u1 from the root u0 of G(s0, u0) = z, where
G(s, u) = Phi^-1 P(|Z - s e1| <= s + u). Offsets u, and x - N - nc with them, are formed in
mpmath, where they cancel; the tail is the steepest-descent contour in floats: relative to its
value on the real axis nothing in the integrand cancels. Within two widths of the pole at
tau = 1 the contour of another x, two widths away, is taken.

Nothing here is proved. ``error`` adds up first-order rounding errors, with a factor of 4 to
spare, and what the trapezoidal rule misses, judged by every other node; over random points of
every magnitude the error was at most a tenth of it (``tests/test_oracle_certificates.py``).
None stands for wherever the range, or those nodes, say that the form doesn't serve.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

from mpmath import mp

from rsbounds.oracle._normal import Mpf

_LAST = 40.0  # the integrand is followed down to e^-40
_FAR = 1e15  # largest s and dimension
_HIGHEST = 36.0  # largest score, where tails are still normal numbers
_SETTLED = 1e-7  # what every other node may differ by
_SAFETY = 4  # on all of the error bound
_NORMAL = NormalDist()


class Bounded(NamedTuple):
    """A number and a bound on its error."""

    value: float
    error: float


class _Score(NamedTuple):
    """G(s, u), its derivative in u and a bound on its error."""

    value: float
    slope: float
    error: float


def _alpha_over_sin() -> tuple[float, ...]:
    """c_1, c_2, ... of a / sin a = 1 + sum c_k a^(2k): 2 eta(2k) / pi^(2k)."""

    def eta(k: int) -> float:
        return math.fsum((-1) ** (j + 1) / j ** (2 * k) for j in range(1, 4000 if k < 3 else 400))

    first = (1 / 6, 7 / 360, 31 / 15120)
    return first + tuple(2 * eta(k) / math.pi ** (2 * k) for k in range(4, 13))


_SERIES = _alpha_over_sin()


def worst_sum(
    distance: Mpf, scores: tuple[Mpf, ...], sigma0: Mpf, sigma1: Mpf, dim: Mpf
) -> Bounded | None:
    """The sum of the worst scores at that distance over budgets ``scores``; None: can't tell."""
    if not (sigma1 > 0 and distance > 0):
        return None
    if sigma1 == sigma0:
        value = float(mp.fsum(scores) + len(scores) * distance / sigma0)
        return Bounded(value, 1e-15 * abs(value))
    with mp.workprec(120):
        s0 = distance * sigma0 / abs((sigma0 - sigma1) * (sigma0 + sigma1))
    if not (s0 < _FAR and dim < _FAR and max(abs(z) for z in scores) < _HIGHEST):
        return None
    with mp.workprec(100 + 2 * max(0, mp.mag(s0))):
        s0 = distance * sigma0 / abs((sigma0 - sigma1) * (sigma0 + sigma1))
        found = [_worst(distance, z, sigma0, sigma1, s0, dim) for z in scores]
    each = [pair for pair in found if pair is not None]
    if len(each) < len(scores):
        return None
    return Bounded(sum(p.value for p in each), sum(p.error for p in each))


def _worst(a: Mpf, z: Mpf, sigma0: Mpf, sigma1: Mpf, s0: Mpf, dim: Mpf) -> Bounded | None:
    inside = 1 if sigma1 < sigma0 else -1
    found = offset(inside * z, s0, dim)
    if found is None:
        return None
    u0, there = found
    ratio = sigma0 / sigma1
    here = _ball_score(ratio * u0 + inside * a / sigma1, s0 / ratio, dim)
    if here is None:
        return None
    carried = here.slope * float(ratio) / there.slope
    return Bounded(inside * here.value, here.error + carried * there.error)


def offset(z: Mpf, s: Mpf, dim: Mpf) -> tuple[Mpf, _Score] | None:
    """The u of G(s, u) = z by Newton's method, and G there."""
    rho = mp.sqrt(_first_guess(float(z), float(dim), float(s * s)))
    u = rho - s
    for _ in range(20):
        there = _ball_score(u, s, dim)
        if there is None or not there.slope > 0:
            return None
        off = float(z - there.value)
        rho = s + u
        step = off / there.slope
        if abs(step) < 1e-9 * float(rho):
            u += step
        else:  # G is nearly linear in u, and u stays above -s
            u += rho * mp.expm1(max(-1.0, min(1.0, step / float(rho))))
        if abs(off) < 1e-8:  # the step squares it
            return u, there
    return None


def _first_guess(z: float, dim: float, nc: float) -> float:
    """Sankaran's approximation of the noncentral chi-square quantile."""
    mean = dim + nc
    h = 1 - 2 * mean * (dim + 3 * nc) / (3 * (dim + 2 * nc) ** 2)
    p = (dim + 2 * nc) / mean**2
    m = (h - 1) * (1 - 3 * h)
    base = 1 + h * p * (h - 1 - (1 - h / 2) * m * p) + z * h * math.sqrt(2 * p) * (1 + m * p / 2)
    return mean * math.pow(max(base, 1e-3), 1 / h)


def _ball_score(u: Mpf, s: Mpf, dim: Mpf) -> _Score | None:
    """G(s, u), or None where floats don't carry it."""
    if not s + u > 0:
        return None
    excess = float(u * (2 * s + u) - dim)
    x, nc, mu = float((s + u) ** 2), float(s * s), float(dim) / 2
    root = math.sqrt(mu * mu + nc * x)
    eps = -excess / (x - mu + root) if x > mu else (mu - x + root) / x
    t0 = 1 + eps
    shift = 0.0
    if abs(eps) * math.sqrt(mu + nc / t0) < 2 * t0:
        width = 2 / math.sqrt(mu + nc)
        eps = width if eps > 0 or width > 0.5 else -width
        t0 = 1 + eps
        moved = -eps * (2 * mu / t0 + nc * (2 + eps) / (t0 * t0))
        shift = (excess - moved) / 2
    parts = (mu * _less_log1p(eps), eps * excess / 2, nc * eps * eps / (2 * t0))
    top = math.fsum(parts)
    sums = _contour(eps, t0, mu, nc / (2 * t0), shift)
    if sums is None or not -680 < top < 30:
        return None
    tail, density, lost = sums
    lost += 4e-16 * sum(map(abs, parts))
    scale = math.exp(top)
    p = abs(tail) * scale
    if not 1e-290 < p < 1 - 1e-4:
        return None
    z = _NORMAL.inv_cdf(p)
    height = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    z += (p - math.erfc(-z / math.sqrt(2)) / 2) / height
    slope = density * scale * 2 * float(s + u) / height
    error = _SAFETY * (lost * p / height + 4e-16 * (1 + abs(z)))
    return _Score(z if eps > 0 else -z, slope, error)


def _contour(
    eps: float, t0: float, mu: float, beta: float, shift: float
) -> tuple[float, float, float] | None:
    """Tail and density relative to the integrand's size at t0, and the tail's relative error.

    tau = t0 (1 + delta(alpha)) e^(i alpha); ``shift`` is half of x less that of the contour.
    """
    curve = math.sqrt(mu + 2 * beta)
    away = abs(eps) * curve / t0
    axis = mu + 2 * beta
    ends = axis < 50  # at pi, where the integrand is less than analytic
    finest = math.pi / (320 if ends else 100)
    step = min((0.3 if away < 3 else 0.38 if away < 4.5 else 0.46) / curve, finest)
    first, second = [0.5 / eps * t0], [0.25 * t0]
    k = 0
    while True:
        k += 1
        alpha = k * step
        if alpha >= math.pi:
            break
        sin, v = math.sin(alpha), 2 * math.sin(alpha / 2) ** 2
        cos = 1 - v
        if alpha < 0.6:
            square, b, da = alpha * alpha, 0.0, 0.0
            for j in range(len(_SERIES), 0, -1):
                b = b * square + _SERIES[j - 1]
                da = da * square + 2 * j * _SERIES[j - 1]
            b, da = b * square, da * alpha
        else:
            b = (alpha - sin) / sin
            da = (1 - (1 + b) * cos) / sin
        root = math.sqrt(axis * axis + mu * mu * b * (2 + b))
        delta = mu * b * (1 + mu * (2 + b) / (root + axis)) / (axis + mu)
        r = 1 + delta
        turned = t0 * (delta * cos - v)
        up = t0 * r * sin
        drop = (
            mu * (_less_log1p(delta) - v * r)
            + beta * (delta * delta * cos / r - 2 * v)
            + shift * turned
        )
        if drop < -_LAST:
            break
        size = t0 * math.exp(drop)
        drift = mu * da * r / root
        real, imag = size * (r * cos + drift * sin), size * (r * sin - drift * cos)
        if shift:
            turn_cos, turn_sin = math.cos(shift * up), math.sin(shift * up)
            real, imag = real * turn_cos - imag * turn_sin, real * turn_sin + imag * turn_cos
        left = eps + turned
        first.append((real * left + imag * up) / (left * left + up * up))
        second.append(real / 2)
        if k > 400:
            return None
    tail, density = math.fsum(first), math.fsum(second)
    missed = abs(2 * math.fsum(first[::2]) / tail - 1) if tail else 1.0
    missed = max(missed, abs(2 * math.fsum(second[::2]) / density - 1) if density > 0 else 1.0)
    if not missed < _SETTLED:
        return None
    # Halving the step squares what is missed; less is gained up to the path's end.
    lost = 2e-15 * sum(map(abs, first)) / abs(tail) + math.pow(missed, 1.1 if ends else 2)
    return tail * step / math.pi, density * step / math.pi, lost


def _less_log1p(eps: float) -> float:
    """eps - log(1 + eps) without cancellation."""
    if abs(eps) > 0.25:
        return eps - math.log1p(eps)
    r = eps / (2 + eps)
    square, total = r * r, 0.0
    for j in range(21, 1, -2):
        total = total * square + 1 / j
    return eps * r - 2 * r * square * total
