"""The noncentral chi-square distribution as a SciPy distribution object."""

from __future__ import annotations

from itertools import pairwise
from math import log, perm
from typing import Any, NamedTuple

import numpy as np
from scipy import integrate, stats
from scipy.special import gammaln, log_ndtr, ndtri_exp

from rsbounds import special
from rsbounds._numerics.checks import Array
from rsbounds._numerics.rounding import EPS
from rsbounds.special.internal import DOMAIN

_Ncx2: Any = type(stats.ncx2)

#: For variates and expectations df = 0 counts as this: no probability beside 0 differs
#: by 1e-297.
_LEAST_DF = DOMAIN["df"][0]
#: Beyond so many standard deviations of sqrt(X), which are at most 1, lies less than
#: any digit of an entropy.
REACH = 13
#: From this df + nc on an entropy is a series in the cumulants.
_WIDE = 1e6
#: Logarithm of the point below which the density is a power of x.
_POWER_ENDS = -46.0
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)
#: Normal scores between which an expectation is integrated piece by piece; what is
#: beyond has a probability that is no double of full precision.
_SCORES = (-37.5, -20.0, -12.0, *np.arange(-8.0, 9.0), 12.0, 20.0, 37.5)
#: From this nc on NumPy's Poisson numbers, of which it makes variates for df <= 1, may
#: be beyond its whole numbers.
_MANY = 1e15
_LOG_PI_E_4 = log(4 * np.pi * np.e)


class NoncentralLaw(NamedTuple):
    """A noncentral chi-square law, its parameters two numbers in the domain."""

    df: float
    nc: float

    def entropy(self) -> float:
        """The differential entropy, within 1e-12 and 1e-14 of its size."""
        middle = self.df + self.nc
        if middle >= _WIDE:
            return self._wide_entropy()
        centre = np.sqrt(middle)
        first, last = centre - REACH, centre + REACH
        if first >= 1:
            return panels(self._by_root, first, last)
        near = self._power_part() + panels(self._by_log, _POWER_ENDS, 0.0)
        return near + panels(self._by_root, 1.0, last)

    def _wide_entropy(self) -> float:
        """The normal law's, less the first two terms of the cumulants' series."""
        width = self.df + 2 * self.nc
        skew2 = 8 * ((self.df + 3 * self.nc) / width) ** 2 / width
        excess = 12 * ((self.df + 4 * self.nc) / width) / width
        second = excess**2 / 48 + 7 * skew2**2 / 48 - skew2 * excess / 8
        return 0.5 * (_LOG_PI_E_4 + log(width)) - skew2 / 12 - second

    def _power_part(self) -> float:
        """What the points next to 0 add, where the density is C x^(power - 1)."""
        power = self.df / 2
        log_mass = -self.nc / 2 - power * log(2.0) - float(gammaln(1 + power))
        log_c = log_mass + log(power)
        mass = np.exp(log_mass + power * _POWER_ENDS)
        return float(-mass * (log_c + (power - 1) * (_POWER_ENDS - 1 / power)))

    def _by_root(self, root: Array) -> Array:
        """The integrand of the entropy in the root of x."""
        return 2 * root * self._information(root**2)

    def _by_log(self, log_x: Array) -> Array:
        """The integrand of the entropy in the logarithm of x."""
        x = np.exp(log_x)
        return x * self._information(x)

    def _information(self, x: Array) -> Array:
        log_density = special.ncx2_logpdf(x, self.df, self.nc)
        result: Array = -np.exp(log_density) * log_density
        return result

    def point(self, score: Any) -> Any:
        """The point below which the normal law's share of a score lies."""
        if score < 0:
            return special.ncx2_ppf_exp(log_ndtr(score), self.df, self.nc)
        return special.ncx2_isf_exp(log_ndtr(-score), self.df, self.nc)

    def score(self, x: float) -> float:
        """The normal score of a point."""
        x = max(x, 0.0)
        low = special.ncx2_logcdf(x, self.df, self.nc)
        high = special.ncx2_logsf(x, self.df, self.nc)
        return float(ndtri_exp(low) if low < high else -ndtri_exp(high))

    def share(self, lower: float, upper: float) -> float:
        """P(lower < X <= upper), by the smaller tails."""
        tail = special.ncx2_cdf
        if special.ncx2_sf(max(lower, 0.0), *self) < 0.5:
            tail, lower, upper = special.ncx2_sf, upper, lower
        return float(tail(max(upper, 0.0), *self) - tail(max(lower, 0.0), *self))

    def expectation(self, g: Any, lower: float, upper: float, options: Any) -> Any:
        """E g(X) where X is between two points.

        In the law's own scores a narrow law is as wide as any, and the mass next to 0
        of few degrees of freedom is no peak.
        """

        def by_score(z: float) -> Any:
            return np.exp(-z * z / 2) / np.sqrt(2 * np.pi) * g(self.point(z))

        # where the mass next to 0 of few degrees of freedom ends
        corner = float(ndtri_exp(-self.nc / 2)) if self.nc else np.inf
        ends = self.score(lower), self.score(upper)
        inner = [z for z in (*_SCORES, corner) if ends[0] < z < ends[1]]
        edges = np.clip(sorted({*ends, *inner}), _SCORES[0], _SCORES[-1])
        # from the middle: far pieces of little weight need few digits
        pieces = [pair for pair in pairwise(edges) if pair[0] < pair[1]]
        total = weight = 0.0
        for pair in sorted(pieces, key=lambda pair: abs(sum(pair))):
            least = {"epsabs": max(options["epsabs"], 1e-12 * weight)}
            part = integrate.quad(by_score, *pair, **{**options, **least})[0]
            total += part
            weight += abs(part)
        return total


