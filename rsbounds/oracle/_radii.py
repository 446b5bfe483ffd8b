"""Radii from normal scores: fixed noise, Lipschitz sigma ([B]) or Lipschitz base.

z_b = None means -z_a.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mpmath import mp

from rsbounds.oracle._ball import log_radius, ncx2_tails
from rsbounds.oracle._entry import checked, exact, require_positive
from rsbounds.oracle._normal import GUARD, Mpf, Real, log_tails, ndtr, rounded, score


@checked
def gaussian_radius(
    z_a: Real,
    sigma: Real,
    z_b: Real | None = None,
    *,
    norm: Real = 2,
    dim: Real = 1,
    dps: int = 30,
) -> Mpf:
    """Radius under fixed Gaussian noise: [C] Theorem 1, and [L] for norm > 2.

    Arguments as of :func:`rsbounds.gaussian.radius`.
    """
    with mp.workdps(dps):
        radius = exact(sigma) * _half_gap(z_a, z_b)
        shrink = mp.mpf(0.5) - (0 if mp.isinf(exact(norm)) else 1 / exact(norm))
        return radius / exact(dim) ** max(shrink, 0)


@checked
def anisotropic_radius(
    z_a: Real,
    sigma: Sequence[Real],
    z_b: Real | None = None,
    *,
    norm: Real = 2,
    dps: int = 30,
) -> Mpf:
    """Radius of the l_p ball inside the ellipsoid of [H].

    The ellipsoid is sum delta_i^2/sigma_i^2 <= ((z_a - z_b)/2)^2. Arguments as of
    :func:`rsbounds.anisotropic.radius`.
    """
    with mp.workdps(dps + GUARD):
        sigmas = [exact(v) for v in sigma]
        if exact(norm) <= 2:
            width = min(sigmas)
        else:
            # Hoelder: the dual exponent of p/2, 2p/(p - 2).
            power = (
                mp.mpf(2)
                if mp.isinf(exact(norm))
                else 2 * exact(norm) / (exact(norm) - 2)
            )
            width = mp.fsum(v**-power for v in sigmas) ** (-1 / power)
        radius = _half_gap(z_a, z_b) * width
    return rounded(radius, dps)


@checked
def laplace_radius(
    z_a: Real,
    scale: Real,
    z_b: Real | None = None,
    *,
    method: str = "tight",
    dps: int = 30,
) -> Mpf:
    """The l1 radius under Laplace noise, tight or as [H] Theorem 7.1.

    Of two normal scores and the scale on every axis; ``method`` is "tight", or "paper"
    for the radius of [H].
    """
    if method not in ("tight", "paper"):
        raise ValueError(f"method must be 'tight' or 'paper'; got {method!r}")
    with mp.workdps(dps + GUARD):
        z_b = -exact(z_a) if z_b is None else exact(z_b)
        p_a, q_a, p_b = (ndtr(v, dps=dps + GUARD) for v in (z_a, -exact(z_a), z_b))
        if method == "paper":
            budget = max(mp.log(p_a / p_b) / 2, -mp.log(q_a + p_b))
        else:
            budget = (
                _laplace_quantile(exact(z_a), dps) - _laplace_quantile(z_b, dps)
            ) / 2
        radius = exact(scale) * max(budget, mp.zero)
    return rounded(radius, dps)


def _laplace_quantile(z: Mpf, dps: int) -> Mpf:
    """The standard Laplace quantile at probability Phi(z)."""
    side = mp.log(2 * ndtr(-abs(z), dps=dps + GUARD))
    return side if z < 0 else -side


def _half_gap(z_a: Real, z_b: Real | None) -> Mpf:
    gap = 2 * exact(z_a) if z_b is None else exact(z_a) - exact(z_b)
    return max(gap, mp.zero) / 2


@checked
def renyi_radius(
    z_a: Real,
    sigma0: Real,
    sigma1: Real,
    dim: Real,
    z_b: Real | None = None,
    *,
    dps: int = 30,
) -> Mpf:
    """Radius from Rényi divergences: the supremum over the open range of orders.

    Source: [S] Theorem 14.

    0 where no order certifies. Arguments as of :func:`rsbounds.renyi.radius`.
    """
    with mp.workdps(2 * dps + GUARD):
        z_a = exact(z_a)
        z_b = -z_a if z_b is None else exact(z_b)
        if z_a <= z_b:
            return mp.zero
        sigma0, sigma1 = exact(sigma0), exact(sigma1)
        top = sigma1**2 / (sigma1**2 - sigma0**2) if sigma1 > sigma0 else mp.inf

        def square(t: Mpf) -> Mpf:
            order = mp.exp(t) if mp.isinf(top) else top / (1 + mp.exp(-t))
            value = renyi_square(order, z_a, sigma0, sigma1, exact(dim), z_b)
            if value > 0:
                return value
            # Nothing certifies here. Without its factors, which tend to 0 at the ends
            # of the range, a negative value leads to a peak that is narrower than a
            # step of the grid.
            return value * max(order, 1) / (order * sigma0**2 + (1 - order) * sigma1**2)

        best = _maximum(square, dps)
        radius = mp.sqrt(best) if best > 0 else mp.zero
    return rounded(radius, dps)


def renyi_square(
    order: Mpf, z_a: Mpf, sigma0: Mpf, sigma1: Mpf, dim: Mpf, z_b: Mpf
) -> Mpf:
    """Squared distance at which D_order(Q|P) reaches the value that changes a class.

    P = N(x0, sigma0^2 I) and Q = N(x1, sigma1^2 I); order > 0, not 1; may be negative.
    """
    digits = mp.dps + GUARD
    p_a, q_a, p_b = (ndtr(z, dps=digits) for z in (z_a, -z_a, z_b))
    power = 1 - order
    mean = ((p_a**power + p_b**power) / 2) ** (1 / power)
    bound = -mp.log(q_a - p_b + 2 * mean)
    mixed = order * sigma0**2 + power * sigma1**2
    spread = mp.log(mixed) - power * mp.log(sigma1**2) - order * mp.log(sigma0**2)
    return 2 * mixed / order * (bound - dim * spread / (2 * power))


def _maximum(function: Callable[[Mpf], Mpf], dps: int) -> Mpf:
    """Largest value over the line: a grid, then golden section near its best point."""
    grid = [mp.mpf(k) / 4 + mp.mpf("1e-3") for k in range(-120, 160)]
    best = max(grid, key=function)
    low, high = best - mp.mpf("0.25"), best + mp.mpf("0.25")
    golden = (mp.sqrt(5) - 1) / 2
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = function(left), function(right)
    while high - low > mp.mpf(10) ** (-dps // 2 - 2):
        if at_left > at_right:
            high, right, at_right = right, left, at_left
            left = high - golden * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + golden * (high - low)
            at_right = function(right)
    return max(at_left, at_right)


@checked
def lipschitz_ratio(z: Real, dim: Real, *, dps: int = 30) -> tuple[Mpf, Mpf]:
    """[B]'s R_d(p) at p = Phi(z), and dR/dz: R = x f(x)/phi(z), P(chi2_d > x) = p.

    Arguments as of :func:`rsbounds.lipschitz.ratio`.
    """
    with mp.workdps(dps + GUARD):
        z, dim = exact(z), exact(dim)
        x = mp.exp(2 * log_radius(-z, dim, mp.zero, dps))
        log_density = ncx2_tails(x, dim, 0, dps=dps + 10).log_density
        ratio = mp.sqrt(2 * mp.pi) * x * mp.exp(log_density + z**2 / 2)
        # S(v) = log F^-1(Phi(v)) has S' = 1/R and S'' = -S' (v + (dim - x)/(2 R)), v =
        # -z.
        slope = ratio * z - (dim - x) / 2
    with mp.workdps(dps):
        return +ratio, +slope


@checked
def lipschitz_constant(
    dim: Real, lip: Real, sigma_min: Real, z_min: Real, *, dps: int = 30
) -> Mpf:
    """Lipschitz constant of Phi^-1 of the scores: [B] eq. (5), p_min = Phi(z_min).

    Arguments as of :func:`rsbounds.lipschitz.constant`.
    """
    require_positive("sigma_min", sigma_min)
    with mp.workdps(dps):
        ratio, _ = lipschitz_ratio(z_min, dim, dps=dps + 5)
        return (1 + 2 * exact(lip) * ratio) / exact(sigma_min)


@checked
def integrated_radius(
    z_a: Real,
    sigma: Real,
    *,
    lip: Real,
    sigma_min: Real,
    dim: Real,
    z_b: Real | None = None,
    dps: int = 20,
) -> Mpf:
    """The r with int_0^r dt/max(sigma_min, sigma - lip t) = (K(z_a) - K(z_b))/2.

    K(z) = int_0^z dv/(1 + 2 lip R_d(Phi(-|v|))). Arguments as of
    :func:`rsbounds.lipschitz.radius`.
    """
    require_positive("sigma_min", sigma_min)
    with mp.workdps(dps + GUARD):
        z_a = exact(z_a)
        z_b = -z_a if z_b is None else exact(z_b)
        if z_a <= z_b:
            return mp.zero
        dim, lip, sigma, sigma_min = map(exact, (dim, lip, sigma, sigma_min))
        high = _slowness(z_a, lip, dim, dps)
        low = -high if z_b == -z_a else _slowness(z_b, lip, dim, dps)
        budget = (high - low) / 2
        curved = mp.log(sigma / sigma_min) / lip if lip > 0 else mp.zero
        if budget <= curved:
            radius = -sigma / lip * mp.expm1(-lip * budget)
        else:
            start = (sigma - sigma_min) / lip if lip > 0 else mp.zero
            radius = start + (sigma_min if lip > 0 else sigma) * (budget - curved)
    return rounded(radius, dps)


def _slowness(z: Mpf, lip: Mpf, dim: Mpf, dps: int) -> Mpf:
    """K(z), integrated over y = log x (dv = R dy), so that it needs no quantiles."""
    ends = [2 * log_radius(v, dim, mp.zero, dps) for v in (mp.zero, abs(z))]

    def integrand(y: Mpf) -> Mpf:
        tails = ncx2_tails(mp.exp(y), dim, 0, dps=dps + 10)
        v = score(tails.log_lower, tails.log_upper, dps=dps + 10)
        ratio = mp.sqrt(2 * mp.pi) * mp.exp(y + tails.log_density + v**2 / 2)
        return ratio / (1 + 2 * lip * ratio)

    with mp.workdps(dps + 5):
        return mp.sign(z) * mp.quad(integrand, ends, method="gauss-legendre")


@checked
def base_radius(
    z_a: Real, sigma: Real, base_lip: Real, z_b: Real | None = None, *, dps: int = 20
) -> Mpf:
    """Return (c_a - c_b)/2 where L int_{c - 1/L}^c Phi(s/sigma) ds is each probability.

    For z_b = -z_a this is -s0 - 1/(2L), s0 = -c_a. Arguments as of
    :func:`rsbounds.lipschitz.base_radius`.
    """
    with mp.workdps(dps + GUARD):
        z_a, sigma, lip = exact(z_a), exact(sigma), exact(base_lip)
        z_b = -z_a if z_b is None else exact(z_b)
        if z_a <= z_b:
            return mp.zero
        width = 1 / (lip * sigma)
        high = _centre(z_a, width)
        low = -high if z_b == -z_a else _centre(z_b, width)
        radius = sigma * (high - low) / 2
    return rounded(radius, dps)


def _centre(z: Mpf, width: Mpf) -> Mpf:
    """The middle of the ramp, in units of sigma: bisection on the log of the tail."""
    if z < 0:
        return -_centre(-z, width)
    if z == 0:
        return mp.zero
    # the antiderivative cancels, far out and over a short ramp
    lost = int(z * z / 4.6 + abs(mp.log10(width))) + 20
    with mp.workdps(mp.dps + lost):
        goal, y = log_tails(z)[1] + mp.log(width), z + width / 2
        if (
            goal > 0
        ):  # a wide ramp: its middle is near width (p - 1/2), and not above this
            y = min(y, width / 2 - mp.exp(goal) + mp.mpf(1) / 2)
        for _ in range(500):  # Newton on a concave function, from the right of its root
            low, high = y - width / 2, y + width / 2
            rest = _rest(low) - _rest(high)
            step = (mp.log(rest) - goal) * rest / (_above(low) - _above(high))
            y += step
            if abs(step) <= y * mp.mpf(10) ** (lost - mp.dps):
                return y
        raise ArithmeticError(f"no radius at z = {z}, width {width}")


def _above(s: Mpf) -> Mpf:
    """Phi(-s)."""
    if abs(s) > 1e4:
        return mp.mpf(s < 0)
    return mp.erfc(s / mp.sqrt(2)) / 2


def _rest(s: Mpf) -> Mpf:
    """The integral of Phi(-t) from s on."""
    return mp.npdf(s) - s * _above(s)
