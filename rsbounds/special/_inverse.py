"""Noncentral chi-square tails solved for a parameter: noncentrality or degrees of freedom."""

from __future__ import annotations

from numpy.typing import ArrayLike

from rsbounds._numerics.checks import Floats
from rsbounds.special._call import Out, call
from rsbounds_ext import kernels


def ncx2_cdf_inv_nc(
    x: ArrayLike, df: ArrayLike, p: ArrayLike, /, out: Out = None, *, where: ArrayLike = True
) -> Floats:
    """The noncentrality at which :func:`ncx2_cdf` (x, df, nc) is p.

    Parameters
    ----------
    x : array_like
        Point, in [0, inf]; where it is 0 or beyond 1e120 no value is defined, and NaN comes out.
    df : array_like
        Degrees of freedom, a real number in [1e-300, 1e8].
    p : array_like
        Lower tail probability, in [0, 1].
    out, where : optional
        As for any NumPy ufunc.

    Returns
    -------
    Array
        nc in [0, 1e60], correct to half a unit in its last place or to a value whose score is
        within 4e-15 max(1, \\|score\\|), whichever is coarser; NaN with the invalid flag where no
        nc there has that tail (one that only rounding puts beyond an end gives the end).

    Raises
    ------
    ValueError
        `x`, `df` or `p` outside its domain, not numeric, or shapes that do not broadcast.

    Notes
    -----
    P(X <= x) falls as nc grows, and p = 0 is reached at nc = inf.

    References
    ----------
    SciPy's ``chndtrinc`` and ``chndtridf`` take the arguments in this order.

    Examples
    --------
    >>> print(f"{ncx2_cdf_inv_nc(784.0, 784, 1e-3):.12g}")
    135.541827366
    """
    return call(kernels.ncx2_cdf_inv_nc, out, where, x=x, df=df, p=p)


def ncx2_sf_inv_nc(
    x: ArrayLike, df: ArrayLike, p: ArrayLike, /, out: Out = None, *, where: ArrayLike = True
) -> Floats:
    """The noncentrality at which :func:`ncx2_sf` (x, df, nc) is p.

    Parameters
    ----------
    x : array_like
        Point, in [0, inf]; where it is 0 or beyond 1e120 no value is defined, and NaN comes out.
    df : array_like
        Degrees of freedom, a real number in [1e-300, 1e8].
    p : array_like
        Upper tail probability, in [0, 1].
    out, where : optional
        As for any NumPy ufunc.

    Returns
    -------
    Array
        nc in [0, 1e60], correct to half a unit in its last place or to a value whose score is
        within 4e-15 max(1, \\|score\\|), whichever is coarser; NaN with the invalid flag where no
        nc there has that tail (one that only rounding puts beyond an end gives the end).

    Raises
    ------
    ValueError
        `x`, `df` or `p` outside its domain, not numeric, or shapes that do not broadcast.

    Notes
    -----
    With x the critical value of a chi-square test and p its power, nc is the effect it needs.
    P(X > x) grows with nc, and p = 1 is reached at nc = inf.

    References
    ----------
    SciPy's ``chndtrinc`` and ``chndtridf`` take the arguments in this order.

    Examples
    --------
    >>> print(f"{ncx2_sf_inv_nc(3.841458820694124, 1, 0.9):.12g}")
    10.5074194097
    """
    return call(kernels.ncx2_sf_inv_nc, out, where, x=x, df=df, p=p)


def ncx2_cdf_inv_df(
    x: ArrayLike, p: ArrayLike, nc: ArrayLike, /, out: Out = None, *, where: ArrayLike = True
) -> Floats:
    """The degrees of freedom at which :func:`ncx2_cdf` (x, df, nc) is p.

    Parameters
    ----------
    x : array_like
        Point, in [0, inf]; where it is 0 or beyond 1e120 no value is defined, and NaN comes out.
    p : array_like
        Lower tail probability, in [0, 1].
    nc : array_like
        Noncentrality, in [0, 1e60].
    out, where : optional
        As for any NumPy ufunc.

    Returns
    -------
    Array
        df in [1e-300, 1e8], correct to half a unit in its last place or to a value whose score is
        within 4e-15 max(1, \\|score\\|), whichever is coarser; NaN with the invalid flag where no
        df there has that tail (one that only rounding puts beyond an end gives the end).

    Raises
    ------
    ValueError
        `x`, `p` or `nc` outside its domain, not numeric, or shapes that do not broadcast.

    Notes
    -----
    P(X <= x) falls as df grows.

    References
    ----------
    SciPy's ``chndtrinc`` and ``chndtridf`` take the arguments in this order.

    Examples
    --------
    >>> print(f"{ncx2_cdf_inv_df(800.0, 0.25, 20.0):.12g}")
    808.138875312
    """
    return call(kernels.ncx2_cdf_inv_df, out, where, x=x, p=p, nc=nc)


def ncx2_sf_inv_df(
    x: ArrayLike, p: ArrayLike, nc: ArrayLike, /, out: Out = None, *, where: ArrayLike = True
) -> Floats:
    """The degrees of freedom at which :func:`ncx2_sf` (x, df, nc) is p.

    Parameters
    ----------
    x : array_like
        Point, in [0, inf]; where it is 0 or beyond 1e120 no value is defined, and NaN comes out.
    p : array_like
        Upper tail probability, in [0, 1].
    nc : array_like
        Noncentrality, in [0, 1e60].
    out, where : optional
        As for any NumPy ufunc.

    Returns
    -------
    Array
        df in [1e-300, 1e8], correct to half a unit in its last place or to a value whose score is
        within 4e-15 max(1, \\|score\\|), whichever is coarser; NaN with the invalid flag where no
        df there has that tail (one that only rounding puts beyond an end gives the end).

    Raises
    ------
    ValueError
        `x`, `p` or `nc` outside its domain, not numeric, or shapes that do not broadcast.

    Notes
    -----
    P(X > x) grows with df.

    References
    ----------
    SciPy's ``chndtrinc`` and ``chndtridf`` take the arguments in this order.

    Examples
    --------
    >>> print(f"{ncx2_sf_inv_df(1e6, 1e-9, 9e5):.12g}")
    88309.7189377
    """
    return call(kernels.ncx2_sf_inv_df, out, where, x=x, p=p, nc=nc)
