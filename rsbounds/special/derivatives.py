"""Derivatives of the special functions in closed form, named after the argument.

``ncx2_cdf_dnc(x, df, nc)`` is the derivative of ``special.ncx2_cdf`` in nc, and so on:
arguments, broadcasting, domains, NaN and errors are those of the function. With f the
density and f2 the density with two more degrees of freedom

    d cdf/dx = f,  d cdf/dnc = -f2,  d log f/dnc = (f2/f - 1)/2,
    d log f/dx = (df/2 - 1)/x - 1/2 + nc/(2 x) f2/f,
    d quantile/dp = 1/f,  d quantile/dnc = f2/f,
    d quantile/ddf = -(d cdf/ddf)/f at the quantile,

and the inverses in nc and in df have the reciprocals and quotients of these. Where a
probability stays 0 or 1, at the ends of the support, its derivatives are 0; where an
inverse is a limit, infinite or df = 0, they are NaN.

The quotients f2/f, f/cdf and f/sf are formed without the exponential that both parts
have, so that derivatives of logarithms keep their digits where logarithms are huge.
Tests compare the closed forms with mpmath within 2e-13 of the result, or of the largest
term where terms of both signs are added (derivatives of a density). Derivatives in df
rest on a difference quotient of eighth order of the normal score, compared within
1e-7. No error is proved, and none was searched for; no certificate rests on a
derivative.

:mod:`rsbounds.torch.special` and :mod:`rsbounds.jax` have these as rules.

Examples
--------
>>> from rsbounds.special import derivatives
>>> print(f"{derivatives.ncx2_cdf_dnc(30.0, 5, 20.0):.9g}")
-0.0356303707
"""

from __future__ import annotations

from math import pi, sqrt

import numpy as np
from numpy.typing import ArrayLike

from rsbounds import special
from rsbounds._numerics.checks import Array, Floats, as_floats
from rsbounds.special._call import DOMAIN
from rsbounds_ext import kernels

__all__ = [
    "log_ndtr_dz",
    "marcum_logp_da",
    "marcum_logp_db",
    "marcum_logq_da",
    "marcum_logq_db",
    "marcum_p_da",
    "marcum_p_db",
    "marcum_q_da",
    "marcum_q_db",
    "ncx2_cdf_ddf",
    "ncx2_cdf_dnc",
    "ncx2_cdf_dx",
    "ncx2_df_dnc",
    "ncx2_df_dp",
    "ncx2_df_dx",
    "ncx2_df_exp_dlog_p",
    "ncx2_df_exp_dnc",
    "ncx2_df_exp_dx",
    "ncx2_df_sf_dnc",
    "ncx2_df_sf_dp",
    "ncx2_df_sf_dx",
    "ncx2_df_sf_exp_dlog_p",
    "ncx2_df_sf_exp_dnc",
    "ncx2_df_sf_exp_dx",
    "ncx2_isf_ddf",
    "ncx2_isf_dnc",
    "ncx2_isf_dp",
    "ncx2_isf_exp_ddf",
    "ncx2_isf_exp_dlog_p",
    "ncx2_isf_exp_dnc",
    "ncx2_logcdf_ddf",
    "ncx2_logcdf_dnc",
    "ncx2_logcdf_dx",
    "ncx2_logpdf_dnc",
    "ncx2_logpdf_dx",
    "ncx2_logsf_ddf",
    "ncx2_logsf_dnc",
    "ncx2_logsf_dx",
    "ncx2_nc_ddf",
    "ncx2_nc_dp",
    "ncx2_nc_dx",
    "ncx2_nc_exp_ddf",
    "ncx2_nc_exp_dlog_p",
    "ncx2_nc_exp_dx",
    "ncx2_nc_sf_ddf",
    "ncx2_nc_sf_dp",
    "ncx2_nc_sf_dx",
    "ncx2_nc_sf_exp_ddf",
    "ncx2_nc_sf_exp_dlog_p",
    "ncx2_nc_sf_exp_dx",
    "ncx2_pdf_dnc",
    "ncx2_pdf_dx",
    "ncx2_ppf_ddf",
    "ncx2_ppf_dnc",
    "ncx2_ppf_dp",
    "ncx2_ppf_exp_ddf",
    "ncx2_ppf_exp_dlog_p",
    "ncx2_ppf_exp_dnc",
    "ncx2_sf_ddf",
    "ncx2_sf_dnc",
    "ncx2_sf_dx",
    "ndtr_dz",
    "ndtri_dp",
    "ndtri_exp_dlog_p",
]

