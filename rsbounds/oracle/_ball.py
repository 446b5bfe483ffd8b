"""P(|Z - s e1| <= s + u), Z ~ N(0, I_dim), by two methods; scores, offsets, ncx2.

``contour``: the steepest-descent path of the Bromwich integral, trapezoidal rule, the
step halved until two results agree. ``series``: the Poisson mixture of central
chi-square tails, positive terms only. The default is the cheaper of the two.
Both work on x = (s + u)^2 = |Z - s e1|^2 and nc = s^2 formed exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from mpmath import mp

from rsbounds.oracle._entry import checked, exact
from rsbounds.oracle._normal import (
    GUARD,
    Mpf,
    Real,
    log_complement,
    log_tails,
    ndtri_exp,
    rounded,
    score,
)
from rsbounds.oracle._series import mixture, terms

SHORT = 1000  # terms up to which the series is the default
_LARGE = 1e300  # points and centres from here on are no floats


class Tails(NamedTuple):
    """Logs of P(X <= x), of P(X > x) and of the density of X at x."""

    log_lower: Mpf
    log_upper: Mpf
    log_density: Mpf


@checked
def ball_tails(
    u: Real, dim: Real, s: Real, *, dps: int = 30, method: str | None = None
) -> Tails:
    """Both log tails and the log density of |Z - s e1|^2 at (s + u)^2.

    At s = inf the tails are the normal ones and the density is NaN. Arguments as of
    :func:`rsbounds.special.ball_score`.
    """
    with mp.workdps(dps + GUARD):
        u, dim, s = exact(u), exact(dim), exact(s)
        if not (dim >= 1 and s >= 0):
            raise ValueError(f"dim must be >= 1 and s >= 0; got {dim}, {s}")
        if mp.isinf(s):
            tails = Tails(*log_tails(u), mp.nan)
        else:
            with mp.extradps(2 * max(0, mp.mag(s)) // 3):  # x - nc in all its digits
                x, nc = (s + u) ** 2 if s + u > 0 else mp.zero, s**2
            tails = _tails(x, dim, nc, method)
    return _rounded(tails, dps)


@checked
def ncx2_tails(
    x: Real, df: Real, nc: Real, *, dps: int = 30, method: str | None = None
) -> Tails:
    """Both log tails and the log density of the noncentral chi-square at x.

    Arguments as of :func:`rsbounds.special.ncx2_logcdf`; x below 0 stands for 0.
    """
    return chi_square_tails(x, df, nc, dps=dps, method=method)


def chi_square_tails(
    x: Real, df: Real, nc: Real, *, dps: int = 30, method: str | None = None
) -> Tails:
    """The tails of :func:`ncx2_tails`, for any noncentrality."""
    with mp.workdps(dps + GUARD):
        with mp.extradps(max(0, mp.mag(exact(nc))) // 3):  # x - nc in all its digits
            x, df, nc = exact(x), exact(df), exact(nc)
        if not (df > 0 and nc >= 0):
            raise ValueError(f"df must be > 0 and nc >= 0; got {df}, {nc}")
        tails = _tails(max(x, mp.zero), df, nc, method)
    return _rounded(tails, dps)


def _rounded(tails: Tails, dps: int) -> Tails:
    return Tails(*(rounded(value, dps) for value in tails))


def _tails(x: Mpf, dim: Mpf, nc: Mpf, method: str | None) -> Tails:
    if mp.isinf(x):
        return Tails(mp.zero, -mp.inf, -mp.inf)
    if x == 0:
        edge = mp.inf if dim < 2 else -mp.inf
        return Tails(-mp.inf, mp.zero, -mp.log(2) - nc / 2 if dim == 2 else edge)
    if method is None:
        is_short = (
            max(x, nc) < _LARGE and terms(float(x), float(dim), float(nc)) < SHORT
        )
        method = "series" if is_short else "contour"
    if method == "contour":
        return _contour(x, dim / 2, nc)
    if method == "series":
        lower, upper, density = mixture(x, dim / 2, nc)
        return Tails(_log(lower, upper), _log(upper, lower), mp.log(density))
    raise ValueError(f"method must be 'contour' or 'series'; got {method!r}")


def _log(p: Mpf, q: Mpf) -> Mpf:
    """Logarithm of p, from q = 1 - p where that is the small one."""
    return mp.log(p) if p < 0.9 else mp.log1p(-q)


def _contour(x: Mpf, mu: Mpf, nc: Mpf) -> Tails:
    """Integrate e^{K(tau)} d tau / (tau - 1) along tau = t(a) e^{i a}, a = pi tanh(v).

    K(tau) = (x eps - nc eps / tau)/2 - mu log tau, eps = tau - 1; on the path through
    the saddle K is real. Within four widths of the pole at tau = 1 the path of a
    smaller x, to the right of the pole, is taken instead.
    """
    digits = mp.dps - GUARD
    t0, _ = _crossing(x, mu, nc)
    # The largest terms of K, which cancel, set the working precision.
    scale = x + mu * abs(mp.log(t0)) + mu + nc / t0 + 10
    with mp.extradps(int(mp.log10(scale)) + 5):
        t0, path_x = _crossing(x, mu, nc)
        top = (x * (t0 - 1) - nc * (t0 - 1) / t0) / 2 - mu * mp.log(t0)

        def node(v: Mpf) -> tuple[Mpf, Mpf]:
            return _node(v, x, path_x, mu, nc, t0, top)

        width = 1 / (mp.pi * mp.sqrt(mu + nc / t0))
        tail, density = _trapezoid(node, min(width, mp.mpf("0.25")), digits)
        log_tail, log_density = top + mp.log(abs(tail)), top + mp.log(density)
    other = log_complement(log_tail)
    if t0 > 1:
        return Tails(log_tail, other, log_density)
    return Tails(other, log_tail, log_density)


def saddle_point(x: Mpf, mu: Mpf, nc: Mpf) -> tuple[Mpf, Mpf]:
    """The saddle tau > 0 and K there."""
    tau = (mu + mp.sqrt(mu**2 + nc * x)) / x
    return tau, (tau - 1) * (x - nc / tau) / 2 - mu * mp.log(tau)


def _crossing(x: Mpf, mu: Mpf, nc: Mpf) -> tuple[Mpf, Mpf]:
    """Where the path crosses the real axis, and the x' whose saddle is there."""
    saddle, _ = saddle_point(x, mu, nc)
    right = 1 + 5 / mp.sqrt(mu + nc)
    if saddle >= right or (1 - saddle) * mp.sqrt(mu / saddle**2 + nc / saddle**3) > 4:
        return saddle, x
    return right, (2 * mu * right + nc) / right**2


