"""The Rice distribution as a SciPy distribution object."""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import exp1, i0e, i1e

from rsbounds import special
from rsbounds._numerics.checks import Array
from rsbounds.special.internal import DOMAIN
from rsbounds.stats._ncx2 import REACH, NoncentralLaw, OfObject, ncx2, panels

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
    function. Mean, variance, skewness and kurtosis are integrals over X - b by Gauss
    and Legendre's rule; raw moments follow from those of orders 0 and -1. The entropy
    is within 1e-11, from that of X^2 and its mean logarithm; ``expect`` is that of
    :data:`rsbounds.stats.ncx2` for X^2. Variates and ``fit`` are SciPy's.

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
        with np.errstate(under="ignore", over="ignore", invalid="ignore"):
            density = x * np.exp(-0.5 * (x - b) ** 2) * i0e(b * x)
            return np.where(x == np.inf, 0.0, density)

    def _logpdf(self, x: Any, b: Any) -> Any:
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            log_density = np.log(x * i0e(b * x)) - 0.5 * (x - b) ** 2
            return np.where(x == np.inf, -np.inf, log_density)

    def _ppf(self, q: Any, b: Any) -> Any:
        return special.marcum_p_inv(q, 1.0, b)

    def _isf(self, q: Any, b: Any) -> Any:
        return special.marcum_q_inv(q, 1.0, b)

    def _stats(self, b: Any) -> Any:
        """Mean, variance, skewness and excess kurtosis."""
        moments = np.array([*map(_of_moments, np.ravel(b))]).reshape(-1, 4)
        return tuple(column.reshape(np.shape(b)) for column in moments.T)

    @OfObject
    def _munp(self, n: Any, b: Any) -> Any:
        """E X^n by the recurrence of M(-n/2, 1, -b^2/2), which loses a bit a step."""
        order = int(n)
        b2 = np.asarray(b, dtype=np.float64) ** 2
        before: Any = np.ones_like(b2)  # times 0^2 below
        moment = before
        if order % 2:
            before = np.sqrt(np.pi / 2) * i0e(b2 / 4)  # of order -1
            moment = before * (1 + b2 / 2) + np.sqrt(np.pi / 2) * b2 / 2 * i1e(b2 / 4)
        with np.errstate(over="ignore", invalid="ignore"):
            for k in range(order % 2, order - 1, 2):
                following = (2 + 2 * k + b2) * moment - k**2 * before
                before, moment = moment, following
        return np.where(np.isnan(moment) & ~np.isnan(b2), np.inf, moment)

    def _entropy(self, b: Any) -> float:
        nc = float(b) ** 2
        if not self._argcheck(b):
            return np.nan
        mean_log = float(np.log(2) - np.euler_gamma)
        if nc > 0:
            mean_log = float(np.log(nc) + exp1(nc / 2))
        return NoncentralLaw(2.0, nc).entropy() - log(2) - mean_log / 2

    def expect(
        self,
        func: Any = None,
        args: Any = (),
        loc: float = 0,
        scale: float = 1,
        lb: float | None = None,
        ub: float | None = None,
        conditional: bool = False,
        **kwds: Any,
    ) -> Any:
        """E func(X), or that of X itself: arguments as of SciPy's ``expect``."""
        (b,) = (float(value) for value in args)
        if not (self._argcheck(b) and scale > 0):
            return np.float64(np.nan)

        def taken(square: float) -> Any:
            y = loc + scale * np.sqrt(square)
            return y if func is None else func(y)

        ends: Any = {
            name: None if end is None else max((end - loc) / scale, 0.0) ** 2
            for name, end in (("lb", lb), ("ub", ub))
        }
        # the largest b has a square beside the end of its domain
        law = 2.0, min(b**2, DOMAIN["nc"][1])
        return ncx2.expect(taken, law, conditional=conditional, **ends, **kwds)


def _of_moments(b: float) -> tuple[float, ...]:
    """Mean, variance, skewness and excess kurtosis, from the law of X - b."""
    first = -min(b, REACH)

    def mean_of(power: int, middle: float) -> float:
        def integrand(t: Array) -> Array:
            density = (b + t) * np.exp(-0.5 * t**2) * i0e(b * (b + t))
            weighted: Array = density * (t - middle) ** power
            return weighted

        return panels(integrand, first, REACH)

    beyond = mean_of(1, 0.0)
    variance, third, fourth = (mean_of(power, beyond) for power in (2, 3, 4))
    return b + beyond, variance, third / variance**1.5, fourth / variance**2 - 3


rice = rice_gen(a=0.0, name="rice", longname="A Rice")