#: Weights of a derivative's difference quotient at 1 to 4 steps, of eighth order.
_WEIGHTS = (4 / 5, -1 / 5, 4 / 105, -1 / 280)


def _ratio(x: ArrayLike, df: ArrayLike, nc: ArrayLike) -> Floats:
    """The density with two more degrees of freedom over the density."""
    result: Floats = kernels.ncx2_density_ratio(x, df, nc)
    return result


def _over_cdf(x: ArrayLike, df: ArrayLike, nc: ArrayLike) -> Floats:
    result: Floats = kernels.ncx2_density_over_cdf(x, df, nc)
    return result


def _over_sf(x: ArrayLike, df: ArrayLike, nc: ArrayLike) -> Floats:
    result: Floats = kernels.ncx2_density_over_sf(x, df, nc)
    return result


def _next_density(x: ArrayLike, df: ArrayLike, nc: ArrayLike) -> Array:
    """The density with two more degrees of freedom, which is 0 at 0."""
    return _times_ratio(special.ncx2_pdf(x, df, nc), x, df, nc)


def _times_ratio(density: Floats, x: ArrayLike, df: ArrayLike, nc: ArrayLike) -> Array:
    """A density, or one over a tail, times :func:`_ratio`; 0 where either is."""
    with np.errstate(invalid="ignore"):  # at infinity; of NaN the density warns
        ratio = _ratio(x, df, nc)
    return np.where(ratio == 0, ratio, _times(ratio, density))[()]


def _times(factor: ArrayLike, density: Floats) -> Floats:
    """The product, 0 where the density is, which falls faster than factors grow."""
    with np.errstate(invalid="ignore", over="ignore"):
        product = np.multiply(factor, density)
    return np.where(np.equal(density, 0), density, product)[()]


def _within(name: str, value: Floats) -> Floats:
    """What an inverse returned, NaN for a limit at which its law has no derivatives."""
    low, high = DOMAIN[name]
    return np.where((value >= low) & (value <= high), value, np.nan)[()]


def _inverse(value: Floats) -> Floats:
    with np.errstate(divide="ignore", over="ignore"):
        result: Floats = 1 / value
    return result


def _score(x: ArrayLike, df: ArrayLike, nc: ArrayLike) -> Array:
    lower = special.ncx2_logcdf(x, df, nc)
    upper = special.ncx2_logsf(x, df, nc)
    smaller = special.ndtri_exp(np.minimum(lower, upper))
    return np.where(lower < upper, smaller, -smaller)


def _score_ddf(x: ArrayLike, df: ArrayLike, nc: ArrayLike) -> Array:
    """The slope of the normal score in df, by steps of a small part of its width."""
    degrees = as_floats("df", df, *DOMAIN["df"])
    shift = as_floats("nc", nc, *DOMAIN["nc"])
    step = np.minimum(np.sqrt(degrees + shift) / 16, degrees / 16)
    step = np.minimum(step, np.maximum((DOMAIN["df"][1] - degrees) / 4, 1e-6))
    total = np.zeros(())
    with np.errstate(invalid="ignore"):  # of two infinities
        for k, weight in enumerate(_WEIGHTS, 1):
            beyond = _score(x, degrees + k * step, shift)
            total = total + weight * (beyond - _score(x, degrees - k * step, shift))
    # at the ends of the support a probability stays 0 or 1
    return np.where(np.isinf(_score(x, degrees, shift)), 0.0, total / step)


def _quantile_ddf(x: ArrayLike, df: ArrayLike, nc: ArrayLike) -> Floats:
    """How fast the point x moves with df where its probability stays.

    That is the score's slope in df over its slope in x, which is the density over the
    smaller tail, by the same quotient of the normal law.
    """
    score = _score(x, df, nc)
    over_smaller = np.where(score < 0, _over_cdf(x, df, nc), _over_sf(x, df, nc))
    with np.errstate(divide="ignore", invalid="ignore"):
        by = log_ndtr_dz(-np.abs(score)) / over_smaller
        moved = np.where(np.equal(x, 0), 0.0, -_score_ddf(x, df, nc) * by)
    return moved[()]


