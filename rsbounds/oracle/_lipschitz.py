"""Lipschitz sigma networks ([B]): ratio R_d, constant L, integrated radius. Lipschitz scores."""

from mpmath import mp

from rsbounds.oracle._ball import ncx2_tails
from rsbounds.oracle._ncx2 import log_radius
from rsbounds.oracle._normal import GUARD, Mpf, Real, exact, log_tails, rounded, score


def lipschitz_ratio(z: Real, dim: Real, *, dps: int = 30) -> tuple[Mpf, Mpf]:
    """[B]'s R_d(p) at p = Phi(z), and dR/dz: R = x f(x)/phi(z), P(chi2_d > x) = p."""
    with mp.workdps(dps + GUARD):
        z, dim = exact(z), exact(dim)
        x = mp.exp(2 * log_radius(-z, dim, mp.zero, dps))
        log_density = ncx2_tails(x, dim, 0, dps=dps + 10).log_density
        ratio = mp.sqrt(2 * mp.pi) * x * mp.exp(log_density + z**2 / 2)
        # S(v) = log F^-1(Phi(v)) has S' = 1/R and S'' = -S' (v + (dim - x)/(2 R)), v = -z.
        slope = ratio * z - (dim - x) / 2
    with mp.workdps(dps):
        return +ratio, +slope


def lipschitz_constant(dim: Real, lip: Real, sigma_min: Real, z_min: Real, *, dps: int = 30) -> Mpf:
    """[B] eq. (5), p_min = Phi(z_min)."""
    with mp.workdps(dps):
        ratio, _ = lipschitz_ratio(z_min, dim, dps=dps + 5)
        return (1 + 2 * exact(lip) * ratio) / exact(sigma_min)


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

    K(z) = int_0^z dv/(1 + 2 lip R_d(Phi(-|v|))).
    """
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
    """K(z), with y = log x as the variable of integration (dv = R dy), so no quantiles."""
    ends = [2 * log_radius(v, dim, mp.zero, dps) for v in (mp.zero, abs(z))]

    def integrand(y: Mpf) -> Mpf:
        tails = ncx2_tails(mp.exp(y), dim, 0, dps=dps + 10)
        v = score(tails.log_lower, tails.log_upper, dps=dps + 10)
        ratio = mp.sqrt(2 * mp.pi) * mp.exp(y + tails.log_density + v**2 / 2)
        return ratio / (1 + 2 * lip * ratio)

    with mp.workdps(dps + 5):
        return mp.sign(z) * mp.quad(integrand, ends, method="gauss-legendre")


def base_radius(
    z_a: Real, sigma: Real, base_lip: Real, z_b: Real | None = None, *, dps: int = 20
) -> Mpf:
    """(c_a - c_b)/2, where L int_{c - 1/L}^c Phi(s/sigma) ds is the probability of each score.

    For z_b = -z_a this is -s0 - 1/(2L), s0 = -c_a.
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
    """The middle of the ramp, in units of sigma, by bisection on the log of the tail."""
    if z < 0:
        return -_centre(-z, width)
    if z == 0:
        return mp.zero
    # the antiderivative cancels, far out and over a short ramp
    lost = int(z * z / 4.6 + abs(mp.log10(width))) + 20
    with mp.workdps(mp.dps + lost):
        goal, y = log_tails(z)[1] + mp.log(width), z + width / 2
        if goal > 0:  # a wide ramp: its middle is near width (p - 1/2), and not above this
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
