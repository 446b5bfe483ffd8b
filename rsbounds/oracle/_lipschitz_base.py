"""The radius of a smoothed classifier with Lipschitz base scores, from its integral."""

from __future__ import annotations

from mpmath import mp

from rsbounds.oracle._normal import GUARD, Mpf, Real, exact, log_tails, rounded


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
        raise ArithmeticError(f"no radius found at z = {z}, width {width}")


def _above(s: Mpf) -> Mpf:
    """Phi(-s)."""
    if abs(s) > 1e4:
        return mp.mpf(s < 0)
    return mp.erfc(s / mp.sqrt(2)) / 2


def _rest(s: Mpf) -> Mpf:
    """The integral of Phi(-t) from s on."""
    return mp.npdf(s) - s * _above(s)