def _node(
    v: Mpf, x: Mpf, path_x: Mpf, mu: Mpf, nc: Mpf, t0: Mpf, top: Mpf
) -> tuple[Mpf, Mpf]:
    """The integrands of the tail and of the density at v, relative to e^top."""
    th = mp.tanh(v)
    alpha = mp.pi * th
    if v == 0:
        cos, sin, a, da = mp.one, mp.zero, mp.one, mp.zero
    else:
        cos, sin = mp.cos_sin(alpha)
        a = alpha / sin
        da = (1 - a * cos) / sin
    root = mp.sqrt((mu * a) ** 2 + nc * path_x)
    t = (mu * a + root) / path_x
    dt = mu * da * t / root
    # In real arithmetic: tau = t e^{i alpha}, d tau / (i d alpha) = (t - i t') e^{i
    # alpha}.
    left, up = t * cos - 1, t * sin
    real, imag = t * cos + dt * sin, up - dt * cos
    size = mp.exp((x * left - nc * (1 - cos / t)) / 2 - mu * mp.log(t) - top) * (
        1 - th**2
    )
    if x is not path_x:
        turn_cos, turn_sin = mp.cos_sin((x * up - nc * sin / t) / 2 - mu * alpha)
        real, imag = (
            real * turn_cos - imag * turn_sin,
            real * turn_sin + imag * turn_cos,
        )
    return size * (real * left + imag * up) / (left**2 + up**2), size * real / 2


def _trapezoid(
    node: Callable[[Mpf], tuple[Mpf, Mpf]], step: Mpf, digits: int
) -> tuple[Mpf, Mpf]:
    """Integrals over v in [0, inf) of two even analytic functions.

    Each halving of the step squares the relative error; so the sums are settled when
    the last change is below 10^(-0.65 digits).
    """
    cut = mp.mpf(10) ** (-digits - 12)
    enough = mp.mpf(10) ** (-0.65 * (digits + 3))
    total, other = (value / 2 for value in node(mp.zero))
    offset, spacing = step, step
    previous = (mp.zero, mp.zero)
    for _ in range(14):
        v = offset
        while True:
            first, second = node(v)
            total += first
            other += second
            if abs(first) < cut * abs(total) and abs(second) < cut * abs(other):
                break
            v += spacing
        current = (total * step, other * step)
        pairs = zip(current, previous, strict=True)
        if all(abs(new - old) <= enough * abs(new) for new, old in pairs):
            return current
        previous = current
        offset, spacing, step = step / 2, step, step / 2
    raise ArithmeticError("the contour integral did not settle")


@checked
def ball_score(
    u: Real, dim: Real, s: Real, *, dps: int = 30, method: str | None = None
) -> Mpf:
    """Phi^-1 P(|Z - s e1| <= s + u), Z ~ N(0, I_dim).

    Arguments as of :func:`rsbounds.special.ball_score`.
    """
    if mp.isinf(s):
        return exact(u)
    tails = ball_tails(u, dim, s, dps=dps + 5, method=method)
    return score(tails.log_lower, tails.log_upper, dps=dps)


