"""The Skellam distribution, a difference of two Poisson counts: tails of noncentral chi-squares."""

from __future__ import annotations

from numpy.typing import ArrayLike

from rsbounds._numerics.checks import Floats
from rsbounds.special._call import Out, call
from rsbounds_ext import kernels


def skellam_cdf(
    k: ArrayLike, mu1: ArrayLike, mu2: ArrayLike, /, out: Out = None, *, where: ArrayLike = True
) -> Floats:
    """P(K1 - K2 <= k) for independent Poisson counts of means mu1 and mu2.

    For k >= 0 it is P(ncx2(2k + 2, 2 mu2) > 2 mu1), for k < 0 P(ncx2(-2k, 2 mu1) <= 2 mu2):
    identities, so the error is that of the tail.

    Parameters
    ----------
    k : array_like
        Difference, rounded down to a whole number, in [-5e7, 49999999].
    mu1 : array_like
        Mean of the count that is added, in [0, 5e59].
    mu2 : array_like
        Mean of the count that is subtracted, in [0, 5e59].
    out, where : optional
        As for any NumPy ufunc.

    Returns
    -------
    Array
        The lower tail; the smaller tail to a relative error of 4e-16 (2 ulp) down to
        1e-300, at the exact arguments.

    Raises
    ------
    ValueError
        `k`, `mu1` or `mu2` outside its domain, not numeric, or shapes that do not broadcast.

    References
    ----------
    Johnson, Biometrika 46 (1959) 352; Skellam, J. Roy. Stat. Soc. 109 (1946) 296.

    Examples
    --------
    >>> print(f"{skellam_cdf(-40, 20.0, 25.0):.12g}")
    2.97980106448e-07
    """
    return call(kernels.skellam_cdf, out, where, k=k, mu1=mu1, mu2=mu2)


def skellam_sf(
    k: ArrayLike, mu1: ArrayLike, mu2: ArrayLike, /, out: Out = None, *, where: ArrayLike = True
) -> Floats:
    """P(K1 - K2 > k) for independent Poisson counts of means mu1 and mu2.

    For k >= 0 it is P(ncx2(2k + 2, 2 mu2) <= 2 mu1), for k < 0 P(ncx2(-2k, 2 mu1) > 2 mu2):
    identities, so the error is that of the tail.

    Parameters
    ----------
    k : array_like
        Difference, rounded down to a whole number, in [-5e7, 49999999].
    mu1 : array_like
        Mean of the count that is added, in [0, 5e59].
    mu2 : array_like
        Mean of the count that is subtracted, in [0, 5e59].
    out, where : optional
        As for any NumPy ufunc.

    Returns
    -------
    Array
        The upper tail; the smaller tail to a relative error of 4e-16 (2 ulp) down to
        1e-300, at the exact arguments.

    Raises
    ------
    ValueError
        `k`, `mu1` or `mu2` outside its domain, not numeric, or shapes that do not broadcast.

    References
    ----------
    Johnson, Biometrika 46 (1959) 352; Skellam, J. Roy. Stat. Soc. 109 (1946) 296.

    Examples
    --------
    >>> print(f"{skellam_sf(40, 20.0, 25.0):.12g}")
    1.30459729096e-11
    """
    return call(kernels.skellam_sf, out, where, k=k, mu1=mu1, mu2=mu2)


def skellam_logcdf(
    k: ArrayLike, mu1: ArrayLike, mu2: ArrayLike, /, out: Out = None, *, where: ArrayLike = True
) -> Floats:
    """log P(K1 - K2 <= k) for independent Poisson counts of means mu1 and mu2.

    By the identities of :func:`skellam_cdf`.

    Parameters
    ----------
    k : array_like
        Difference, rounded down to a whole number, in [-5e7, 49999999].
    mu1 : array_like
        Mean of the count that is added, in [0, 5e59].
    mu2 : array_like
        Mean of the count that is subtracted, in [0, 5e59].
    out, where : optional
        As for any NumPy ufunc.

    Returns
    -------
    Array
        The logarithm to 1.2e-16 relative and 4e-16 absolute of the smaller tail's logarithm.

    Raises
    ------
    ValueError
        `k`, `mu1` or `mu2` outside its domain, not numeric, or shapes that do not broadcast.

    References
    ----------
    Johnson, Biometrika 46 (1959) 352; Skellam, J. Roy. Stat. Soc. 109 (1946) 296.

    Examples
    --------
    >>> print(f"{skellam_logcdf(-5000, 1e3, 1e3):.12g}")
    -4855.99171397
    """
    return call(kernels.skellam_logcdf, out, where, k=k, mu1=mu1, mu2=mu2)


def skellam_logsf(
    k: ArrayLike, mu1: ArrayLike, mu2: ArrayLike, /, out: Out = None, *, where: ArrayLike = True
) -> Floats:
    """log P(K1 - K2 > k) for independent Poisson counts of means mu1 and mu2.

    By the identities of :func:`skellam_sf`.

    Parameters
    ----------
    k : array_like
        Difference, rounded down to a whole number, in [-5e7, 49999999].
    mu1 : array_like
        Mean of the count that is added, in [0, 5e59].
    mu2 : array_like
        Mean of the count that is subtracted, in [0, 5e59].
    out, where : optional
        As for any NumPy ufunc.

    Returns
    -------
    Array
        The logarithm to 1.2e-16 relative and 4e-16 absolute of the smaller tail's logarithm.

    Raises
    ------
    ValueError
        `k`, `mu1` or `mu2` outside its domain, not numeric, or shapes that do not broadcast.

    References
    ----------
    Johnson, Biometrika 46 (1959) 352; Skellam, J. Roy. Stat. Soc. 109 (1946) 296.

    Examples
    --------
    >>> print(f"{skellam_logsf(5000, 1e3, 1e3):.12g}")
    -4857.63916842
    """
    return call(kernels.skellam_logsf, out, where, k=k, mu1=mu1, mu2=mu2)
