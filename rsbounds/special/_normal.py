"""The normal distribution in log space, and a ball's probability as a score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from rsbounds.special._call import Out, examples, published, published_by


@published("ndtr")
def ndtr(z: ArrayLike, out: Out = None, *, where: Any = True, **options: Any) -> Any:
    """Standard normal CDF, P(Z <= z); the upper tail is ndtr(-z).

    `z` is any real number, infinities included. The relative error is at most 4e-15
    (proved; 2e-15 was found) down to 1e-300. The logarithm of the upper tail is
    log_ndtr(-z), that of the probability between two scores :func:`log_ndtr_gap`.

    References
    ----------
    NIST DLMF 7.12 (scaled complementary error function).

    Examples
    --------
    >>> print(f"{ndtr(-10.0):.12e}")
    7.619853024161e-24
    """


@published("log_ndtr")
def log_ndtr(
    z: ArrayLike, out: Out = None, *, where: Any = True, **options: Any
) -> Any:
    """Logarithm of the standard normal CDF, log P(Z <= z).

    Parameters
    ----------
    z : array_like
        Real numbers, infinities included.

    Returns
    -------
    Array
        log Phi(z). Its relative error is at most 4e-15 (proved; 2e-15 was found) until
        the result is subnormal, z > 37.6. At 0 it is the double nearest to -log 2, and
        it does not fall where z rises by less than 1e-10 about 0. The upper tail is
        log_ndtr(-z).

    References
    ----------
    NIST DLMF 7.12 (scaled complementary error function).

    Examples
    --------
    >>> float(log_ndtr(-40.0))
    -804.6084420137538
    """


@published("ndtri")
def ndtri(p: ArrayLike, out: Out = None, *, where: Any = True, **options: Any) -> Any:
    """Standard normal quantile Phi^-1(p): the normal score of a probability.

    `p` is in [0, 1]; the relative error is at most 2e-15 (proved). Otherwise as
    :func:`log_ndtr`.

    References
    ----------
    M. J. Wichura, Algorithm AS 241, Applied Statistics 37 (1988).

    Examples
    --------
    >>> float(ndtri(0.99))
    2.3263478740408408
    """


@published("ndtri")
def ndtri_exp(
    log_p: ArrayLike, out: Out = None, *, where: Any = True, **options: Any
) -> Any:
    """Standard normal quantile of exp(`log_p`): the inverse of :func:`log_ndtr`.

    `log_p` is in [-inf, 0]; the relative error is at most 2e-15 on [-1e300, -1e-300]
    (proved). Otherwise as :func:`ndtri`; an asymptotic series beyond log p = -760.

    Examples
    --------
    >>> float(ndtri_exp(-1e6))
    -1414.2077829910174
    """


@published("log gap")
def log_ndtr_gap(
    z_a: ArrayLike,
    z_b: ArrayLike,
    out: Out = None,
    *,
    where: Any = True,
    **options: Any,
) -> Any:
    """Logarithm of the probability between two scores, log(Phi(z_a) - Phi(z_b)).

    It keeps its digits where both probabilities are nearly the same, near 1 or tiny.

    Parameters
    ----------
    z_a, z_b : array_like
        Real numbers, infinities included.

    Returns
    -------
    Array
        The logarithm, -inf where z_a <= z_b. Its error is at most 3e-14 + 1e-14 of its
        size (proved; 4e-15 + 2e-15 of its size was found).

    References
    ----------
    The ledger of proofs, "A difference of two probabilities".

    Examples
    --------
    >>> round(float(log_ndtr_gap(1e-18, -1e-18)), 12)
    -41.672323026538
    >>> round(float(log_ndtr_gap(9.0, 8.0)), 12)
    -35.013618593437
    """


@published("score")
def ball_score(
    u: ArrayLike,
    dim: ArrayLike,
    s: ArrayLike,
    out: Out = None,
    *,
    where: Any = True,
    **options: Any,
) -> Any:
    """Normal score of a ball's probability: Phi^-1 P(|Z - s e1| <= s + u).

    Z is N(0, I_dim). The ball has its centre at distance `s` from the origin and its
    surface at signed offset `u` beyond the origin. It is the noncentral chi-square CDF
    at (s + u)^2 with nc = s^2 in coordinates that do not cancel: nearly linear in u, u
    itself in the half-space limit s = inf.

    Parameters
    ----------
    u : array_like
        Offset, in standard deviations; u <= -s is an empty ball and gives -inf.
    dim : array_like
        Dimension, a real number in [1, 1e8].
    s : array_like
        Distance of the centre in standard deviations, in [0, inf].

    Returns
    -------
    Array
        The score, non-decreasing in u and s and non-increasing in dim to within its
        error.

    Notes
    -----
    The error of a score of size z is at most:

    ===========  ====================  ===================
    dim          found                 proved
    ===========  ====================  ===================
    60 and more  4e-16 + 8e-17 z       4e-15 (1 + z)
    4 to 60      4e-16 + 8e-17 z       1.7e-14 (1 + z)
    1 to 4       8e-16 + 1.6e-16 z     1.7e-14 (1 + z)
    ===========  ====================  ===================

    References
    ----------
    Sukenik, Kuvshinov, Günnemann, Intriguing properties of input-dependent randomized
    smoothing, 2022, Theorem 2: the worst-case sets are such balls. The contour integral
    is that of :func:`ncx2_cdf`.

    Examples
    --------
    >>> round(float(ball_score(1.0, 150528, 1e6)), 12)
    0.924736537632
    >>> float(ball_score(1.0, 150528, float("inf")))
    1.0
    """


@published("inverse")
def ball_offset(
    z: ArrayLike,
    dim: ArrayLike,
    s: ArrayLike,
    out: Out = None,
    *,
    where: Any = True,
    **options: Any,
) -> Any:
    """The offset u at which a ball has score z: the inverse of :func:`ball_score` in u.

    `z` is any real number, infinities included; otherwise as :func:`ball_score`. The
    result, in [-s, inf], is correct to two units in its last place or to an offset
    whose score has the error of :func:`ncx2_ppf` (df >= 1), whichever is coarser; the
    search is the same.

    Examples
    --------
    >>> round(float(ball_offset(-2.0, 784, 10.0)), 12)
    18.23999529653
    """


if not TYPE_CHECKING:  # which takes every name of a module whose list it can't read
    __all__ = published_by(__name__)

__test__ = examples(__name__)