def _shift_ddf(x: ArrayLike, df: ArrayLike, nc: ArrayLike) -> Floats:
    """How fast the noncentrality moves with df where the probability of x stays."""
    result: Floats = -_quantile_ddf(x, df, nc) * _inverse(_ratio(x, df, nc))
    return result


def _degrees_dx(x: ArrayLike, df: ArrayLike, nc: ArrayLike) -> Floats:
    """How fast the degrees of freedom move with x where its probability stays."""
    return _inverse(_quantile_ddf(x, df, nc))


def _degrees_dnc(x: ArrayLike, df: ArrayLike, nc: ArrayLike) -> Floats:
    """How fast the degrees of freedom move with nc where the probability stays."""
    return _inverse(_shift_ddf(x, df, nc))


def _density_at(z: Array) -> Array:
    return np.exp(-0.5 * z * z) / sqrt(2 * pi)


def ncx2_cdf_dx(x: ArrayLike, df: ArrayLike, nc: ArrayLike) -> Floats:
    """Derivative of ``ncx2_cdf`` in x, which is the density."""
    return special.ncx2_pdf(x, df, nc)


def ncx2_cdf_dnc(x: ArrayLike, df: ArrayLike, nc: ArrayLike) -> Floats:
    """Derivative of ``ncx2_cdf`` in nc."""
    return -_next_density(x, df, nc)


def ncx2_cdf_ddf(x: ArrayLike, df: ArrayLike, nc: ArrayLike) -> Floats:
    """Derivative of ``ncx2_cdf`` in df, by a difference quotient."""
    return (_density_at(_score(x, df, nc)) * _score_ddf(x, df, nc))[()]


def ncx2_sf_dx(x: ArrayLike, df: ArrayLike, nc: ArrayLike) -> Floats:
    """Derivative of ``ncx2_sf`` in x, which is minus the density."""
    return -special.ncx2_pdf(x, df, nc)


def ncx2_sf_dnc(x: ArrayLike, df: ArrayLike, nc: ArrayLike) -> Floats:
    """Derivative of ``ncx2_sf`` in nc."""
    return _next_density(x, df, nc)


def ncx2_sf_ddf(x: ArrayLike, df: ArrayLike, nc: ArrayLike) -> Floats:
    """Derivative of ``ncx2_sf`` in df, by a difference quotient."""
    return -ncx2_cdf_ddf(x, df, nc)


def ncx2_logcdf_dx(x: ArrayLike, df: ArrayLike, nc: ArrayLike) -> Floats:
    """Derivative of ``ncx2_logcdf`` in x."""
    return _over_cdf(x, df, nc)


def ncx2_logcdf_dnc(x: ArrayLike, df: ArrayLike, nc: ArrayLike) -> Floats:
    """Derivative of ``ncx2_logcdf`` in nc."""
    return -_times_ratio(_over_cdf(x, df, nc), x, df, nc)


def ncx2_logcdf_ddf(x: ArrayLike, df: ArrayLike, nc: ArrayLike) -> Floats:
    """Derivative of ``ncx2_logcdf`` in df, by a difference quotient."""
    return log_ndtr_dz(_score(x, df, nc)) * _score_ddf(x, df, nc)[()]


def ncx2_logsf_dx(x: ArrayLike, df: ArrayLike, nc: ArrayLike) -> Floats:
    """Derivative of ``ncx2_logsf`` in x."""
    return -_over_sf(x, df, nc)


def ncx2_logsf_dnc(x: ArrayLike, df: ArrayLike, nc: ArrayLike) -> Floats:
    """Derivative of ``ncx2_logsf`` in nc."""
    return _over_sf(x, df, nc) * _ratio(x, df, nc)


