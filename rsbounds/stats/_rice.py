"""The Rice distribution as a SciPy distribution object."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats
from scipy.special import i0e

from rsbounds import special
from rsbounds.special.internal import DOMAIN

_Rice: Any = type(stats.rice)


class rice_gen(_Rice):  # type: ignore[misc]
    """A Rice variable, |Z + b| for a complex normal Z: accurate tails and quantiles.

    It takes the place of :data:`scipy.stats.rice`: the same shape parameter, methods,
    frozen form, ``loc`` and ``scale``. The tails, their logarithms and the quantiles
    are Marcum's Q of order 1 and its inverses, which square `b` and x exactly.

    Parameters
    ----------
    x, q : array_like
        Point in the units of `scale`; probability in [0, 1].
    b : array_like
        Distance of the mean from 0 in standard deviations, in [0, 1e30].
    loc, scale : array_like, optional
        As for every SciPy distribution: the variable is loc + scale X.

    Returns
    -------
    Array
        What SciPy's method of the same name returns, NaN outside the domain included.

    Notes
    -----
    The tails have the a-priori bounds of :func:`rsbounds.special.error_bound` for
    ``marcum_q`` at df = 2. The density x exp(-(x - b)^2/2) I_0(b x) e^(-b x) is within
    2e-15 + 4e-16 of the size of its logarithm, relative (measured), by SciPy's Bessel
    function. Moments, variates and ``fit`` are SciPy's.

    References
    ----------
    S. O. Rice, Mathematical analysis of random noise, Bell System Technical Journal 24,
    1945.

    Examples
    --------
    >>> from rsbounds.stats import rice
    >>> print(f"{rice.sf(8.0, 3.0):.12g}")
    4.75964973683e-07
    >>> print(f"{rice.logcdf(1.0, b=40.0):.9f}")
    -766.937404819
    """

    def _argcheck(self, b: Any) -> Any:
        return (DOMAIN["a"][0] <= b) & (b <= DOMAIN["a"][1])

    def _cdf(self, x: Any, b: Any) -> Any:
        return special.marcum_p(1.0, b, x)

    def _sf(self, x: Any, b: Any) -> Any:
        return special.marcum_q(1.0, b, x)

    def _logcdf(self, x: Any, b: Any) -> Any:
        return special.marcum_logp(1.0, b, x)

    def _logsf(self, x: Any, b: Any) -> Any:
        return special.marcum_logq(1.0, b, x)

    def _pdf(self, x: Any, b: Any) -> Any:
        with np.errstate(under="ignore"):
            return x * np.exp(-0.5 * (x - b) ** 2) * i0e(b * x)

    def _logpdf(self, x: Any, b: Any) -> Any:
        with np.errstate(divide="ignore"):
            return np.log(x * i0e(b * x)) - 0.5 * (x - b) ** 2

    def _ppf(self, q: Any, b: Any) -> Any:
        return special.marcum_p_inv(q, 1.0, b)

    def _isf(self, q: Any, b: Any) -> Any:
        return special.marcum_q_inv(q, 1.0, b)


rice = rice_gen(a=0.0, name="rice", longname="A Rice")
