"""A-priori error bounds of the special functions."""

import numpy as np
from numpy.typing import ArrayLike

from rsbounds._numerics.checks import Array, Floats, as_floats, broadcast, choice
from rsbounds._numerics.scores import NDTRI_ERROR
from rsbounds.special._call import DOMAIN

Parts = tuple[float, float]  # absolute, relative to |value|; at the exact double arguments

_TAIL, _LOG, _INVERSE = (0.0, 4e-16), (4e-16, 1.2e-16), (1e-15, 1e-15)
# Below four degrees of freedom the nodes of the integral spread and each tail has more roundings.
_LOW_TAIL, _LOW_LOG = (0.0, 8e-16), (8e-16, 1.6e-16)
_BOUNDS: dict[str, Parts] = {
    "log_ndtr": (0.0, 2e-15),
    "ndtri": (0.0, NDTRI_ERROR),
    "ndtri_exp": (0.0, 2e-15),
    "ball_score": _LOW_LOG,
    "ball_offset": _INVERSE,
}
# Below one degree of freedom tails are sums of terms with a rounding each. An inverse has the error
# of the tail in its score, which is sqrt(pi/2) times as large at most.
_FEW_TAIL, _FEW_LOG, _FEW_INVERSE = (0.0, 2e-15), (2e-15, 3e-16), (3e-15, 1e-15)
# the functions of df: from four degrees of freedom on, from one on, and below
_OF_DF: dict[str, tuple[Parts, Parts, Parts]] = {
    **dict.fromkeys(("ncx2_cdf", "ncx2_sf", "marcum_q", "marcum_p"), (_TAIL, _LOW_TAIL, _FEW_TAIL)),
    **dict.fromkeys(
        ("ncx2_logcdf", "ncx2_logsf", "marcum_logq", "marcum_logp"), (_LOG, _LOW_LOG, _FEW_LOG)
    ),
    "ncx2_pdf": ((0.0, 8e-16), (0.0, 8e-16), _FEW_TAIL),
    "ncx2_logpdf": ((6e-16, 1.2e-16), _LOW_LOG, _FEW_LOG),
    **dict.fromkeys(("ncx2_ppf", "ncx2_isf"), (_INVERSE, _INVERSE, _FEW_INVERSE)),
    **dict.fromkeys(("ncx2_ppf_exp", "ncx2_isf_exp"), (_INVERSE, _INVERSE, _FEW_INVERSE)),
    **dict.fromkeys(("marcum_q_inv", "marcum_p_inv"), (_INVERSE, _INVERSE, _FEW_INVERSE)),
}
_STEP = 1e-323  # what underflow may add


def _bound(parts: Parts, size: Array) -> Array:
    absolute, relative = parts
    with np.errstate(under="ignore"):
        return absolute + relative * size


def error_bound(name: str, value: ArrayLike, /, *, df: ArrayLike | None = None) -> Floats:
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
    df : array_like, optional
        The degrees of freedom that it was called with, 2 m for Marcum's Q, in [1e-300, 1e8].
        By default the bound holds for all of them, and is up to five times as large as it is
        from four degrees of freedom on. Functions without df ignore it.

    Returns
    -------
    Array
        The bound, broadcast over the arguments, in the units of `value`, never below two
        subnormal steps; 0 at infinities.

    Notes
    -----
    The exponent and the sum over the nodes are formed in two doubles, so that a tail has the
    rounding of the nodes, which is averaged, and one of its own; docs/theory derives the parts. A
    score has error (error of log p) / hazard and one rounding. The bounds are rounded up from the
    largest errors of long searches; docs/benchmarks/promised-accuracy.md has the largest over its
    bound for each function.

    Examples
    --------
    >>> print(f"{error_bound('ball_score', 3.0):.1e}")
    1.3e-15
    >>> print(f"{error_bound('ncx2_sf', 1.0):.0e} {error_bound('ncx2_sf', 1.0, df=784):.0e}")
    2e-15 4e-16
    """
    choice("name", name, (*_BOUNDS, *_OF_DF))
    size = np.abs(as_floats("value", value))
    if name in _BOUNDS:
        bound = _bound(_BOUNDS[name], size)
    else:
        usual, low, few = (_bound(parts, size) for parts in _OF_DF[name])
        degrees = 0.0 if df is None else as_floats("df", df, *DOMAIN["df"])
        usual, low, few, degrees = broadcast(value=usual, low=low, few=few, df=degrees)
        bound = np.where(degrees >= 4, usual, np.where(degrees >= 1, low, few))
    result: Floats = np.where(np.isinf(bound), 0.0, bound + _STEP)[()]
    return result