def ncx2_logsf_ddf(x: ArrayLike, df: ArrayLike, nc: ArrayLike) -> Floats:
    """Derivative of ``ncx2_logsf`` in df, by a difference quotient."""
    return -log_ndtr_dz(-_score(x, df, nc)) * _score_ddf(x, df, nc)[()]


def ncx2_logpdf_dx(x: ArrayLike, df: ArrayLike, nc: ArrayLike) -> Floats:
    """Derivative of ``ncx2_logpdf`` in x, above 0."""
    ratio = _ratio(x, df, nc)
    x, df, nc = (np.asarray(value, dtype=np.float64) for value in (x, df, nc))
    with np.errstate(divide="ignore", invalid="ignore"):
        result: Floats = (0.5 * df - 1) / x - 0.5 + nc / (2 * x) * ratio
    return result


def ncx2_logpdf_dnc(x: ArrayLike, df: ArrayLike, nc: ArrayLike) -> Floats:
    """Derivative of ``ncx2_logpdf`` in nc."""
    return 0.5 * (_ratio(x, df, nc) - 1)


def ncx2_pdf_dx(x: ArrayLike, df: ArrayLike, nc: ArrayLike) -> Floats:
    """Derivative of ``ncx2_pdf`` in x, above 0."""
    density = special.ncx2_pdf(x, df, nc)
    with np.errstate(invalid="ignore"):  # at 0 and at infinity
        slope = ncx2_logpdf_dx(x, df, nc)
        # the density may be 0 at 0, and its slope not
        at_0 = density * slope
    return np.where(np.equal(x, 0), at_0, _times(slope, density))[()]


def ncx2_pdf_dnc(x: ArrayLike, df: ArrayLike, nc: ArrayLike) -> Floats:
    """Derivative of ``ncx2_pdf`` in nc."""
    density = special.ncx2_pdf(x, df, nc)
    with np.errstate(invalid="ignore"):  # at infinity
        slope = ncx2_logpdf_dnc(x, df, nc)
    return _times(slope, density)


def ncx2_ppf_dp(p: ArrayLike, df: ArrayLike, nc: ArrayLike) -> Floats:
    """Derivative of ``ncx2_ppf`` in p."""
    return _inverse(special.ncx2_pdf(special.ncx2_ppf(p, df, nc), df, nc))


def ncx2_ppf_ddf(p: ArrayLike, df: ArrayLike, nc: ArrayLike) -> Floats:
    """Derivative of ``ncx2_ppf`` in df, by a difference quotient."""
    return _quantile_ddf(special.ncx2_ppf(p, df, nc), df, nc)


def ncx2_ppf_dnc(p: ArrayLike, df: ArrayLike, nc: ArrayLike) -> Floats:
    """Derivative of ``ncx2_ppf`` in nc."""
    return _ratio(special.ncx2_ppf(p, df, nc), df, nc)


def ncx2_ppf_exp_dlog_p(log_p: ArrayLike, df: ArrayLike, nc: ArrayLike) -> Floats:
    """Derivative of ``ncx2_ppf_exp`` in log_p."""
    return _inverse(_over_cdf(special.ncx2_ppf_exp(log_p, df, nc), df, nc))


def ncx2_ppf_exp_ddf(log_p: ArrayLike, df: ArrayLike, nc: ArrayLike) -> Floats:
    """Derivative of ``ncx2_ppf_exp`` in df, by a difference quotient."""
    return _quantile_ddf(special.ncx2_ppf_exp(log_p, df, nc), df, nc)


def ncx2_ppf_exp_dnc(log_p: ArrayLike, df: ArrayLike, nc: ArrayLike) -> Floats:
    """Derivative of ``ncx2_ppf_exp`` in nc."""
    return _ratio(special.ncx2_ppf_exp(log_p, df, nc), df, nc)


def ncx2_isf_dp(p: ArrayLike, df: ArrayLike, nc: ArrayLike) -> Floats:
    """Derivative of ``ncx2_isf`` in p."""
    return -_inverse(special.ncx2_pdf(special.ncx2_isf(p, df, nc), df, nc))


def ncx2_isf_ddf(p: ArrayLike, df: ArrayLike, nc: ArrayLike) -> Floats:
    """Derivative of ``ncx2_isf`` in df, by a difference quotient."""
    return _quantile_ddf(special.ncx2_isf(p, df, nc), df, nc)


