"""Marcum's Q function, its complement, their logarithms and their inverses in b."""

from numpy.typing import ArrayLike

from rsbounds._numerics.checks import Floats
from rsbounds.special._call import Out, call
from rsbounds_ext import kernels


def marcum_q(
    m: ArrayLike, a: ArrayLike, b: ArrayLike, /, out: Out = None, *, where: ArrayLike = True
) -> Floats:
    """Marcum's Q: P(|Z| > b) for Z ~ N(a e1, I) in 2m dimensions.

    Q_m(a, b) = P(ncx2(2m, a^2) > b^2), the convention of radar, with `a` and `b` as lengths. Others
    write the same number Q_m(x, y) with x = a^2/2 and y = b^2/2.

    Parameters
    ----------
    m : array_like
        Order, half the dimension: a real number in [5e-301, 5e7].
    a : array_like
        Distance of the mean from 0 in standard deviations, in [0, 1e30].
    b : array_like
        Radius in standard deviations, in [0, inf].
    out, where : optional
        As for any NumPy ufunc.

    Returns
    -------
    Array
        Q, with the error of :func:`ncx2_cdf` at df = 2 m.

    Notes
    -----
    `a` and `b` are squared exactly, so nothing is lost against the lengths themselves:
    :func:`ncx2_sf` at the rounded squares can be off by 1e-16 b^2/sqrt(m + a^2) standard scores.

    References
    ----------
    Marcum, IRE Trans. Inf. Theory 6 (1960) 59; Helstrom, IEEE Trans. Inf. Theory 38 (1992) 1422.

    Examples
    --------
    >>> print(f"{marcum_q(1, 3.0, 8.0):.12g}")
    4.75964973683e-07
    >>> print(f"{marcum_q(75264, 1e3, 1.1e3):.12g}")
    1.74613698345e-176
    """
    return call(kernels.marcum_q, out, where, m=m, a=a, b=b)


def marcum_p(
    m: ArrayLike, a: ArrayLike, b: ArrayLike, /, out: Out = None, *, where: ArrayLike = True
) -> Floats:
    """The complement P(|Z| <= b) = 1 - Q_m(a, b), without the subtraction, as :func:`marcum_q`.

    Examples
    --------
    >>> print(f"{marcum_p(2, 12.0, 3.0):.12g}")
    1.32102378271e-20
    """
    return call(kernels.marcum_p, out, where, m=m, a=a, b=b)


def marcum_logq(
    m: ArrayLike, a: ArrayLike, b: ArrayLike, /, out: Out = None, *, where: ArrayLike = True
) -> Floats:
    """log Q_m(a, b): parameters as in :func:`marcum_q`, error of :func:`ncx2_logcdf` at df = 2 m.

    Examples
    --------
    >>> print(f"{marcum_logq(392, 1e3, 2e3):.12g}")
    -499736.497598
    """
    return call(kernels.marcum_logq, out, where, m=m, a=a, b=b)


def marcum_logp(
    m: ArrayLike, a: ArrayLike, b: ArrayLike, /, out: Out = None, *, where: ArrayLike = True
) -> Floats:
    """log(1 - Q_m(a, b)), without the subtraction, as :func:`marcum_logq`.

    Examples
    --------
    >>> print(f"{marcum_logp(392, 1e3, 1.0):.12g}")
    -501788.638471
    """
    return call(kernels.marcum_logp, out, where, m=m, a=a, b=b)


def marcum_q_inv(
    q: ArrayLike, m: ArrayLike, a: ArrayLike, /, out: Out = None, *, where: ArrayLike = True
) -> Floats:
    """The inverse of Marcum's Q in b: the radius with Q_m(a, b) = q.

    `q` is in [0, 1], `m` and `a` are those of :func:`marcum_q`. The result, in [0, inf], has the
    error of :func:`ncx2_ppf` at df = 2 m, and its search.

    Examples
    --------
    >>> print(f"{marcum_q_inv(1e-6, 392, 10.0):.12g}")
    33.3305282002
    """
    return call(kernels.marcum_q_inv, out, where, q=q, m=m, a=a)


def marcum_p_inv(
    p: ArrayLike, m: ArrayLike, a: ArrayLike, /, out: Out = None, *, where: ArrayLike = True
) -> Floats:
    """The radius b with 1 - Q_m(a, b) = p, otherwise as :func:`marcum_q_inv`.

    Examples
    --------
    >>> print(f"{marcum_p_inv(1e-6, 392, 10.0):.12g}")
    26.2444615824
    """
    return call(kernels.marcum_p_inv, out, where, p=p, m=m, a=a)
