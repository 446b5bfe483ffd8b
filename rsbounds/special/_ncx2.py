"""The noncentral chi-square distribution: tails, their logarithms, density, quantiles."""

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
        The lower tail. Of both tails the smaller one has a relative error, as measured, of at most
        4e-16, 8e-16 where df < 4, 2e-15 where df < 1, down to 1e-300; the larger one is 1 less it.
        Proved: 1.2e-14, 8e-14 where df < 4.

    References
    ----------
    S. O. Rice, Efficient evaluation of integrals of analytic functions by the trapezoidal rule,
    Bell System Technical Journal 52, 1973; C. W. Helstrom, Computing the generalized Marcum
    Q-function, IEEE Transactions on Information Theory 38, 1992: contour integrals for these
    tails. The one used here is derived in ``docs/theory/off-centre-ball.md``.

    Examples
    --------
    >>> print(f"{ncx2_cdf(151000.0, 150528, 1e3):.12g}")
    0.169569717575
    """
    return call(kernels.ncx2_cdf, out, where, x=x, df=df, nc=nc)


def ncx2_sf(
    x: ArrayLike, df: ArrayLike, nc: ArrayLike, /, out: Out = None, *, where: ArrayLike = True
) -> Floats:
    """P(X > x), the upper tail: parameters and error as in :func:`ncx2_cdf`.

    Examples
    --------
    >>> print(f"{ncx2_sf(1e6, 784, 1e6):.12g}")
    0.652286178855
    """
    return call(kernels.ncx2_sf, out, where, x=x, df=df, nc=nc)


def ncx2_logcdf(
    x: ArrayLike, df: ArrayLike, nc: ArrayLike, /, out: Out = None, *, where: ArrayLike = True
) -> Floats:
    """log P(X <= x), down to -1e17: parameters as in :func:`ncx2_cdf`.

    The logarithm of the smaller tail is wrong, as measured, by at most 4e-16 + 1.2e-16 \\|log p\\|,
    where df < 4 by 8e-16 + 1.6e-16 \\|log p\\|, where df < 1 by 2e-15 + 3e-16 \\|log p\\|; the
    other by less.

    Examples
    --------
    >>> print(f"{ncx2_logcdf(1e6, 150528, 1e6):.12g}")
    -2836.20331396
    """
    return call(kernels.ncx2_logcdf, out, where, x=x, df=df, nc=nc)


def ncx2_logsf(
    x: ArrayLike, df: ArrayLike, nc: ArrayLike, /, out: Out = None, *, where: ArrayLike = True
) -> Floats:
    """log P(X > x): parameters as in :func:`ncx2_cdf`, error as in :func:`ncx2_logcdf`.

    Examples
    --------
    >>> print(f"{ncx2_logsf(2e9, 150528, 1e9):.12g}")
    -85760365.6873
    """
    return call(kernels.ncx2_logsf, out, where, x=x, df=df, nc=nc)


def ncx2_pdf(
    x: ArrayLike, df: ArrayLike, nc: ArrayLike, /, out: Out = None, *, where: ArrayLike = True
) -> Floats:
    """Density at x: parameters as in :func:`ncx2_cdf`.

    The relative error, as measured, is at most 8e-16, where df < 1 2e-15, down to 1e-300.

    Examples
    --------
    >>> print(f"{ncx2_pdf(800.0, 784, 10.0):.12g}")
    0.00976266765189
    """
    return call(kernels.ncx2_pdf, out, where, x=x, df=df, nc=nc)


def ncx2_logpdf(
    x: ArrayLike, df: ArrayLike, nc: ArrayLike, /, out: Out = None, *, where: ArrayLike = True
) -> Floats:
    """Log density at x: parameters as in :func:`ncx2_cdf`.

    The error, as measured, is at most 6e-16 + 1.2e-16 \\|value\\|, where df < 4
    8e-16 + 1.6e-16 \\|value\\|, where df < 1 2e-15 + 3e-16 \\|value\\|.

    Examples
    --------
    >>> print(f"{ncx2_logpdf(2e9, 150528, 1e9):.12g}")
    -85760367.6085
    """
    return call(kernels.ncx2_logpdf, out, where, x=x, df=df, nc=nc)


def ncx2_ppf(
    p: ArrayLike, df: ArrayLike, nc: ArrayLike, /, out: Out = None, *, where: ArrayLike = True
) -> Floats:
    """Quantile, the x with P(X <= x) = p.

    Parameters
    ----------
    p : array_like
        Lower tail probability, in [0, 1].
    df, nc, out, where
        As in :func:`ncx2_cdf`.

    Returns
    -------
    Array
        x, correct to two units in its last place or to a point whose score is (as measured) within
        1e-15 max(1, \\|score\\|), 3e-15 where df < 1, whichever is coarser; 0 where x is below
        every double.

    References
    ----------
    R. Lugannani, S. Rice, Saddle point approximation for the distribution of the sum of
    independent random variables, Advances in Applied Probability 12, 1980: where the search
    begins. The tails are those of :func:`ncx2_cdf`.

    Examples
    --------
    >>> print(f"{ncx2_ppf(0.01, 784, 100.0):.12g}")
    784.050267922
    """
    return call(kernels.ncx2_ppf, out, where, p=p, df=df, nc=nc)


def ncx2_isf(
    p: ArrayLike, df: ArrayLike, nc: ArrayLike, /, out: Out = None, *, where: ArrayLike = True
) -> Floats:
    """The x with P(X > x) = p, otherwise as :func:`ncx2_ppf`.

    Examples
    --------
    >>> print(f"{ncx2_isf(1e-30, 784, 1e6):.12g}")
    1023846.94405
    """
    return call(kernels.ncx2_isf, out, where, p=p, df=df, nc=nc)


def ncx2_ppf_exp(
    log_p: ArrayLike, df: ArrayLike, nc: ArrayLike, /, out: Out = None, *, where: ArrayLike = True
) -> Floats:
    """The x with log P(X <= x) = `log_p`, in [-inf, 0], otherwise as :func:`ncx2_ppf`.

    Examples
    --------
    >>> print(f"{ncx2_ppf_exp(-1e3, 784, 1e6):.12g}")
    913524.338642
    """
    return call(kernels.ncx2_ppf_exp, out, where, log_p=log_p, df=df, nc=nc)


def ncx2_isf_exp(
    log_p: ArrayLike, df: ArrayLike, nc: ArrayLike, /, out: Out = None, *, where: ArrayLike = True
) -> Floats:
    """The x with log P(X > x) = `log_p`, in [-inf, 0], otherwise as :func:`ncx2_ppf`.

    Examples
    --------
    >>> print(f"{ncx2_isf_exp(-1e3, 784, 1e6):.12g}")
    1092022.27187
    """
    return call(kernels.ncx2_isf_exp, out, where, log_p=log_p, df=df, nc=nc)