def panels(integrand: Any, first: float, last: float) -> float:
    """An integral by Gauss and Legendre's rule, in panels not above 1."""
    edges = np.linspace(first, last, int(np.ceil(last - first)) + 1)
    half = (edges[1] - edges[0]) / 2
    nodes = (edges[:-1] + half)[:, None] + half * _NODES
    return float(half * (integrand(nodes) @ _WEIGHTS).sum())


def _method(function: Any) -> Any:
    return lambda self, x, df, nc: function(x, df, nc)


class OfObject:
    """A method of the object alone: its class has the one that it inherits.

    SciPy's ``make_distribution`` looks at the class. Of one whose own raw moments it
    knows it makes the variance by subtracting, and all digits of narrow laws are lost;
    else it takes the mean, variance, skewness and kurtosis of ``_stats``.
    """

    def __init__(self, method: Any) -> None:
        self.method = method

    def __get__(self, owner: Any, kind: Any) -> Any:
        if owner is None:
            return stats.rv_continuous._munp
        return self.method.__get__(owner, kind)


class ncx2_gen(_Ncx2):  # type: ignore[misc]
    """A noncentral chi-square variable: :data:`scipy.stats.ncx2` with accurate tails.

    It takes the place of SciPy's object: the same shape parameters, methods, frozen
    form, ``loc`` and ``scale``. Distribution functions, density and quantiles are those
    of :mod:`rsbounds.special`; entropy and expectations are right for narrow laws too,
    and ``fit`` starts from the data's moments. Random variates are NumPy's. Where df <=
    1 and nc > 1e15, beyond NumPy's whole numbers, they are quantiles.

    Parameters
    ----------
    x, q : array_like
        Point in the units of `scale`; probability in [0, 1].
    df : array_like
        Degrees of freedom, a real number in [1e-300, 1e30], or 0, where the law has
        the mass e^(-nc/2) at 0. It is counted from the smallest double on, as
        ``cdf(0)`` is 0 for every continuous law of SciPy; the entropy is -inf.
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
    positive terms, to 1e-15 times their order; moments up to the fourth, skewness and
    kurtosis are those of Johnson, Kotz and Balakrishnan, Continuous Univariate
    Distributions 2, 1995, chapter 29. The entropy is within 1e-12 and 1e-14 of its
    size: an integral by Gauss and Legendre's rule in sqrt(X), whose standard deviation
    is never above 1, or from df + nc = 1e6 on the cumulants' series (P. Comon,
    Independent component analysis, Signal Processing 36, 1994).

    :func:`scipy.stats.make_distribution` takes the object. The distribution that it
    makes has these functions, entropy, log entropy, mean, variance, skewness, kurtosis
    and moments up to the fourth. Moments of higher order and those of truncated laws
    are SciPy's quadrature over the support, which misses narrow laws: use
    :meth:`moment` and :meth:`expect` of this object.

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
        return ((low <= df) | (df == 0)) & (df <= high) & (least <= nc) & (nc <= most)

    _pdf, _logpdf = _method(special.ncx2_pdf), _method(special.ncx2_logpdf)
    _cdf, _logcdf = _method(special.ncx2_cdf), _method(special.ncx2_logcdf)
    _sf, _logsf = _method(special.ncx2_sf), _method(special.ncx2_logsf)
    _ppf, _isf = _method(special.ncx2_ppf), _method(special.ncx2_isf)

    def _stats(self, df: Any, nc: Any) -> Any:
        """Mean, variance, skewness, excess kurtosis, without powers that overflow."""
        width = df + 2 * nc
        with np.errstate(divide="ignore", invalid="ignore"):  # df = nc = 0
            skewness = np.sqrt(8 / width) * ((df + 3 * nc) / width)
            excess = 12 * ((df + 4 * nc) / width) / width
        return df + nc, 2 * width, skewness, excess

    def _entropy(self, df: Any, nc: Any) -> float:
        if df == 0:
            return -np.inf  # an atom
        return NoncentralLaw(float(df), float(nc)).entropy()

    def _rvs(self, df: Any, nc: Any, size: Any = None, random_state: Any = None) -> Any:
        df = np.maximum(df, _LEAST_DF)
        if np.any((df <= 1) & (nc > _MANY)):
            return self._ppf(random_state.uniform(size=size), df, nc)
        return random_state.noncentral_chisquare(df, nc, size)

    def ppf_exp(
        self, log_p: Any, df: Any, nc: Any, loc: Any = 0, scale: Any = 1
    ) -> Any:
        """Quantile by the logarithm of the lower tail, where p itself is no double.

        Not a method of frozen distributions: arguments as of
        :func:`rsbounds.special.ncx2_ppf_exp`, then `loc` and `scale`.
        """
        return special.ncx2_ppf_exp(log_p, df, nc) * scale + loc

    def isf_exp(
        self, log_p: Any, df: Any, nc: Any, loc: Any = 0, scale: Any = 1
    ) -> Any:
        """Quantile by the logarithm of the upper tail; else as :meth:`ppf_exp`."""
        return special.ncx2_isf_exp(log_p, df, nc) * scale + loc

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
        """E func(X), or that of X itself, by adaptive quadrature in the law's scores.

        Values beyond a score of 37.5, where a tail is 5e-308, are left out: they count
        for functions that grow nearly as fast as the density falls.

        Parameters
        ----------
        func : callable, optional
            Of one number; the identity by default.
        args : tuple
            df and nc.
        loc, scale : float
            The variable is loc + scale X.
        lb, ub : float, optional
            Between which points it is taken; the whole support by default.
        conditional : bool
            Divide by the probability of that interval.
        **kwds
            For :func:`scipy.integrate.quad`; the relative error asked of each piece is
            1e-10 by default, or 100 times that of X in its standard deviations.

        Returns
        -------
        Array
            NaN where a parameter is outside its domain.
        """
        df, nc = (float(value) for value in args)
        if not (self._argcheck(df, nc) and scale > 0):
            return np.float64(np.nan)
        law = NoncentralLaw(max(df, _LEAST_DF), nc)
        lower = 0.0 if lb is None else (lb - loc) / scale
        upper = np.inf if ub is None else (ub - loc) / scale

        def taken(x: float) -> Any:
            y = loc + scale * x
            return y if func is None else func(y)

        # two doubles of a narrow law may be many of its standard deviations apart
        apart = EPS * (df + nc) / np.sqrt(2 * df + 4 * nc) if df + nc else 0.0
        error = min(max(1e-10, 100 * apart), 1.0)
        options = {"epsabs": 0.0, "epsrel": error, "limit": 200, **kwds}
        total = law.expectation(taken, lower, upper, options)
        return np.asarray(total / (law.share(lower, upper) if conditional else 1.0))[()]

    def fit(self, data: Any, *args: Any, **kwds: Any) -> Any:
        """Fit parameters to data, as SciPy's ``fit``, from the data's moments.

        Arguments and result are SciPy's. Shapes that are not given start where the
        law's mean and variance are those of the data, or next to it, at the location
        and scale that are given or fixed; these start at 0, or below the data, and
        where half the mean is due to the noncentrality.
        """
        numbers = data._uncensor() if hasattr(data, "_uncensor") else data
        numbers = np.asarray(numbers, dtype=np.float64).ravel()
        if np.isfinite(numbers).all() and numbers.size > 1:
            start = _start(numbers, _first(kwds, "loc"), _first(kwds, "scale"))
            args = (*args, *start[len(args) : 2])
            kwds = {"loc": start[2], "scale": start[3], **kwds}
        return super().fit(data, *args, **kwds)

    @OfObject
    def _munp(self, n: Any, df: Any, nc: Any) -> Any:
        """E X^n from the cumulants 2^(j-1) (j-1)! (df + j nc), all of them positive."""
        moments: list[Any] = [np.ones(np.broadcast_shapes(np.shape(df), np.shape(nc)))]
        with np.errstate(over="ignore"):
            for k in range(int(n)):
                terms = (
                    perm(k, j) * 2.0**j * (df + (j + 1) * nc) * moments[k - j]
                    for j in range(k + 1)
                )
                moments.append(sum(terms))
        return moments[-1]


def _first(options: Any, name: str) -> float | None:
    """What ``fit`` holds a location or a scale at, or is told to start with."""
    value = options.get(f"f{name}", options.get(name))
    return None if value is None else float(value)


def _start(data: Array, loc: float | None, scale: float | None) -> tuple[float, ...]:
    """Parameters by the first two moments: mean df + nc, variance 2 df + 4 nc."""
    spread = float(data.var())
    if loc is None:
        least = float(data.min())
        loc = 0.0 if least > 0 else least - 0.1 * (spread**0.5 or 1.0)
    mean = float(data.mean()) - loc
    if not (mean > 0 and spread > 0):
        return 1.0, 1.0, loc, 1.0 if scale is None else scale
    largest = DOMAIN["df"][1]
    if scale is None:
        # with equal parts of the mean, or with so much of it that df has no part
        scale = spread / (3 * mean)
        scale = scale if mean < largest * scale else spread / (4 * mean)
    mean, spread = mean / scale, spread / scale**2
    df = float(np.clip(2 * mean - spread / 2, 1e-3 * mean, mean))
    df = min(max(df, _LEAST_DF), largest / 2)
    return df, mean - df, loc, scale


ncx2 = ncx2_gen(a=0.0, name="ncx2", longname="A noncentral chi-square")
