"""The noncentral chi-square distribution: both tails, their logarithms, density.

References
----------
Rice, Efficient evaluation of integrals of analytic functions by the trapezoidal rule, Bell System
Technical Journal 52, 1973. Helstrom, Computing the generalized Marcum Q-function, IEEE Transactions
on Information Theory 38, 1992.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from rsbounds._numerics.checks import Floats
from rsbounds.special._call import Out, call
from rsbounds_ext import kernels


def ncx2_cdf(
    x: ArrayLike, df: ArrayLike, nc: ArrayLike, /, out: Out = None, *, where: ArrayLike = True
) -> Floats:
    """P(X <= x) for a noncentral chi-square variable.

    Parameters
    ----------
    x : array_like
        Point, in [0, inf], taken as the exact double it is.
    df : array_like
        Degrees of freedom (the dimension), a real number in [1e-300, 1e8].
    nc : array_like
        Noncentrality, the squared distance of the mean from 0, in [0, 1e60]; tested to 1e16.
    out, where : optional
        As for any NumPy ufunc.

    Returns
    -------
    Array
        The lower tail; the smaller tail to a relative error of 4e-16 (2 ulp), where df < 1
        of 2e-15, down to 1e-300, at the exact arguments.

    Raises
    ------
    ValueError
        `x`, `df` or `nc` outside its domain, not numeric, or shapes that do not broadcast.

    References
    ----------
    Rice 1973, Helstrom 1992: contour integrals for these tails; see ``docs/theory``.

    Examples
    --------
    >>> print(f"{ncx2_cdf(151000.0, 150528, 1e3):.12g}")
    0.169569717575
    """
    return call(kernels.ncx2_cdf, out, where, x=x, df=df, nc=nc)


def ncx2_sf(
    x: ArrayLike, df: ArrayLike, nc: ArrayLike, /, out: Out = None, *, where: ArrayLike = True
) -> Floats:
    """P(X > x) for a noncentral chi-square variable.

    Parameters
    ----------
    x : array_like
        Point, in [0, inf], taken as the exact double it is.
    df : array_like
        Degrees of freedom (the dimension), a real number in [1e-300, 1e8].
    nc : array_like
        Noncentrality, the squared distance of the mean from 0, in [0, 1e60]; tested to 1e16.
    out, where : optional
        As for any NumPy ufunc.

    Returns
    -------
    Array
        The upper tail; the smaller tail to a relative error of 4e-16 (2 ulp), where df < 1
        of 2e-15, down to 1e-300, at the exact arguments.

    Raises
    ------
    ValueError
        `x`, `df` or `nc` outside its domain, not numeric, or shapes that do not broadcast.

    References
    ----------
    Rice 1973, Helstrom 1992: contour integrals for these tails; see ``docs/theory``.

    Examples
    --------
    >>> print(f"{ncx2_sf(1e6, 784, 1e6):.12g}")
    0.652286178855
    """
    return call(kernels.ncx2_sf, out, where, x=x, df=df, nc=nc)


def ncx2_logcdf(
    x: ArrayLike, df: ArrayLike, nc: ArrayLike, /, out: Out = None, *, where: ArrayLike = True
) -> Floats:
    """log P(X <= x) for a noncentral chi-square variable.

    Parameters
    ----------
    x : array_like
        Point, in [0, inf], taken as the exact double it is.
    df : array_like
        Degrees of freedom (the dimension), a real number in [1e-300, 1e8].
    nc : array_like
        Noncentrality, the squared distance of the mean from 0, in [0, 1e60]; tested to 1e16.
    out, where : optional
        As for any NumPy ufunc.

    Returns
    -------
    Array
        The logarithm to 1.2e-16 relative and 4e-16 absolute of the smaller tail's logarithm,
        where df < 1 to 3e-16 and 2e-15; log p down to -1e17.

    Raises
    ------
    ValueError
        `x`, `df` or `nc` outside its domain, not numeric, or shapes that do not broadcast.

    References
    ----------
    Rice 1973, Helstrom 1992: contour integrals for these tails; see ``docs/theory``.

    Examples
    --------
    >>> print(f"{ncx2_logcdf(1e6, 150528, 1e6):.12g}")
    -2836.20331396
    """
    return call(kernels.ncx2_logcdf, out, where, x=x, df=df, nc=nc)


def ncx2_logsf(
    x: ArrayLike, df: ArrayLike, nc: ArrayLike, /, out: Out = None, *, where: ArrayLike = True
) -> Floats:
    """log P(X > x) for a noncentral chi-square variable.

    Parameters
    ----------
    x : array_like
        Point, in [0, inf], taken as the exact double it is.
    df : array_like
        Degrees of freedom (the dimension), a real number in [1e-300, 1e8].
    nc : array_like
        Noncentrality, the squared distance of the mean from 0, in [0, 1e60]; tested to 1e16.
    out, where : optional
        As for any NumPy ufunc.

    Returns
    -------
    Array
        The logarithm to 1.2e-16 relative and 4e-16 absolute of the smaller tail's logarithm,
        where df < 1 to 3e-16 and 2e-15; log p down to -1e17.

    Raises
    ------
    ValueError
        `x`, `df` or `nc` outside its domain, not numeric, or shapes that do not broadcast.

    References
    ----------
    Rice 1973, Helstrom 1992: contour integrals for these tails; see ``docs/theory``.

    Examples
    --------
    >>> print(f"{ncx2_logsf(2e9, 150528, 1e9):.12g}")
    -85760365.6873
    """
    return call(kernels.ncx2_logsf, out, where, x=x, df=df, nc=nc)


def ncx2_pdf(
    x: ArrayLike, df: ArrayLike, nc: ArrayLike, /, out: Out = None, *, where: ArrayLike = True
) -> Floats:
    """Density of a noncentral chi-square variable.

    Parameters
    ----------
    x : array_like
        Point, in [0, inf], taken as the exact double it is.
    df : array_like
        Degrees of freedom (the dimension), a real number in [1e-300, 1e8].
    nc : array_like
        Noncentrality, the squared distance of the mean from 0, in [0, 1e60]; tested to 1e16.
    out, where : optional
        As for any NumPy ufunc.

    Returns
    -------
    Array
        The density, relative error at most 8e-16, where df < 1 2e-15, down to 1e-300.

    Raises
    ------
    ValueError
        `x`, `df` or `nc` outside its domain, not numeric, or shapes that do not broadcast.

    References
    ----------
    Rice 1973, Helstrom 1992: contour integrals for these tails; see ``docs/theory``.

    Examples
    --------
    >>> print(f"{ncx2_pdf(800.0, 784, 10.0):.12g}")
    0.00976266765189
    """
    return call(kernels.ncx2_pdf, out, where, x=x, df=df, nc=nc)


def ncx2_logpdf(
    x: ArrayLike, df: ArrayLike, nc: ArrayLike, /, out: Out = None, *, where: ArrayLike = True
) -> Floats:
    """Log density of a noncentral chi-square variable.

    Parameters
    ----------
    x : array_like
        Point, in [0, inf], taken as the exact double it is.
    df : array_like
        Degrees of freedom (the dimension), a real number in [1e-300, 1e8].
    nc : array_like
        Noncentrality, the squared distance of the mean from 0, in [0, 1e60]; tested to 1e16.
    out, where : optional
        As for any NumPy ufunc.

    Returns
    -------
    Array
        The logarithm of the density, error at most 1.2e-16 relative and 6e-16 absolute, where
        df < 1 3e-16 and 2e-15.

    Raises
    ------
    ValueError
        `x`, `df` or `nc` outside its domain, not numeric, or shapes that do not broadcast.

    References
    ----------
    Rice 1973, Helstrom 1992: contour integrals for these tails; see ``docs/theory``.

    Examples
    --------
    >>> print(f"{ncx2_logpdf(2e9, 150528, 1e9):.12g}")
    -85760367.6085
    """
    return call(kernels.ncx2_logpdf, out, where, x=x, df=df, nc=nc)
