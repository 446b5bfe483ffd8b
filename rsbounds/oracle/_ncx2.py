"""Scores, offsets and the noncentral chi-square, from the tails of the ball."""

from mpmath import mp

from rsbounds.oracle._ball import Tails, ball_tails, ncx2_tails, saddle_point
from rsbounds.oracle._normal import GUARD, Mpf, Real, exact, ndtri_exp, rounded, score


def ball_score(u: Real, dim: Real, s: Real, *, dps: int = 30, method: str | None = None) -> Mpf:
    """Phi^-1 P(|Z - s e1| <= s + u), Z ~ N(0, I_dim)."""
    if mp.isinf(s):
        return exact(u)
    tails = ball_tails(u, dim, s, dps=dps + 5, method=method)
    return score(tails.log_lower, tails.log_upper, dps=dps)


def ball_offset(z: Real, dim: Real, s: Real, *, dps: int = 30) -> Mpf:
    """The inverse of ``ball_score`` in u."""
    with mp.workdps(dps + GUARD):
        z, dim, s = exact(z), exact(dim), exact(s)
        if mp.isinf(s):
            return z
        with mp.extradps(int(mp.log10(1 + s))):
            u = mp.exp(log_radius(z, dim, s, dps)) - s
    return rounded(u, dps)


def ncx2_logcdf(x: Real, df: Real, nc: Real, *, dps: int = 30) -> Mpf:
    """log P(X <= x), X noncentral chi-square with df degrees of freedom."""
    return ncx2_tails(x, df, nc, dps=dps).log_lower


def ncx2_logsf(x: Real, df: Real, nc: Real, *, dps: int = 30) -> Mpf:
    """log P(X > x)."""
    return ncx2_tails(x, df, nc, dps=dps).log_upper


def ncx2_logpdf(x: Real, df: Real, nc: Real, *, dps: int = 30) -> Mpf:
    """The log of the density at x."""
    return ncx2_tails(x, df, nc, dps=dps).log_density


def ncx2_cdf(x: Real, df: Real, nc: Real, *, dps: int = 30) -> Mpf:
    """P(X <= x)."""
    return _exp(ncx2_tails(x, df, nc, dps=dps + 20).log_lower, dps)


def ncx2_sf(x: Real, df: Real, nc: Real, *, dps: int = 30) -> Mpf:
    """P(X > x)."""
    return _exp(ncx2_tails(x, df, nc, dps=dps + 20).log_upper, dps)


def ncx2_pdf(x: Real, df: Real, nc: Real, *, dps: int = 30) -> Mpf:
    """The density at x."""
    return _exp(ncx2_tails(x, df, nc, dps=dps + 20).log_density, dps)


def ncx2_ppf_exp(log_p: Real, df: Real, nc: Real, *, dps: int = 30) -> Mpf:
    """x with log P(X <= x) = log_p."""
    return _quantile(ndtri_exp(log_p, dps=dps + GUARD), df, nc, dps)


def ncx2_isf_exp(log_p: Real, df: Real, nc: Real, *, dps: int = 30) -> Mpf:
    """x with log P(X > x) = log_p."""
    with mp.workdps(dps + GUARD):
        return _quantile(-ndtri_exp(log_p, dps=dps + GUARD), df, nc, dps)


def ncx2_ppf(p: Real, df: Real, nc: Real, *, dps: int = 30) -> Mpf:
    """x with P(X <= x) = p."""
    with mp.workdps(dps + 2 * GUARD):
        return ncx2_ppf_exp(mp.log(exact(p)), df, nc, dps=dps)


def ncx2_isf(p: Real, df: Real, nc: Real, *, dps: int = 30) -> Mpf:
    """x with P(X > x) = p."""
    with mp.workdps(dps + 2 * GUARD):
        return ncx2_isf_exp(mp.log(exact(p)), df, nc, dps=dps)


def _exp(log_value: Mpf, dps: int) -> Mpf:
    with mp.workdps(dps):
        return mp.exp(log_value)


def _quantile(z: Mpf, df: Real, nc: Real, dps: int) -> Mpf:
    with mp.workdps(dps + GUARD):
        x = mp.exp(2 * log_radius(z, exact(df), mp.sqrt(exact(nc)), dps))
    return rounded(x, dps)


def log_radius(z: Mpf, dim: Mpf, s: Mpf, dps: int) -> Mpf:
    """log(s + u) with ball_score(u, dim, s) = z, by Newton's method at two precisions."""
    if mp.isinf(z):
        return z
    y = _saddle_radius(z, dim, s)
    digits = 12
    for _ in range(100):
        log_density, value = _score_and_log_density(y, dim, s, digits)
        slope = mp.exp(log_density + value**2 / 2 + 2 * y) * 2 * mp.sqrt(2 * mp.pi)
        step = (z - value) / slope
        y += max(min(step, mp.mpf(2)), mp.mpf(-2))
        error = abs(z - value) / max(1, abs(z))
        # The step squares the error.
        if digits == dps + 15 and error < mp.mpf(10) ** (-(dps + 11) // 2):
            return y
        if error < 1e-7:
            digits = dps + 15
    raise ArithmeticError(f"ball_offset did not converge at {z}, {dim}, {s}")


def _score_and_log_density(y: Mpf, dim: Mpf, s: Mpf, digits: int) -> tuple[Mpf, Mpf]:
    tails: Tails = ncx2_tails(mp.exp(2 * y), dim, s**2, dps=digits + 10)
    return tails.log_density, score(tails.log_lower, tails.log_upper, dps=digits + 5)


def _saddle_radius(z: Mpf, dim: Mpf, s: Mpf) -> Mpf:
    """log rho where the leading-order score, the signed root of -2 K(saddle), is z."""

    def leading(y: Mpf) -> Mpf:
        tau, k = saddle_point(mp.exp(2 * y), dim / 2, s**2)
        return mp.sign(1 - tau) * mp.sqrt(max(-2 * k, 0))

    high = mp.log(s + mp.sqrt(dim) + abs(z))
    while leading(high) < z:
        high += 1
    width = mp.one
    while leading(high - width) > z:
        width *= 2
    low = high - width
    for _ in range(60):
        middle = (low + high) / 2
        if leading(middle) < z:
            low = middle
        else:
            high = middle
    return high