@checked
def ball_offset(z: Real, dim: Real, s: Real, *, dps: int = 30) -> Mpf:
    """The inverse of ``ball_score`` in u.

    Arguments as of :func:`rsbounds.special.ball_offset`.
    """
    with mp.workdps(dps + GUARD):
        z, dim, s = exact(z), exact(dim), exact(s)
        if mp.isinf(s):
            return z
        with mp.extradps(int(mp.log10(1 + s))):
            u = mp.exp(log_radius(z, dim, s, dps)) - s
    return rounded(u, dps)


@checked
def ncx2_logcdf(x: Real, df: Real, nc: Real, *, dps: int = 30) -> Mpf:
    """Logarithm of P(X <= x), X noncentral chi-square with df degrees of freedom.

    Parameters as of :func:`ncx2_tails`.
    """
    return ncx2_tails(x, df, nc, dps=dps).log_lower


@checked
def ncx2_logsf(x: Real, df: Real, nc: Real, *, dps: int = 30) -> Mpf:
    """Logarithm of P(X > x), X noncentral chi-square with df degrees of freedom.

    Parameters as of :func:`ncx2_tails`.
    """
    return ncx2_tails(x, df, nc, dps=dps).log_upper


@checked
def ncx2_logpdf(x: Real, df: Real, nc: Real, *, dps: int = 30) -> Mpf:
    """The log of the density at x.

    Parameters as of :func:`ncx2_tails`.
    """
    return ncx2_tails(x, df, nc, dps=dps).log_density


@checked
def ncx2_cdf(x: Real, df: Real, nc: Real, *, dps: int = 30) -> Mpf:
    """P(X <= x).

    Parameters as of :func:`ncx2_tails`.
    """
    return _exp(ncx2_tails(x, df, nc, dps=dps + 20).log_lower, dps)


@checked
def ncx2_sf(x: Real, df: Real, nc: Real, *, dps: int = 30) -> Mpf:
    """P(X > x).

    Parameters as of :func:`ncx2_tails`.
    """
    return _exp(ncx2_tails(x, df, nc, dps=dps + 20).log_upper, dps)


@checked
def ncx2_pdf(x: Real, df: Real, nc: Real, *, dps: int = 30) -> Mpf:
    """The density at x.

    Parameters as of :func:`ncx2_tails`.
    """
    return _exp(ncx2_tails(x, df, nc, dps=dps + 20).log_density, dps)


@checked
def ncx2_ppf_exp(log_p: Real, df: Real, nc: Real, *, dps: int = 30) -> Mpf:
    """Quantile x of the noncentral chi-square with log P(X <= x) = log_p.

    Arguments as of :func:`rsbounds.special.ncx2_ppf_exp`.
    """
    return _quantile(ndtri_exp(log_p, dps=dps + GUARD), df, nc, dps)


@checked
def ncx2_isf_exp(log_p: Real, df: Real, nc: Real, *, dps: int = 30) -> Mpf:
    """Quantile x of the noncentral chi-square with log P(X > x) = log_p.

    Arguments as of :func:`rsbounds.special.ncx2_isf_exp`.
    """
    with mp.workdps(dps + GUARD):
        return _quantile(-ndtri_exp(log_p, dps=dps + GUARD), df, nc, dps)


@checked
def ncx2_ppf(p: Real, df: Real, nc: Real, *, dps: int = 30) -> Mpf:
    """Quantile x of the noncentral chi-square with P(X <= x) = p.

    Arguments as of :func:`rsbounds.special.ncx2_ppf`.
    """
    with mp.workdps(dps + 2 * GUARD):
        return ncx2_ppf_exp(mp.log(exact(p)), df, nc, dps=dps)


@checked
def ncx2_isf(p: Real, df: Real, nc: Real, *, dps: int = 30) -> Mpf:
    """Quantile x of the noncentral chi-square with P(X > x) = p.

    Arguments as of :func:`rsbounds.special.ncx2_isf`.
    """
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
    """log(s + u) with ball_score(u, dim, s) = z, by Newton at two precisions."""
    if mp.isinf(z):
        return z
    y = _saddle_radius(z, dim, s)
    digits = 12
    for _ in range(100):
        tails = chi_square_tails(mp.exp(2 * y), dim, s**2, dps=digits + 10)
        value = score(tails.log_lower, tails.log_upper, dps=digits + 5)
        slope = (
            mp.exp(tails.log_density + value**2 / 2 + 2 * y) * 2 * mp.sqrt(2 * mp.pi)
        )
        step = (z - value) / slope
        y += max(min(step, mp.mpf(2)), mp.mpf(-2))
        error = abs(z - value) / max(1, abs(z))
        # The step squares the error.
        if digits == dps + 15 and error < mp.mpf(10) ** (-(dps + 11) // 2):
            return y
        if error < 1e-7:
            digits = dps + 15
    raise ArithmeticError(f"ball_offset did not converge at {z}, {dim}, {s}")


def _saddle_radius(z: Mpf, dim: Mpf, s: Mpf) -> Mpf:
    """Return log rho where the leading-order score, the root of -2 K(saddle), is z.

    The root has the sign of the score.
    """

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
        low, high = (middle, high) if leading(middle) < z else (low, middle)
    return high