def ncx2_isf_dnc(p: ArrayLike, df: ArrayLike, nc: ArrayLike) -> Floats:
    """Derivative of ``ncx2_isf`` in nc."""
    return _ratio(special.ncx2_isf(p, df, nc), df, nc)


def ncx2_isf_exp_dlog_p(log_p: ArrayLike, df: ArrayLike, nc: ArrayLike) -> Floats:
    """Derivative of ``ncx2_isf_exp`` in log_p."""
    return -_inverse(_over_sf(special.ncx2_isf_exp(log_p, df, nc), df, nc))


def ncx2_isf_exp_ddf(log_p: ArrayLike, df: ArrayLike, nc: ArrayLike) -> Floats:
    """Derivative of ``ncx2_isf_exp`` in df, by a difference quotient."""
    return _quantile_ddf(special.ncx2_isf_exp(log_p, df, nc), df, nc)


def ncx2_isf_exp_dnc(log_p: ArrayLike, df: ArrayLike, nc: ArrayLike) -> Floats:
    """Derivative of ``ncx2_isf_exp`` in nc."""
    return _ratio(special.ncx2_isf_exp(log_p, df, nc), df, nc)


def ncx2_nc_dp(p: ArrayLike, x: ArrayLike, df: ArrayLike) -> Floats:
    """Derivative of ``ncx2_nc`` in p."""
    return -_inverse(_next_density(x, df, _within("nc", special.ncx2_nc(p, x, df))))


def ncx2_nc_ddf(p: ArrayLike, x: ArrayLike, df: ArrayLike) -> Floats:
    """Derivative of ``ncx2_nc`` in df, by a difference quotient."""
    return _shift_ddf(x, df, _within("nc", special.ncx2_nc(p, x, df)))


def ncx2_nc_dx(p: ArrayLike, x: ArrayLike, df: ArrayLike) -> Floats:
    """Derivative of ``ncx2_nc`` in x."""
    return _inverse(_ratio(x, df, _within("nc", special.ncx2_nc(p, x, df))))


def ncx2_nc_sf_dp(p: ArrayLike, x: ArrayLike, df: ArrayLike) -> Floats:
    """Derivative of ``ncx2_nc_sf`` in p."""
    return _inverse(_next_density(x, df, _within("nc", special.ncx2_nc_sf(p, x, df))))


def ncx2_nc_sf_ddf(p: ArrayLike, x: ArrayLike, df: ArrayLike) -> Floats:
    """Derivative of ``ncx2_nc_sf`` in df, by a difference quotient."""
    return _shift_ddf(x, df, _within("nc", special.ncx2_nc_sf(p, x, df)))


def ncx2_nc_sf_dx(p: ArrayLike, x: ArrayLike, df: ArrayLike) -> Floats:
    """Derivative of ``ncx2_nc_sf`` in x."""
    return _inverse(_ratio(x, df, _within("nc", special.ncx2_nc_sf(p, x, df))))


def ncx2_nc_exp_dlog_p(log_p: ArrayLike, x: ArrayLike, df: ArrayLike) -> Floats:
    """Derivative of ``ncx2_nc_exp`` in log_p."""
    nc = _within("nc", special.ncx2_nc_exp(log_p, x, df))
    return -_inverse(_over_cdf(x, df, nc) * _ratio(x, df, nc))


def ncx2_nc_exp_ddf(log_p: ArrayLike, x: ArrayLike, df: ArrayLike) -> Floats:
    """Derivative of ``ncx2_nc_exp`` in df, by a difference quotient."""
    return _shift_ddf(x, df, _within("nc", special.ncx2_nc_exp(log_p, x, df)))


def ncx2_nc_exp_dx(log_p: ArrayLike, x: ArrayLike, df: ArrayLike) -> Floats:
    """Derivative of ``ncx2_nc_exp`` in x."""
    return _inverse(_ratio(x, df, _within("nc", special.ncx2_nc_exp(log_p, x, df))))


