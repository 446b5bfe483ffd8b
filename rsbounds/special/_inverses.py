"""Noncentrality and degrees of freedom by inversion, and Marcum's inverse in a."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from rsbounds.special._call import Out, examples, published, published_by


@published("inverse")
def ncx2_nc(
    p: ArrayLike,
    x: ArrayLike,
    df: ArrayLike,
    out: Out = None,
    *,
    where: Any = True,
    **options: Any,
) -> Any:
    """Noncentrality nc at which P(X <= x) = p, for power and intervals.

    P(X <= x) falls with nc, from the central law's to 0.

    Parameters
    ----------
    p : array_like
        Lower tail probability, in [0, 1].
    x : array_like
        Point, in [0, inf], taken as the exact double it is.
    df : array_like
        Degrees of freedom, in [1e-300, 1e30], or 0.

    Returns
    -------
    Array
        nc, in [0, inf]: inf where p = 0, NaN with NumPy's invalid flag where no
        noncentrality has that probability, as p is above that of the central law by
        more than its error. It is correct to two units in its last place, or to an nc
        at which the score of P(X <= x) has the error of :func:`ncx2_ppf`, whichever is
        coarser.

    References
    ----------
    ``docs/theory/inverses.md``.

    Examples
    --------
    >>> print(f"{ncx2_nc(0.5, 10.0, 3):.12g}")
    7.96006401519
    """


@published("inverse")
def ncx2_nc_sf(
    p: ArrayLike,
    x: ArrayLike,
    df: ArrayLike,
    out: Out = None,
    *,
    where: Any = True,
    **options: Any,
) -> Any:
    """Noncentrality nc at which P(X > x) = `p`; otherwise as :func:`ncx2_nc`.

    That is the effect at which a test that rejects beyond x has the power p; 0 where p
    is the test's level.

    Examples
    --------
    >>> from rsbounds.special import ncx2_isf
    >>> print(f"{ncx2_nc_sf(0.8, ncx2_isf(5e-8, 1, 0), 1):.12g}")
    39.6009890211
    """


@published("inverse")
def ncx2_nc_exp(
    log_p: ArrayLike,
    x: ArrayLike,
    df: ArrayLike,
    out: Out = None,
    *,
    where: Any = True,
    **options: Any,
) -> Any:
    """Noncentrality nc at which log P(X <= x) = `log_p`; else as :func:`ncx2_nc`.

    `log_p` is in [-inf, 0].

    Examples
    --------
    >>> print(f"{ncx2_nc_exp(-1e3, 784.0, 784):.12g}")
    4037.25378896
    """


@published("inverse")
def ncx2_nc_sf_exp(
    log_p: ArrayLike,
    x: ArrayLike,
    df: ArrayLike,
    out: Out = None,
    *,
    where: Any = True,
    **options: Any,
) -> Any:
    """Noncentrality nc at which log P(X > x) = `log_p`; else as :func:`ncx2_nc`.

    `log_p` is in [-inf, 0].

    Examples
    --------
    >>> print(f"{ncx2_nc_sf_exp(-1e3, 5000.0, 784):.12g}")
    243.668645004
    """


@published("inverse in df")
def ncx2_df(
    p: ArrayLike,
    x: ArrayLike,
    nc: ArrayLike,
    out: Out = None,
    *,
    where: Any = True,
    **options: Any,
) -> Any:
    """Degrees of freedom at which P(X <= x) = p.

    P(X <= x) falls with df, from its limit at df = 0, where the law has the mass
    e^(-nc/2) at 0.

    Parameters
    ----------
    p : array_like
        Lower tail probability, in [0, 1].
    x : array_like
        Point, in [0, inf], taken as the exact double it is.
    nc : array_like
        Noncentrality, in [0, 1e60].

    Returns
    -------
    Array
        df, in [1e-300, 1e30] or 0 below that; inf where p = 0, NaN with NumPy's invalid
        flag where none of these has that probability. Its error is that of
        :func:`ncx2_nc`; below df = 1 errors up to 1.7e-14 of a score were found.

    References
    ----------
    ``docs/theory/inverses.md``.

    Examples
    --------
    >>> print(f"{ncx2_df(0.01, 784.0, 100.0):.12g}")
    783.946932508
    """


@published("inverse in df")
def ncx2_df_sf(
    p: ArrayLike,
    x: ArrayLike,
    nc: ArrayLike,
    out: Out = None,
    *,
    where: Any = True,
    **options: Any,
) -> Any:
    """Degrees of freedom at which P(X > x) = `p`; otherwise as :func:`ncx2_df`.

    Examples
    --------
    >>> print(f"{ncx2_df_sf(1e-30, 1e6, 9e5):.12g}")
    77655.6654507
    """


@published("inverse in df")
def ncx2_df_exp(
    log_p: ArrayLike,
    x: ArrayLike,
    nc: ArrayLike,
    out: Out = None,
    *,
    where: Any = True,
    **options: Any,
) -> Any:
    """Degrees of freedom at which log P(X <= x) = `log_p`; else as :func:`ncx2_df`.

    `log_p` is in [-inf, 0].

    Examples
    --------
    >>> print(f"{ncx2_df_exp(-1e3, 784.0, 10.0):.12g}")
    3127.67350564
    """


@published("inverse in df")
def ncx2_df_sf_exp(
    log_p: ArrayLike,
    x: ArrayLike,
    nc: ArrayLike,
    out: Out = None,
    *,
    where: Any = True,
    **options: Any,
) -> Any:
    """Degrees of freedom at which log P(X > x) = `log_p`; else as :func:`ncx2_df`.

    `log_p` is in [-inf, 0].

    Examples
    --------
    >>> print(f"{ncx2_df_sf_exp(-1e3, 5000.0, 10.0):.12g}")
    1248.67343746
    """


@published("inverse")
def marcum_q_inv_a(
    q: ArrayLike,
    m: ArrayLike,
    b: ArrayLike,
    out: Out = None,
    *,
    where: Any = True,
    **options: Any,
) -> Any:
    """The inverse of Marcum's Q in a: the distance with Q_m(a, b) = q.

    In radar the amplitude that is detected with probability q beyond the threshold b.
    `q` is in [0, 1], `m` and `b` are those of :func:`marcum_q`. The result, in [0,
    inf], has the limits and the error of :func:`ncx2_nc_sf` at df = 2 m, with `b`
    squared exactly.

    Examples
    --------
    >>> from rsbounds.special import marcum_q_inv
    >>> print(f"{marcum_q_inv_a(0.9, 1, marcum_q_inv(1e-6, 1, 0.0)):.12g}")
    6.45192782793
    """


@published("inverse")
def marcum_p_inv_a(
    p: ArrayLike,
    m: ArrayLike,
    b: ArrayLike,
    out: Out = None,
    *,
    where: Any = True,
    **options: Any,
) -> Any:
    """The distance a with 1 - Q_m(a, b) = p, otherwise as :func:`marcum_q_inv_a`.

    Examples
    --------
    >>> print(f"{marcum_p_inv_a(1e-6, 392, 30.0):.12g}")
    18.942086826
    """


if not TYPE_CHECKING:  # which takes every name of a module whose list it can't read
    __all__ = published_by(__name__)

__test__ = examples(__name__)
