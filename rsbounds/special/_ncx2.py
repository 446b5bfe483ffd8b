"""Noncentral chi-square and Marcum's Q: tails, logarithms, densities, quantiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from rsbounds.special._call import Out, examples, published, published_by


@published("tail")
def ncx2_cdf(
    x: ArrayLike,
    df: ArrayLike,
    nc: ArrayLike,
    out: Out = None,
    *,
    where: Any = True,
    **options: Any,
) -> Any:
    """P(X <= x) for a noncentral chi-square variable.

    Parameters
    ----------
    x : array_like
        Point, in [0, inf], taken as the exact double it is.
    df : array_like
        Degrees of freedom (the dimension), a real number in [1e-300, 1e30], or 0, where
        the law has the mass e^(-nc/2) at 0.
    nc : array_like
        Noncentrality, the squared distance of the mean from 0, in [0, 1e60]; tested to
        1e16.

    Returns
    -------
    Array
        The lower tail.

    Notes
    -----
    The smaller of both tails, down to 1e-300, has this relative error at most; the
    larger tail is 1 minus the smaller one.

    ==========  =======  =======
    df          found    proved
    ==========  =======  =======
    4 and more  4e-16    1.2e-14
    1 to 4      8e-16    8e-14
    below 1     2e-15    8e-14
    ==========  =======  =======

    References
    ----------
    S. O. Rice, Efficient evaluation of integrals of analytic functions by the
    trapezoidal rule, Bell System Technical Journal 52, 1973; C. W. Helstrom, Computing
    the generalized Marcum Q-function, IEEE Transactions on Information Theory 38, 1992:
    contour integrals for these tails. The one used here is derived in
    ``docs/theory/off-centre-ball.md``, and so are the sums that replace it at nc = 0
    for whole df up to 60.

    Examples
    --------
    >>> print(f"{ncx2_cdf(151000.0, 150528, 1e3):.12g}")
    0.169569717575
    """


@published("tail")
def ncx2_sf(
    x: ArrayLike,
    df: ArrayLike,
    nc: ArrayLike,
    out: Out = None,
    *,
    where: Any = True,
    **options: Any,
) -> Any:
    """P(X > x), the upper tail: parameters and error as in :func:`ncx2_cdf`.

    Examples
    --------
    >>> print(f"{ncx2_sf(1e6, 784, 1e6):.12g}")
    0.652286178855
    """


@published("log")
def ncx2_logcdf(
    x: ArrayLike,
    df: ArrayLike,
    nc: ArrayLike,
    out: Out = None,
    *,
    where: Any = True,
    **options: Any,
) -> Any:
    """Logarithm of P(X <= x), down to -1e17: parameters as in :func:`ncx2_cdf`.

    Notes
    -----
    The logarithm of the smaller tail, l = \\|log p\\|, has this absolute error at most;
    that of the larger tail has less.

    ==========  ===================  ===================
    df          found                proved
    ==========  ===================  ===================
    4 and more  4e-16 + 1.2e-16 l    1.2e-14 + 6e-16 l
    1 to 4      8e-16 + 1.6e-16 l    8e-14 + 6e-16 l
    below 1     2e-15 + 3e-16 l      8e-14 + 6e-16 l
    ==========  ===================  ===================

    Examples
    --------
    >>> print(f"{ncx2_logcdf(1e6, 150528, 1e6):.12g}")
    -2836.20331396
    """


@published("log")
def ncx2_logsf(
    x: ArrayLike,
    df: ArrayLike,
    nc: ArrayLike,
    out: Out = None,
    *,
    where: Any = True,
    **options: Any,
) -> Any:
    """Logarithm of P(X > x): parameters and error of :func:`ncx2_logcdf`.

    Examples
    --------
    >>> print(f"{ncx2_logsf(2e9, 150528, 1e9):.12g}")
    -85760365.6873
    """


@published("density")
def ncx2_pdf(
    x: ArrayLike,
    df: ArrayLike,
    nc: ArrayLike,
    out: Out = None,
    *,
    where: Any = True,
    **options: Any,
) -> Any:
    """Density at x: parameters as in :func:`ncx2_cdf`.

    Notes
    -----
    Densities down to 1e-300 have this relative error at most.

    ==========  =======  =======
    df          found    proved
    ==========  =======  =======
    4 and more  8e-16    1.2e-14
    1 to 4      8e-16    8e-14
    below 1     2e-15    8e-14
    ==========  =======  =======

    Examples
    --------
    >>> print(f"{ncx2_pdf(800.0, 784, 10.0):.12g}")
    0.00976266765189
    """


@published("log density")
def ncx2_logpdf(
    x: ArrayLike,
    df: ArrayLike,
    nc: ArrayLike,
    out: Out = None,
    *,
    where: Any = True,
    **options: Any,
) -> Any:
    """Log density at x: parameters as in :func:`ncx2_cdf`.

    Notes
    -----
    The absolute error of a result of size l is at most:

    ==========  ===================  ===================
    df          found                proved
    ==========  ===================  ===================
    4 and more  6e-16 + 1.2e-16 l    1.2e-14 + 6e-16 l
    1 to 4      8e-16 + 1.6e-16 l    8e-14 + 6e-16 l
    below 1     2e-15 + 3e-16 l      8e-14 + 6e-16 l
    ==========  ===================  ===================

    Examples
    --------
    >>> print(f"{ncx2_logpdf(2e9, 150528, 1e9):.12g}")
    -85760367.6085
    """


@published("inverse")
def ncx2_ppf(
    p: ArrayLike,
    df: ArrayLike,
    nc: ArrayLike,
    out: Out = None,
    *,
    where: Any = True,
    **options: Any,
) -> Any:
    """Quantile, the x with P(X <= x) = p.

    Parameters
    ----------
    p : array_like
        Lower tail probability, in [0, 1].
    df, nc
        As in :func:`ncx2_cdf`.

    Returns
    -------
    Array
        x, or 0 where x is below every double. It is correct to two units in its last
        place, or to a point whose normal score has the error below, whichever is
        coarser.

    Notes
    -----
    The error of a score of size s is at most (the search's last step is not proved):

    ==========  ===================  ===================
    df          found                proved
    ==========  ===================  ===================
    1 and more  1e-15 max(1, s)      6e-14 + 3e-14 s
    below 1     3e-15 max(1, s)      6e-14 + 3e-14 s
    ==========  ===================  ===================

    References
    ----------
    R. Lugannani, S. Rice, Saddle point approximation for the distribution of the sum of
    independent random variables, Advances in Applied Probability 12, 1980: where the
    search begins; at nc = 0 it is the cube root of E. B. Wilson, M. M. Hilferty, Proc.
    Nat. Acad. Sci. 17, 1931. The tails are those of :func:`ncx2_cdf`.

    Examples
    --------
    >>> print(f"{ncx2_ppf(0.01, 784, 100.0):.12g}")
    784.050267922
    """


@published("inverse")
def ncx2_isf(
    p: ArrayLike,
    df: ArrayLike,
    nc: ArrayLike,
    out: Out = None,
    *,
    where: Any = True,
    **options: Any,
) -> Any:
    """Upper quantile, the x with P(X > x) = p; otherwise as :func:`ncx2_ppf`.

    Examples
    --------
    >>> print(f"{ncx2_isf(1e-30, 784, 1e6):.12g}")
    1023846.94405
    """


@published("inverse")
def ncx2_ppf_exp(
    log_p: ArrayLike,
    df: ArrayLike,
    nc: ArrayLike,
    out: Out = None,
    *,
    where: Any = True,
    **options: Any,
) -> Any:
    """Quantile, the x with log P(X <= x) = `log_p`; otherwise as :func:`ncx2_ppf`.

    `log_p` is in [-inf, 0].

    Examples
    --------
    >>> print(f"{ncx2_ppf_exp(-1e3, 784, 1e6):.12g}")
    913524.338642
    """


@published("inverse")
def ncx2_isf_exp(
    log_p: ArrayLike,
    df: ArrayLike,
    nc: ArrayLike,
    out: Out = None,
    *,
    where: Any = True,
    **options: Any,
) -> Any:
    """Upper quantile, the x with log P(X > x) = `log_p`; else as :func:`ncx2_ppf`.

    `log_p` is in [-inf, 0].

    Examples
    --------
    >>> print(f"{ncx2_isf_exp(-1e3, 784, 1e6):.12g}")
    1092022.27187
    """


@published("tail")
def marcum_q(
    m: ArrayLike,
    a: ArrayLike,
    b: ArrayLike,
    out: Out = None,
    *,
    where: Any = True,
    **options: Any,
) -> Any:
    """Marcum's Q: P(|Z| > b) for Z ~ N(a e1, I) in 2m dimensions.

    Q_m(a, b) = P(ncx2(2m, a^2) > b^2), the convention of radar, with `a` and `b` as
    lengths. Others write the same number Q_m(x, y) with x = a^2/2 and y = b^2/2.

    Parameters
    ----------
    m : array_like
        Order, half the dimension: a real number in [5e-301, 5e29], or 0.
    a : array_like
        Distance of the mean from 0 in standard deviations, in [0, 1e30].
    b : array_like
        Radius in standard deviations, in [0, inf].

    Returns
    -------
    Array
        Q, with the error of :func:`ncx2_cdf` at df = 2 m.

    Notes
    -----
    `a` and `b` are squared exactly, so nothing is lost against the lengths themselves:
    :func:`ncx2_sf` at the rounded squares can be off by 1e-16 b^2/sqrt(m + a^2)
    standard scores.

    References
    ----------
    Marcum, IRE Trans. Inf. Theory 6 (1960) 59; Helstrom, IEEE Trans. Inf. Theory 38
    (1992) 1422.

    Examples
    --------
    >>> print(f"{marcum_q(1, 3.0, 8.0):.12g}")
    4.75964973683e-07
    """


@published("tail")
def marcum_p(
    m: ArrayLike,
    a: ArrayLike,
    b: ArrayLike,
    out: Out = None,
    *,
    where: Any = True,
    **options: Any,
) -> Any:
    """Complement of Marcum's Q: P(|Z| <= b) = 1 - Q_m(a, b), without the subtraction.

    Parameters and error are those of :func:`marcum_q`.

    Examples
    --------
    >>> print(f"{marcum_p(2, 12.0, 3.0):.12g}")
    1.32102378271e-20
    """


@published("log")
def marcum_logq(
    m: ArrayLike,
    a: ArrayLike,
    b: ArrayLike,
    out: Out = None,
    *,
    where: Any = True,
    **options: Any,
) -> Any:
    """Logarithm of Marcum's Q_m(a, b): parameters as in :func:`marcum_q`.

    The error is that of :func:`ncx2_logcdf` at df = 2 m.

    Examples
    --------
    >>> print(f"{marcum_logq(392, 1e3, 2e3):.12g}")
    -499736.497598
    """


@published("log")
def marcum_logp(
    m: ArrayLike,
    a: ArrayLike,
    b: ArrayLike,
    out: Out = None,
    *,
    where: Any = True,
    **options: Any,
) -> Any:
    """Logarithm of 1 - Q_m(a, b), without the subtraction, as :func:`marcum_logq`.

    Examples
    --------
    >>> print(f"{marcum_logp(392, 1e3, 1.0):.12g}")
    -501788.638471
    """


@published("inverse")
def marcum_q_inv(
    q: ArrayLike,
    m: ArrayLike,
    a: ArrayLike,
    out: Out = None,
    *,
    where: Any = True,
    **options: Any,
) -> Any:
    """The inverse of Marcum's Q in b: the radius with Q_m(a, b) = q.

    `q` is in [0, 1], `m` and `a` are those of :func:`marcum_q`. The result, in [0,
    inf], has the error of :func:`ncx2_ppf` at df = 2 m, and its search.

    Examples
    --------
    >>> print(f"{marcum_q_inv(1e-6, 392, 10.0):.12g}")
    33.3305282002
    """


@published("inverse")
def marcum_p_inv(
    p: ArrayLike,
    m: ArrayLike,
    a: ArrayLike,
    out: Out = None,
    *,
    where: Any = True,
    **options: Any,
) -> Any:
    """The radius b with 1 - Q_m(a, b) = p, otherwise as :func:`marcum_q_inv`.

    Examples
    --------
    >>> print(f"{marcum_p_inv(1e-6, 392, 10.0):.12g}")
    26.2444615824
    """


if not TYPE_CHECKING:  # which takes every name of a module whose list it can't read
    __all__ = published_by(__name__)

__test__ = examples(__name__)
