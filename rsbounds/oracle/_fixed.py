"""Radii for one noise distribution, from normal scores (z_b = None means -z_a)."""

from __future__ import annotations

from collections.abc import Sequence

from mpmath import mp

from rsbounds.oracle._normal import GUARD, Mpf, Real, exact, ndtr, rounded


def gaussian_radius(
    z_a: Real, sigma: Real, z_b: Real | None = None, *, norm: Real = 2, dim: Real = 1, dps: int = 30
) -> Mpf:
    """[C] Theorem 1, and for norm > 2 the inscribed l_p ball of [L]."""
    with mp.workdps(dps):
        radius = exact(sigma) * _half_gap(z_a, z_b)
        shrink = mp.mpf(0.5) - (0 if mp.isinf(norm) else 1 / exact(norm))
        return radius / exact(dim) ** max(shrink, 0)


def anisotropic_radius(
    z_a: Real, sigma: Sequence[Real], z_b: Real | None = None, *, norm: Real = 2, dps: int = 30
) -> Mpf:
    """The l_p ball inside the ellipsoid sum delta_i^2/sigma_i^2 <= ((z_a - z_b)/2)^2 ([H])."""
    with mp.workdps(dps + GUARD):
        sigmas = [exact(v) for v in sigma]
        if norm <= 2:
            width = min(sigmas)
        else:
            # Hoelder: the dual exponent of p/2, 2p/(p - 2).
            power = mp.mpf(2) if mp.isinf(norm) else 2 * exact(norm) / (exact(norm) - 2)
            width = mp.fsum(v**-power for v in sigmas) ** (-1 / power)
        radius = _half_gap(z_a, z_b) * width
    return rounded(radius, dps)


def laplace_radius(
    z_a: Real, scale: Real, z_b: Real | None = None, *, method: str = "tight", dps: int = 30
) -> Mpf:
    """The l1 radius under Laplace noise, tight or as [H] Theorem 7.1."""
    with mp.workdps(dps + GUARD):
        z_b = -exact(z_a) if z_b is None else exact(z_b)
        p_a, q_a, p_b = (ndtr(v, dps=dps + GUARD) for v in (z_a, -exact(z_a), z_b))
        if method == "paper":
            budget = max(mp.log(p_a / p_b) / 2, -mp.log(q_a + p_b))
        else:
            budget = (_laplace_quantile(exact(z_a), dps) - _laplace_quantile(z_b, dps)) / 2
        radius = exact(scale) * max(budget, mp.zero)
    return rounded(radius, dps)


def _laplace_quantile(z: Mpf, dps: int) -> Mpf:
    """The standard Laplace quantile at probability Phi(z)."""
    side = mp.log(2 * ndtr(-abs(z), dps=dps + GUARD))
    return side if z < 0 else -side


def _half_gap(z_a: Real, z_b: Real | None) -> Mpf:
    gap = 2 * exact(z_a) if z_b is None else exact(z_a) - exact(z_b)
    return max(gap, mp.zero) / 2
