"""A-priori error bounds of the special functions: proved, and what searches found."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rsbounds._numerics.checks import (
    Array,
    Floats,
    broadcast,
    choice,
    either,
    flag,
    operand,
)
from rsbounds._numerics.scores import LOG_GAP_ERROR, LOG_NDTR_ERROR, NDTRI_ERROR
from rsbounds.special._call import ERROR_KINDS, in_domain

Parts = tuple[
    float, float
]  # absolute, relative to |value|; at the exact double arguments

# Theorems but for _INVERSE (docs/theory/proofs.md): from four degrees of freedom on,
# and for all
_TAIL, _LOW_TAIL = (0.0, 1.2e-14), (0.0, 8e-14)
_LOG, _LOW_LOG = (1.2e-14, 6e-16), (8e-14, 6e-16)
_SCORE, _INVERSE = (1.7e-14, 1.7e-14), (6e-14, 3e-14)
_UNKNOWN = (np.inf, 0.0)
_PROVED: dict[str, tuple[Parts, Parts]] = {
    "unproved": (_UNKNOWN, _UNKNOWN),
    "tail": (_TAIL, _LOW_TAIL),
    "log": (_LOG, _LOW_LOG),
    "density": (_TAIL, _LOW_TAIL),
    "log density": (_LOG, _LOW_LOG),
    "score": (_SCORE, _SCORE),
    "inverse": (_INVERSE, _INVERSE),
    "inverse in df": (_INVERSE, _INVERSE),
    "ndtr": ((0.0, LOG_NDTR_ERROR),) * 2,  # so has the tail in log_ndtr, z > 0
    "log_ndtr": ((0.0, LOG_NDTR_ERROR),) * 2,
    "log gap": (LOG_GAP_ERROR,) * 2,
    "ndtri": ((0.0, NDTRI_ERROR),) * 2,
}
# The largest errors of long searches, with room: from four degrees of freedom on, from
# one on (the nodes of the integral spread, and each tail has more roundings), and below
# (it is a sum)
_MEASURED: dict[str, tuple[Parts, Parts, Parts]] = {
    "unproved": (_UNKNOWN,) * 3,
    "tail": ((0.0, 4e-16), (0.0, 8e-16), (0.0, 2e-15)),
    "log": ((4e-16, 1.2e-16), (8e-16, 1.6e-16), (2e-15, 3e-16)),
    "density": ((0.0, 8e-16), (0.0, 8e-16), (0.0, 2e-15)),
    "log density": ((6e-16, 1.2e-16), (8e-16, 1.6e-16), (2e-15, 3e-16)),
    "score": ((8e-16, 1.6e-16),) * 3,
    "inverse": ((1e-15, 1e-15), (1e-15, 1e-15), (3e-15, 1e-15)),
    "inverse in df": ((1e-15, 1e-15), (1e-15, 1e-15), (2e-14, 1e-14)),
    "ndtr": ((0.0, 2e-15),) * 3,
    "log_ndtr": ((0.0, 2e-15),) * 3,
    "log gap": ((4e-15, 2e-15),) * 3,
    "ndtri": ((0.0, 2e-15),) * 3,
}
_STEP = 1e-323  # what underflow may add
_HALF_UNIT = 2.0**-54  # the rounding of 1 less the smaller tail


def _bound(parts: Parts, size: Array) -> Array:
    absolute, relative = parts
    with np.errstate(under="ignore", invalid="ignore"):
        return absolute + relative * size


def error_bound(
    name: str,
    value: ArrayLike,
    /,
    *,
    df: ArrayLike | None = None,
    measured: bool = False,
) -> Floats:
    """A-priori bound on the absolute error of a special function that returned `value`.

    A theorem, by default, in which every rounding counts in full (for a quantile from
    one degree of freedom on it has more room, but the last step is not proved).
    Searches find errors far below it, and `measured` returns the largest of them, with
    room. No certificate rests on that.

    For the logarithms of both tails the bound holds for the smaller tail; the larger
    one, log(1 - small), is better than that. For the inverses it bounds the error of
    the score of the returned point, before that point's own rounding to a double
    (`value` is the score).

    Parameters
    ----------
    name : str
        Name of a function of this module.
    value : array_like
        The value it returned (a score for the inverses).
    df : array_like, optional
        The degrees of freedom that it was called with, 2 m for Marcum's Q, in [1e-300,
        1e30]. By default the bound holds for all of them, and is up to seven times as
        large as it is from four degrees of freedom on. Functions without df ignore it.
    measured : bool
        What searches found, instead of what is proved.

    Returns
    -------
    Array
        The bound, broadcast over the arguments, in the units of `value`, never below
        two subnormal steps; 0 at infinities; inf for a function of which nothing is
        proved.

    Notes
    -----
    The exponent and the sum over the nodes are formed in two doubles, so that a tail
    has the rounding of the nodes, which is averaged, and one of its own. One of the two
    tails is 1 less the other, rounded once more: from 1/4 on `measured` has half a unit
    for that. A score has (error of log p) / hazard and one rounding.
    docs/theory/proofs.md says how each bound is proved;
    docs/benchmarks/promised-accuracy.md has the largest error over what is measured, by
    function.

    Examples
    --------
    >>> print(f"{error_bound('ncx2_sf', 1.0):.0e}")
    8e-14
    >>> print(f"{error_bound('ncx2_sf', 1.0, df=784):.1e}")
    1.2e-14
    >>> print(f"{error_bound('ncx2_sf', 0.1, df=784, measured=True):.0e}")
    4e-17
    """
    choice("name", name, tuple(ERROR_KINDS))
    size = np.abs(operand("value", value))
    kind = ERROR_KINDS[name]
    parts = (_MEASURED if flag("measured", measured) else _PROVED)[kind]
    has_degrees = name.startswith(("ncx2", "marcum"))
    if df is not None:
        size, degrees = broadcast(value=size, df=in_domain("df", df))
    if not has_degrees:
        bound = _bound(parts[0], size)
    elif df is None:
        bound = _bound(parts[-1], size)
    else:
        usual, *fewer = (_bound(part, size) for part in parts)
        below = np.where(degrees >= 1, fewer[0], fewer[-1])
        bound = np.where(degrees >= 4, usual, below)
    if measured and kind == "tail":
        bound = bound + np.where(size >= 0.25, _HALF_UNIT, 0.0)
    result: Floats = either(np.isinf(size), np.float64(0), bound + _STEP)[()]
    return result
