"""Parameters of the noncentral chi-square law by inversion: nc and df at a point."""

from __future__ import annotations

from collections.abc import Callable

from mpmath import mp

from rsbounds.oracle._ball import chi_square_tails
from rsbounds.oracle._entry import checked, exact
from rsbounds.oracle._normal import GUARD, Mpf, Real, ndtri_exp, rounded, score

Falling = Callable[[Mpf, int], Mpf]

_FEW = 15  # digits of the search before the last steps
_LEAST_DF = 1e-300


@checked
def ncx2_nc_exp(log_p: Real, x: Real, df: Real, *, dps: int = 30) -> Mpf:
    """Noncentrality at which log P(X <= x) = log_p; NaN where there is none.

    Arguments as of :func:`rsbounds.special.ncx2_nc_exp`.
    """
    return _noncentrality(ndtri_exp(log_p, dps=dps + 2 * GUARD), x, df, dps)


@checked
def ncx2_nc_sf_exp(log_p: Real, x: Real, df: Real, *, dps: int = 30) -> Mpf:
    """Noncentrality at which log P(X > x) = log_p; else as :func:`ncx2_nc_exp`."""
    with mp.workdps(dps + 2 * GUARD):
        z = -ndtri_exp(log_p, dps=dps + 2 * GUARD)
    return _noncentrality(z, x, df, dps)


@checked
def ncx2_nc(p: Real, x: Real, df: Real, *, dps: int = 30) -> Mpf:
    """Noncentrality at which P(X <= x) = p in [0, 1]; else as :func:`ncx2_nc_exp`."""
    with mp.workdps(dps + 3 * GUARD):
        return ncx2_nc_exp(mp.log(exact(p)), x, df, dps=dps)


@checked
def ncx2_nc_sf(p: Real, x: Real, df: Real, *, dps: int = 30) -> Mpf:
    """Noncentrality at which P(X > x) = p in [0, 1]; else as :func:`ncx2_nc_exp`."""
    with mp.workdps(dps + 3 * GUARD):
        return ncx2_nc_sf_exp(mp.log(exact(p)), x, df, dps=dps)


@checked
def ncx2_df_exp(log_p: Real, x: Real, nc: Real, *, dps: int = 30) -> Mpf:
    """Degrees of freedom at which log P(X <= x) = log_p; NaN where there are none.

    Arguments as of :func:`rsbounds.special.ncx2_df_exp`.
    """
    return _degrees(ndtri_exp(log_p, dps=dps + 2 * GUARD), x, nc, dps)


@checked
def ncx2_df_sf_exp(log_p: Real, x: Real, nc: Real, *, dps: int = 30) -> Mpf:
    """Degrees of freedom at which log P(X > x) = log_p; else as :func:`ncx2_df_exp`."""
    with mp.workdps(dps + 2 * GUARD):
        z = -ndtri_exp(log_p, dps=dps + 2 * GUARD)
    return _degrees(z, x, nc, dps)


@checked
def ncx2_df(p: Real, x: Real, nc: Real, *, dps: int = 30) -> Mpf:
    """Degrees of freedom at which P(X <= x) = p; else as :func:`ncx2_df_exp`."""
    with mp.workdps(dps + 3 * GUARD):
        return ncx2_df_exp(mp.log(exact(p)), x, nc, dps=dps)


@checked
def ncx2_df_sf(p: Real, x: Real, nc: Real, *, dps: int = 30) -> Mpf:
    """Degrees of freedom at which P(X > x) = p; else as :func:`ncx2_df_exp`."""
    with mp.workdps(dps + 3 * GUARD):
        return ncx2_df_sf_exp(mp.log(exact(p)), x, nc, dps=dps)


def _noncentrality(z: Mpf, x: Real, df: Real, dps: int) -> Mpf:
    def score_at(nc: Mpf, digits: int) -> Mpf:
        tails = chi_square_tails(x, df, nc, dps=digits + 10)
        return score(tails.log_lower, tails.log_upper, dps=digits + 5)

    return _falling_root(score_at, z, mp.zero, exact(x), dps)


def _degrees(z: Mpf, x: Real, nc: Real, dps: int) -> Mpf:
    def score_at(df: Mpf, digits: int) -> Mpf:
        tails = chi_square_tails(x, df, nc, dps=digits + 10)
        return score(tails.log_lower, tails.log_upper, dps=digits + 5)

    return _falling_root(score_at, z, mp.mpf(_LEAST_DF), exact(x), dps)


def _falling_root(score_at: Falling, z: Mpf, least: Mpf, scale: Mpf, dps: int) -> Mpf:
    """The root of a falling function: a bracket to few digits, then secants to all."""
    with mp.workdps(dps + GUARD):
        if z == -mp.inf:
            return mp.inf
        if score_at(least, dps) < z:
            return mp.nan
        near = _bracketed(lambda t: score_at(t, _FEW) - z, least, scale + 1)
        return rounded(_refined(lambda t: score_at(t, dps + 10) - z, near, dps), dps)


def _bracketed(off: Callable[[Mpf], Mpf], low: Mpf, step: Mpf) -> Mpf:
    """A point near the root, by the Illinois method."""
    off_low, high = off(low), low + step
    off_high = off(high)
    while off_high > 0:
        low, off_low = high, off_high
        high *= 2
        off_high = off(high)
    for _ in range(200):
        middle = high - off_high * (high - low) / (off_high - off_low)
        value = off(middle)
        if abs(value) < mp.mpf(10) ** -9 or high - low < mp.mpf(10) ** -9 * low:
            return middle
        if value > 0:
            low, off_low, off_high = middle, value, off_high / 2
        else:
            high, off_high, off_low = middle, value, off_low / 2
    return middle


def _refined(off: Callable[[Mpf], Mpf], near: Mpf, dps: int) -> Mpf:
    last, here = near * (1 + mp.mpf(10) ** -8), near
    off_last, off_here = off(last), off(here)
    for _ in range(30):
        if off_here == off_last:
            return here
        step = off_here * (here - last) / (off_here - off_last)
        last, off_last = here, off_here
        here -= step
        if abs(step) < mp.mpf(10) ** (-dps - 3) * abs(here):
            return here
        off_here = off(here)
    raise ArithmeticError("the secants did not settle")
