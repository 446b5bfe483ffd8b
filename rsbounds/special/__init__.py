"""Special functions that hold at any dimension: noncentral chi-square, Marcum's Q, balls, normal.

All functions broadcast like NumPy ufuncs and take ``out=`` and ``where=``; scalars in, np.float64
out. NaN in gives NaN out with NumPy's invalid flag; anything outside the domain is a ValueError
that names the argument. :func:`error_bound` gives each function's a-priori error bound.

All of them can be called with scalars inside ``numba.njit`` functions under the same names.
"""

from rsbounds.special._ball import ball_offset, ball_score
from rsbounds.special._bounds import error_bound
from rsbounds.special._inverse import (
    ncx2_cdf_inv_df,
    ncx2_cdf_inv_nc,
    ncx2_sf_inv_df,
    ncx2_sf_inv_nc,
)
from rsbounds.special._marcum import (
    marcum_logp,
    marcum_logq,
    marcum_p,
    marcum_p_inv,
    marcum_q,
    marcum_q_inv,
)
from rsbounds.special._ncx2 import (
    ncx2_cdf,
    ncx2_logcdf,
    ncx2_logpdf,
    ncx2_logsf,
    ncx2_pdf,
    ncx2_sf,
)
from rsbounds.special._normal import log_ndtr, ndtri, ndtri_exp
from rsbounds.special._quantiles import ncx2_isf, ncx2_isf_exp, ncx2_ppf, ncx2_ppf_exp
from rsbounds.special._rice import rice_cdf, rice_logcdf, rice_logsf, rice_sf
from rsbounds.special._skellam import skellam_cdf, skellam_logcdf, skellam_logsf, skellam_sf

__all__ = [
    "ball_offset",
    "ball_score",
    "error_bound",
    "log_ndtr",
    "marcum_logp",
    "marcum_logq",
    "marcum_p",
    "marcum_p_inv",
    "marcum_q",
    "marcum_q_inv",
    "ncx2_cdf",
    "ncx2_cdf_inv_df",
    "ncx2_cdf_inv_nc",
    "ncx2_isf",
    "ncx2_isf_exp",
    "ncx2_logcdf",
    "ncx2_logpdf",
    "ncx2_logsf",
    "ncx2_pdf",
    "ncx2_ppf",
    "ncx2_ppf_exp",
    "ncx2_sf",
    "ncx2_sf_inv_df",
    "ncx2_sf_inv_nc",
    "ndtri",
    "ndtri_exp",
    "rice_cdf",
    "rice_logcdf",
    "rice_logsf",
    "rice_sf",
    "skellam_cdf",
    "skellam_logcdf",
    "skellam_logsf",
    "skellam_sf",
]