def ncx2_nc_sf_exp_dlog_p(log_p: ArrayLike, x: ArrayLike, df: ArrayLike) -> Floats:
    """Derivative of ``ncx2_nc_sf_exp`` in log_p."""
    nc = _within("nc", special.ncx2_nc_sf_exp(log_p, x, df))
    return _inverse(_over_sf(x, df, nc) * _ratio(x, df, nc))


def ncx2_nc_sf_exp_ddf(log_p: ArrayLike, x: ArrayLike, df: ArrayLike) -> Floats:
    """Derivative of ``ncx2_nc_sf_exp`` in df, by a difference quotient."""
    return _shift_ddf(x, df, _within("nc", special.ncx2_nc_sf_exp(log_p, x, df)))


def ncx2_nc_sf_exp_dx(log_p: ArrayLike, x: ArrayLike, df: ArrayLike) -> Floats:
    """Derivative of ``ncx2_nc_sf_exp`` in x."""
    return _inverse(_ratio(x, df, _within("nc", special.ncx2_nc_sf_exp(log_p, x, df))))


def ncx2_df_dp(p: ArrayLike, x: ArrayLike, nc: ArrayLike) -> Floats:
    """Derivative of ``ncx2_df`` in p, by a difference quotient."""
    return _inverse(ncx2_cdf_ddf(x, _within("df", special.ncx2_df(p, x, nc)), nc))


def ncx2_df_dx(p: ArrayLike, x: ArrayLike, nc: ArrayLike) -> Floats:
    """Derivative of ``ncx2_df`` in x, by a difference quotient."""
    return _degrees_dx(x, _within("df", special.ncx2_df(p, x, nc)), nc)


def ncx2_df_dnc(p: ArrayLike, x: ArrayLike, nc: ArrayLike) -> Floats:
    """Derivative of ``ncx2_df`` in nc, by a difference quotient."""
    return _degrees_dnc(x, _within("df", special.ncx2_df(p, x, nc)), nc)


def ncx2_df_exp_dlog_p(log_p: ArrayLike, x: ArrayLike, nc: ArrayLike) -> Floats:
    """Derivative of ``ncx2_df_exp`` in log_p, by a difference quotient."""
    return _inverse(
        ncx2_logcdf_ddf(x, _within("df", special.ncx2_df_exp(log_p, x, nc)), nc)
    )


def ncx2_df_exp_dx(log_p: ArrayLike, x: ArrayLike, nc: ArrayLike) -> Floats:
    """Derivative of ``ncx2_df_exp`` in x, by a difference quotient."""
    return _degrees_dx(x, _within("df", special.ncx2_df_exp(log_p, x, nc)), nc)


def ncx2_df_exp_dnc(log_p: ArrayLike, x: ArrayLike, nc: ArrayLike) -> Floats:
    """Derivative of ``ncx2_df_exp`` in nc, by a difference quotient."""
    return _degrees_dnc(x, _within("df", special.ncx2_df_exp(log_p, x, nc)), nc)


def ncx2_df_sf_dp(p: ArrayLike, x: ArrayLike, nc: ArrayLike) -> Floats:
    """Derivative of ``ncx2_df_sf`` in p, by a difference quotient."""
    return _inverse(ncx2_sf_ddf(x, _within("df", special.ncx2_df_sf(p, x, nc)), nc))


def ncx2_df_sf_dx(p: ArrayLike, x: ArrayLike, nc: ArrayLike) -> Floats:
    """Derivative of ``ncx2_df_sf`` in x, by a difference quotient."""
    return _degrees_dx(x, _within("df", special.ncx2_df_sf(p, x, nc)), nc)


def ncx2_df_sf_dnc(p: ArrayLike, x: ArrayLike, nc: ArrayLike) -> Floats:
    """Derivative of ``ncx2_df_sf`` in nc, by a difference quotient."""
    return _degrees_dnc(x, _within("df", special.ncx2_df_sf(p, x, nc)), nc)


def ncx2_df_sf_exp_dlog_p(log_p: ArrayLike, x: ArrayLike, nc: ArrayLike) -> Floats:
    """Derivative of ``ncx2_df_sf_exp`` in log_p, by a difference quotient."""
    return _inverse(
        ncx2_logsf_ddf(x, _within("df", special.ncx2_df_sf_exp(log_p, x, nc)), nc)
    )


