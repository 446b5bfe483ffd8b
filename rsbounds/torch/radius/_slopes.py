"""Derivatives of the two-point radius, by the implicit function theorem.

In the coordinates of the theory page on the two-point certificate, with e = 1 where
sigma1 is the larger level and -1 where it is the smaller, the worst set's score X at x1
obeys

    (sigma1/g1) dX = r da + e q1 dsigma1 - e q0 dsigma0 + (sigma0/g0) db,

where b is the score of its probability at x0, g the slope of a ball's score in its
offset at either point, q = rho - s r there, and r = I_{n/2}(t)/I_{n/2-1}(t) with t = s0
rho0 = s1 rho1. (The set stays the same ball, because that ball is the best set of its
probability; it moves with the multiplier of its constraint, the likelihood ratio on its
border.) The radius solves X_A + X_B = 0. Homogeneous of degree 0 in the lengths: r a +
e q1 sigma1 - e q0 sigma0 = 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import NDArray

from rsbounds._numerics.checks import Array
from rsbounds.special import (
    ball_offset,
    ball_score,
    log_ndtr,
    ncx2_logcdf,
    ncx2_logpdf,
    ncx2_ppf_exp,
    ndtri_exp,
)

Mask = NDArray[np.bool_]

_FAR = 60.0  # from here on nine terms of the uniform expansion are exact to 3e-15
_HALF_SPACE = 1e60
_TINY, _NEAR = 2.0**-10, 100.0


class Move(NamedTuple):
    """sigma1/sigma0, |1 - its square|, and the partial derivatives of sigma1."""

    ratio: Array
    gap: Array
    by_distance: Array
    by_sigma: Array
    by_parameters: tuple[Array, ...]


def semielastic_move(r: Array, sigma: Array, up: Mask, rate: Array) -> Move:
    side = np.where(up, 1.0, -1.0)
    ratio = np.exp(side * rate * r)
    level = sigma * ratio
    gap = np.abs(np.expm1(2 * side * rate * r))
    return Move(ratio, gap, side * rate * level, ratio, (side * r * level,))


def lipschitz_move(r: Array, sigma: Array, up: Mask, lip: Array, floor: Array) -> Move:
    side = np.where(up, 1.0, -1.0)
    t = lip * r / sigma
    # where the floor, and not the constant, bounds sigma1
    at_floor = ~up & (sigma - lip * r <= floor)
    t = np.where(at_floor, (sigma - floor) / sigma, t)
    ratio = np.where(at_floor, floor / sigma, 1 + side * t)
    free = np.where(at_floor, 0.0, 1.0)
    return Move(
        ratio, t * (2 + side * t), side * lip * free, free, (side * r * free, 1 - free)
    )


def slopes(
    r: Array, z_a: Array, z_b: Array, sigma: Array, dim: Array, up: Mask, move: Move
) -> list[Array]:
    """Derivatives by z_a, z_b, sigma and the parameters, where 0 < r < inf.

    They all have one shape.
    """
    side = np.where(up, 1.0, -1.0)
    alpha = r / sigma
    with np.errstate(divide="ignore"):
        s0 = np.minimum(alpha / move.gap, _HALF_SPACE)
    s1 = move.ratio * s0
    scores = -side * np.stack([-z_a, z_b])  # of the balls: B, or the complement of A
    u0 = np.asarray(ball_offset(scores, dim, s0))
    u1 = (u0 - side * alpha) / move.ratio
    # where a ball is tiny beside s, s + u has lost the digits of its radius rho: see
    # below
    with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
        defect = bessel_defect(dim / 2 - 1, s0 * (s0 + u0))
        slope, weight = _score_slope(u0, dim, s0), _score_slope(u1, dim, s1)
    bessel, q0, q1 = 1 - defect, u0 + s0 * defect, u1 + s1 * defect
    tiny = (s0 + u0 < _TINY * s0) & (s0 < _NEAR)
    if tiny.any():
        n, a, b, ratio = (
            np.broadcast_to(v, tiny.shape)[tiny] for v in (dim, s0, s1, move.ratio)
        )
        rho = np.sqrt(ncx2_ppf_exp(log_ndtr(scores[tiny]), n, a**2))
        t = a * rho
        series = t / n * (1 - t**2 / (n * (n + 2)))
        quotient = np.where(t < 1e-3, series, bessel[tiny])
        bessel[tiny] = quotient
        q0[tiny] = rho - a * quotient
        q1[tiny] = rho / ratio - b * quotient
        slope[tiny] = _radius_slope(rho, n, a)
        weight[tiny] = _radius_slope(rho / ratio, n, b)
    by_distance = (weight * bessel).sum(0)
    by_level = side * (weight * q1).sum(0)
    by_sigma = -side * (weight * q0).sum(0)
    by_score = weight * sigma / slope
    total = by_distance + by_level * move.by_distance
    by_parameters = (by_level * p for p in move.by_parameters)
    partials = (
        -by_score[0],
        by_score[1],
        by_level * move.by_sigma + by_sigma,
        *by_parameters,
    )
    return [-by / total for by in partials]


def _score_slope(u: Array, dim: Array, s: Array) -> Array:
    """Derivative of a ball's score in its offset.

    By five-point differences of the scores, because they carry 16 digits where the two
    densities of the quotient underflow. A step of 2^-9 of the scale on which a score
    bends leaves a relative error of 1e-10 at most: 1e-11 of the formula, the rest from
    the rounding of u where s + u is small beside it.
    """
    z = np.asarray(ball_score(u, dim, s))
    step = 2.0**-9 * np.minimum(np.maximum(np.abs(z), 1.0), s + u)
    a, b, c, d = (np.asarray(ball_score(u + k * step, dim, s)) for k in (-2, -1, 1, 2))
    slope: Array = (8 * (c - b) - (d - a)) / (12 * step)
    return slope


def _radius_slope(rho: Array, dim: Array, s: Array) -> Array:
    """Derivative from the radius rho = s + u, as the quotient of the densities."""
    z = np.asarray(ndtri_exp(ncx2_logcdf(rho**2, dim, s**2)))
    density = ncx2_logpdf(rho**2, dim, s**2)
    slope: Array = 2 * rho * np.exp(density + z**2 / 2) * np.sqrt(2 * np.pi)
    return slope


def bessel_defect(order: Array, t: Array) -> Array:
    """1 - I_{n+1}(t)/I_n(t) for n >= -1/2, t > 0.

    Debye's expansion in w = sqrt(n^2 + t^2) >= 60; smaller arguments by the recurrence
    from higher orders, which is stable.
    """
    steps = np.where(np.hypot(order, t) < _FAR, np.maximum(np.ceil(_FAR - order), 0), 0)
    n = order + steps
    w = np.hypot(n, t)
    p = n / w
    first, rest = (
        sum(u(p) * w ** float(-k) for k, u in enumerate(us, 1)) for us in _DEBYE
    )
    rest = rest / (w * (1 + first))
    defect = np.where(
        t < n, 1 - t * (1 / (w + n) + rest), n / t * (1 - n / (w + t)) - t * rest
    )
    for _ in range(int(steps.max(initial=0))):
        more = steps > 0
        ratio = t / (2 * n + t * (1 - defect))  # I_n over I_{n-1}
        defect = np.where(more, 1 - ratio, defect)
        n, steps = n - more, steps - more
    return defect


def _debye(terms: int) -> list[list[Polynomial]]:
    """U_k(p)/p^k and (V_k - U_k)(p)/(p^k (1 - p^2)), DLMF 10.41.9 and 10.41.11."""
    p = Polynomial([0.0, 1.0])
    u = [Polynomial([1.0])]
    v = []
    for _ in range(terms):
        last = u[-1]
        u.append(
            p**2 * (1 - p**2) * last.deriv() / 2 + ((1 - 5 * p**2) * last).integ() / 8
        )
        v.append(u[-1] + p * (p**2 - 1) * (last / 2 + p * last.deriv()))
    v = [(v_k - u_k) // (1 - p**2) for v_k, u_k in zip(v, u[1:], strict=True)]
    return [[Polynomial(f.coef[k:]) for k, f in enumerate(fs, 1)] for fs in (u[1:], v)]


_DEBYE = _debye(9)
