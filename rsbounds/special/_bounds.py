"""A-priori error bounds of the special functions."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rsbounds._numerics.checks import Floats, choice, real
from rsbounds._numerics.scores import NDTRI_ERROR

# name -> (absolute part, part relative to |value|), at the exact double arguments
_SCORE = (4e-15, 4e-15)
_LOG = (4e-15, 8e-16)
_BOUNDS: dict[str, tuple[float, float]] = {
    "log_ndtr": (0.0, 2e-15),
    "ndtri": (0.0, NDTRI_ERROR),
    "ndtri_exp": (0.0, 2e-15),
    "ball_score": _SCORE,
    "ncx2_logcdf": _LOG,
    "ncx2_logsf": _LOG,
    "ncx2_logpdf": (1e-14, 8e-16),
    **{f"{law}_{tail}": _LOG for law in ("rice", "skellam") for tail in ("logcdf", "logsf")},
    "marcum_logq": _LOG,
    "marcum_logp": _LOG,
}
_STEP = 1e-323  # what underflow may add
_TAILS = (
    *(f"{law}_{tail}" for law in ("ncx2", "rice", "skellam") for tail in ("cdf", "sf")),
    *("ncx2_pdf", "marcum_q", "marcum_p"),
)
_INVERSES = (
    *("ball_offset", "ncx2_ppf", "ncx2_isf", "ncx2_ppf_exp", "ncx2_isf_exp"),
    *("marcum_q_inv", "marcum_p_inv"),
    *(f"ncx2_{tail}_inv_{of}" for tail in ("cdf", "sf") for of in ("nc", "df")),
)


def error_bound(name: str, value: ArrayLike, /) -> Floats:
    """A-priori bound on the absolute error of a special function that returned `value`.

    For the logarithms of both tails the bound holds for the smaller tail; the larger one,
    log(1 - small), is better than that. For the inverses it bounds the error of the score of
    the returned point, before that point's own rounding to a double (`value` is the score).

    Parameters
    ----------
    name : str
        Name of a function of this module.
    value : array_like
        The value it returned (a score for the inverses).

    Returns
    -------
    Array
        The bound, in the units of `value`, never below two subnormal steps; 0 at infinities.

    Raises
    ------
    ValueError
        `name` is not a function of this module.

    Notes
    -----
    The bounds follow from the kernels' operation counts: the exponent phi0 is a sum of two terms
    of one sign, the larger error 4e-16 relative (t - log1p(t)), and three roundings follow it:
    7.3e-16 after the saddle's residual is applied; the quadrature adds less than 1e-15 absolute;
    a score has error (error of log p) / hazard. The largest errors that a long search
    found are 0.3 of the bound for the score, 0.8 for the log tails and the log
    density, 0.6 for log_ndtr, 0.7 for ndtri_exp, 0.3 for ndtri. With fewer than one degree
    of freedom and nc x < 64 a tail or a density is right to 2e-15, relative, and a logarithm
    to 2e-15 and 3e-16 of itself.

    Examples
    --------
    >>> print(f"{error_bound('ball_score', 3.0):.1e}")
    1.6e-14
    """
    choice("name", name, (*_BOUNDS, *_TAILS, *_INVERSES))
    size = np.abs(real("value", value))
    if name in _TAILS:  # relative error of a probability = error of its logarithm
        absolute, relative = _LOG if name != "ncx2_pdf" else _BOUNDS["ncx2_logpdf"]
        log = np.abs(np.log(size, where=size > 0, out=np.zeros_like(size)))
        with np.errstate(under="ignore"):
            bound = size * (absolute + relative * log)
    else:
        absolute, relative = _BOUNDS.get(name, _SCORE)
        bound = absolute + relative * size
    result: Floats = np.where(np.isinf(size), 0.0, bound + _STEP)[()]
    return result