def ncx2_df_sf_exp_dx(log_p: ArrayLike, x: ArrayLike, nc: ArrayLike) -> Floats:
    """Derivative of ``ncx2_df_sf_exp`` in x, by a difference quotient."""
    return _degrees_dx(x, _within("df", special.ncx2_df_sf_exp(log_p, x, nc)), nc)


def ncx2_df_sf_exp_dnc(log_p: ArrayLike, x: ArrayLike, nc: ArrayLike) -> Floats:
    """Derivative of ``ncx2_df_sf_exp`` in nc, by a difference quotient."""
    return _degrees_dnc(x, _within("df", special.ncx2_df_sf_exp(log_p, x, nc)), nc)


def ndtr_dz(z: ArrayLike) -> Floats:
    """Derivative of ``ndtr``, the normal density."""
    return _density_at(as_floats("z", z))[()]


def log_ndtr_dz(z: ArrayLike) -> Floats:
    """Derivative of ``log_ndtr``: density over probability."""
    result: Floats = kernels.log_ndtr_slope(z)
    return result


def ndtri_dp(p: ArrayLike) -> Floats:
    """Derivative of ``ndtri``."""
    return _inverse(ndtr_dz(special.ndtri(p)))


def ndtri_exp_dlog_p(log_p: ArrayLike) -> Floats:
    """Derivative of ``ndtri_exp``."""
    return _inverse(log_ndtr_dz(special.ndtri_exp(log_p)))


def _law(m: ArrayLike, a: ArrayLike, b: ArrayLike) -> tuple[Array, Array, Array]:
    """The point, degrees of freedom and noncentrality of Marcum's Q."""
    order = as_floats("m", m, *DOMAIN["m"])
    distance = as_floats("a", a, *DOMAIN["a"])
    return np.square(as_floats("b", b, *DOMAIN["b"])), 2 * order, np.square(distance)


def marcum_q_db(m: ArrayLike, a: ArrayLike, b: ArrayLike) -> Floats:
    """Derivative of ``marcum_q`` in b, from the rounded squares."""
    return -2 * _times(b, special.ncx2_pdf(*_law(m, a, b)))


def marcum_q_da(m: ArrayLike, a: ArrayLike, b: ArrayLike) -> Floats:
    """Derivative of ``marcum_q`` in a, from the rounded squares."""
    return 2 * np.multiply(a, _next_density(*_law(m, a, b)))


def marcum_logq_db(m: ArrayLike, a: ArrayLike, b: ArrayLike) -> Floats:
    """Derivative of ``marcum_logq`` in b, from the rounded squares."""
    return -2 * np.multiply(b, _over_sf(*_law(m, a, b)))


def marcum_logq_da(m: ArrayLike, a: ArrayLike, b: ArrayLike) -> Floats:
    """Derivative of ``marcum_logq`` in a, from the rounded squares."""
    law = _law(m, a, b)
    return 2 * np.multiply(a, _over_sf(*law) * _ratio(*law))


def marcum_p_db(m: ArrayLike, a: ArrayLike, b: ArrayLike) -> Floats:
    """Derivative of ``marcum_p`` in b, from the rounded squares."""
    return 2 * _times(b, special.ncx2_pdf(*_law(m, a, b)))


def marcum_p_da(m: ArrayLike, a: ArrayLike, b: ArrayLike) -> Floats:
    """Derivative of ``marcum_p`` in a, from the rounded squares."""
    return -2 * np.multiply(a, _next_density(*_law(m, a, b)))


def marcum_logp_db(m: ArrayLike, a: ArrayLike, b: ArrayLike) -> Floats:
    """Derivative of ``marcum_logp`` in b, from the rounded squares."""
    return 2 * _times(b, _over_cdf(*_law(m, a, b)))


def marcum_logp_da(m: ArrayLike, a: ArrayLike, b: ArrayLike) -> Floats:
    """Derivative of ``marcum_logp`` in a, from the rounded squares."""
    law = _law(m, a, b)
    return -2 * np.multiply(a, _times_ratio(_over_cdf(*law), *law))


def __dir__() -> list[str]:
    return sorted(__all__)
