"""The noncentral chi-square distribution as a SciPy distribution object.

This module alone loads ``scipy.stats``: ``import rsbounds`` doesn't.
"""

from __future__ import annotations

from math import perm
from typing import Any

import numpy as np
from scipy import stats

from rsbounds import special
from rsbounds.special import DOMAIN

__all__ = ["ncx2"]

_Ncx2: Any = type(
    stats.ncx2
)  # its random variates and moments up to the fourth stay SciPy's


def _method(function: Any) -> Any:
    return lambda self, x, df, nc: function(x, df, nc)


class ncx2_gen(_Ncx2):  # type: ignore[misc]
    """A noncentral chi-square variable: :data:`scipy.stats.ncx2` with accurate tails.

    It takes the place of SciPy's object: the same shape parameters, methods, frozen
    form, ``loc`` and ``scale``. Distribution functions, density and quantiles are those
    of :mod:`rsbounds.special`; random variates and ``fit`` are inherited.

    Parameters
    ----------
    x, q : array_like
        Point in the units of `scale`; probability in [0, 1].
    df : array_like
        Degrees of freedom, a real number in [1e-300, 1e8].
    nc : array_like
        Noncentrality, in [0, 1e60].
    loc, scale : array_like, optional
        As for every SciPy distribution: the variable is loc + scale X.

    Returns
    -------
    Array
        What SciPy's method of the same name returns, NaN outside the domain included.
        ``rvs`` raises ValueError there, and all raise TypeError where a shape parameter
        is missing.

    Notes
    -----
    The tails have the a-priori bounds of :func:`rsbounds.special.error_bound` at (x -
    loc)/scale, which is exact at the default `loc` and `scale`. Moments are sums of
    positive terms, to 1e-15 times their order; central moments have the error of
    SciPy's formulas (Johnson, Kotz and Balakrishnan, Continuous Univariate
    Distributions 2, 1995, chapter 29).

    Examples
    --------
    >>> from rsbounds.stats import ncx2
    >>> print(f"{ncx2.sf(1e6, df=784, nc=1e6):.12g}")
    0.652286178855
    >>> frozen = ncx2(df=150528, nc=1e12)
    >>> print(f"{frozen.logcdf(frozen.ppf(1e-12)):.9f}")
    -27.631021116
    """

    def _argcheck(self, df: Any, nc: Any) -> Any:
        # as float64: the ends of the domains overflow beside a float32
        (low, high), (least, most) = np.array(DOMAIN["df"]), np.array(DOMAIN["nc"])
        return (low <= df) & (df <= high) & (least <= nc) & (nc <= most)

    _pdf, _logpdf = _method(special.ncx2_pdf), _method(special.ncx2_logpdf)
    _cdf, _logcdf = _method(special.ncx2_cdf), _method(special.ncx2_logcdf)
    _sf, _logsf = _method(special.ncx2_sf), _method(special.ncx2_logsf)
    _ppf, _isf = _method(special.ncx2_ppf), _method(special.ncx2_isf)

    def _munp(self, n: Any, df: Any, nc: Any) -> Any:
        """E X^n from the cumulants 2^(j-1) (j-1)! (df + j nc), all of them positive."""
        moments: list[Any] = [np.ones(np.broadcast_shapes(np.shape(df), np.shape(nc)))]
        for k in range(int(n)):
            terms = (
                perm(k, j) * 2.0**j * (df + (j + 1) * nc) * moments[k - j]
                for j in range(k + 1)
            )
            moments.append(sum(terms))
        return moments[-1]


ncx2 = ncx2_gen(a=0.0, name="ncx2", longname="A noncentral chi-square")


def __dir__() -> list[str]:
    return sorted(__all__)
