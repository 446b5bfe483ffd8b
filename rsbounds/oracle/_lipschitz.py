"""Lipschitz sigma networks ([B]): the ratio R_d, the constant L, the integrated radius."""

from __future__ import annotations

from mpmath import mp

from rsbounds.oracle._ball import ncx2_tails
from rsbounds.oracle._ncx2 import log_radius
from rsbounds.oracle._normal import GUARD, Mpf, Real, exact, rounded, score


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
