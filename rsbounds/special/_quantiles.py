"""Quantiles of the noncentral chi-square distribution.

References
----------
Lugannani, Rice, Saddle point approximation for the distribution of the sum of independent random
variables, Advances in Applied Probability 12, 1980: where the search begins. The tails are those
of :func:`ncx2_cdf`.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from rsbounds._numerics.checks import Floats
from rsbounds.special._call import Out, call
from rsbounds_ext import kernels


def ncx2_ppf(
    p: ArrayLike, df: ArrayLike, nc: ArrayLike, /, out: Out = None, *, where: ArrayLike = True
) -> Floats:
    """Quantile: the x with P(X <= x) = p.

    Parameters
    ----------
    p : array_like
        Lower tail probability, in [0, 1].
    df : array_like
        Degrees of freedom (the dimension), a real number in [1e-300, 1e8].
    nc : array_like
        Noncentrality, the squared distance of the mean from 0, in [0, 1e60]; tested to 1e16.
    out, where : optional
        As for any NumPy ufunc.

    Returns
    -------
    Array
        x, correct to two units in its last place or to a point whose score is within
        1e-15 max(1, \\|score\\|), 3e-15 where df < 1, whichever is coarser; 0 where x is below
        every double.

    Raises
    ------
    ValueError
        `p`, `df` or `nc` outside its domain, not numeric, or shapes that do not broadcast.

    References
    ----------
    Lugannani and Rice 1980 for the first approximation; see ``docs/theory``.

    Examples
    --------
    >>> print(f"{ncx2_ppf(0.01, 784, 100.0):.12g}")
    784.050267922
    """
    return call(kernels.ncx2_ppf, out, where, p=p, df=df, nc=nc)


def ncx2_isf(
    p: ArrayLike, df: ArrayLike, nc: ArrayLike, /, out: Out = None, *, where: ArrayLike = True
) -> Floats:
    """Inverse survival function: the x with P(X > x) = p.

    Parameters
    ----------
    p : array_like
        Upper tail probability, in [0, 1].
    df : array_like
        Degrees of freedom (the dimension), a real number in [1e-300, 1e8].
    nc : array_like
        Noncentrality, the squared distance of the mean from 0, in [0, 1e60]; tested to 1e16.
    out, where : optional
        As for any NumPy ufunc.

    Returns
    -------
    Array
        x, correct to two units in its last place or to a point whose score is within
        1e-15 max(1, \\|score\\|), 3e-15 where df < 1, whichever is coarser; 0 where x is below
        every double.

    Raises
    ------
    ValueError
        `p`, `df` or `nc` outside its domain, not numeric, or shapes that do not broadcast.

    References
    ----------
    Lugannani and Rice 1980 for the first approximation; see ``docs/theory``.

    Examples
    --------
    >>> print(f"{ncx2_isf(1e-30, 784, 1e6):.12g}")
    1023846.94405
    """
    return call(kernels.ncx2_isf, out, where, p=p, df=df, nc=nc)


def ncx2_ppf_exp(
    log_p: ArrayLike, df: ArrayLike, nc: ArrayLike, /, out: Out = None, *, where: ArrayLike = True
) -> Floats:
    """Quantile of a lower tail given by its logarithm.

    Parameters
    ----------
    log_p : array_like
        log P(X <= x), in [-inf, 0].
    df : array_like
        Degrees of freedom (the dimension), a real number in [1e-300, 1e8].
    nc : array_like
        Noncentrality, the squared distance of the mean from 0, in [0, 1e60]; tested to 1e16.
    out, where : optional
        As for any NumPy ufunc.

    Returns
    -------
    Array
        x, correct to two units in its last place or to a point whose score is within
        1e-15 max(1, \\|score\\|), 3e-15 where df < 1, whichever is coarser; 0 where x is below
        every double.

    Raises
    ------
    ValueError
        `log_p`, `df` or `nc` outside its domain, not numeric, or shapes that do not broadcast.

    References
    ----------
    Lugannani and Rice 1980 for the first approximation; see ``docs/theory``.

    Examples
    --------
    >>> print(f"{ncx2_ppf_exp(-1e3, 784, 1e6):.12g}")
    913524.338642
    """
    return call(kernels.ncx2_ppf_exp, out, where, log_p=log_p, df=df, nc=nc)


def ncx2_isf_exp(
    log_p: ArrayLike, df: ArrayLike, nc: ArrayLike, /, out: Out = None, *, where: ArrayLike = True
) -> Floats:
    """Inverse survival function of a tail given by its logarithm.

    Parameters
    ----------
    log_p : array_like
        log P(X > x), in [-inf, 0].
    df : array_like
        Degrees of freedom (the dimension), a real number in [1e-300, 1e8].
    nc : array_like
        Noncentrality, the squared distance of the mean from 0, in [0, 1e60]; tested to 1e16.
    out, where : optional
        As for any NumPy ufunc.

    Returns
    -------
    Array
        x, correct to two units in its last place or to a point whose score is within
        1e-15 max(1, \\|score\\|), 3e-15 where df < 1, whichever is coarser; 0 where x is below
        every double.

    Raises
    ------
    ValueError
        `log_p`, `df` or `nc` outside its domain, not numeric, or shapes that do not broadcast.

    References
    ----------
    Lugannani and Rice 1980 for the first approximation; see ``docs/theory``.

    Examples
    --------
    >>> print(f"{ncx2_isf_exp(-1e3, 784, 1e6):.12g}")
    1092022.27187
    """
    return call(kernels.ncx2_isf_exp, out, where, log_p=log_p, df=df, nc=nc)
