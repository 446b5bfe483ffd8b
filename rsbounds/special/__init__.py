"""Special functions that hold at any dimension: noncentral chi-square, Marcum's Q,
balls, normal.

Every function takes array_like arguments, broadcasts like a NumPy ufunc and takes
``out`` and ``where`` as ufuncs do; scalars in, np.float64 out. NaN in gives NaN out
with NumPy's invalid flag. A ValueError names the argument that is outside its domain or
not numeric, or the shapes that do not broadcast. Errors hold at the exact doubles
given. Those in docstrings are the largest that long searches found, with room;
:func:`error_bound` has them as numbers, and the larger bounds that are proved.

All of them can be called with scalars inside ``numba.njit`` functions under the same
names.
"""

from rsbounds.special._bounds import error_bound
from rsbounds.special._ncx2 import (
    marcum_logp,
    marcum_logq,
    marcum_p,
    marcum_p_inv,
    marcum_q,
    marcum_q_inv,
    ncx2_cdf,
    ncx2_isf,
    ncx2_isf_exp,
    ncx2_logcdf,
    ncx2_logpdf,
    ncx2_logsf,
    ncx2_pdf,
    ncx2_ppf,
    ncx2_ppf_exp,
    ncx2_sf,
)
from rsbounds.special._normal import ball_offset, ball_score, log_ndtr, ndtri, ndtri_exp

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
    "ncx2_isf",
    "ncx2_isf_exp",
    "ncx2_logcdf",
    "ncx2_logpdf",
    "ncx2_logsf",
    "ncx2_pdf",
    "ncx2_ppf",
    "ncx2_ppf_exp",
    "ncx2_sf",
    "ndtri",
    "ndtri_exp",
]
