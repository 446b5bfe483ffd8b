"""A-priori error bounds of the special functions."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rsbounds._numerics.checks import Floats, choice, real
from rsbounds._numerics.scores import NDTRI_ERROR

# name -> (absolute part, part relative to |value|), at the exact double arguments
_SCORE = (4e-16, 1.2e-16)
_LOG = (4e-16, 1.2e-16)
_TAIL = 4e-16
_INVERSE = (1e-15, 1e-15)
_SECANT = (4e-15, 4e-15)  # the inverses in a parameter end at the double nearest to the root
_BOUNDS: dict[str, tuple[float, float]] = {
    "log_ndtr": (0.0, 2e-15),
    "ndtri": (0.0, NDTRI_ERROR),
    "ndtri_exp": (0.0, 2e-15),
    "ball_score": _SCORE,
    "ncx2_logcdf": _LOG,
    "ncx2_logsf": _LOG,
    "ncx2_logpdf": (6e-16, 1.2e-16),
    **{f"{law}_{tail}": _LOG for law in ("rice", "skellam") for tail in ("logcdf", "logsf")},
    "marcum_logq": _LOG,
    "marcum_logp": _LOG,
}
_STEP = 1e-323  # what underflow may add
_SCORED = {
    "ball_offset": _INVERSE,
    **{f"ncx2_{inverse}": _INVERSE for inverse in ("ppf", "isf", "ppf_exp", "isf_exp")},
    **{f"marcum_{tail}_inv": _INVERSE for tail in "qp"},
    **{f"ncx2_{tail}_inv_{of}": _SECANT for tail in ("cdf", "sf") for of in ("nc", "df")},
}
_TAILS = {
    **{f"{law}_{tail}": _TAIL for law in ("ncx2", "rice", "skellam") for tail in ("cdf", "sf")},
    "marcum_q": _TAIL,
    "marcum_p": _TAIL,
    "ncx2_pdf": 8e-16,
}


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
    The exponent and the sum over the nodes are formed in two doubles, so that a tail has the
    rounding of the nodes, which is averaged, and one of its own; docs/theory derives the parts. A
    score has error (error of log p) / hazard and one rounding. The bounds are rounded up from the
    largest errors of long searches: 0.9 of the bound for the tails, 0.75 for their
    logarithms, 0.7 for the score, 0.7 for the log density, 0.6 for log_ndtr. With fewer than one
    degree of freedom a density is right to 2e-15, relative; where nc x < 64 a tail too, and a
    logarithm to 2e-15 and 3e-16 of itself.

    Examples
    --------
    >>> print(f"{error_bound('ball_score', 3.0):.1e}")
    7.6e-16
    """
    choice("name", name, (*_BOUNDS, *_TAILS, *_SCORED))
    size = np.abs(real("value", value))
    absolute, relative = (0.0, _TAILS[name]) if name in _TAILS else (_BOUNDS | _SCORED)[name]
    with np.errstate(under="ignore"):
        bound = absolute + relative * size
    result: Floats = np.where(np.isinf(size), 0.0, bound + _STEP)[()]
    return result
