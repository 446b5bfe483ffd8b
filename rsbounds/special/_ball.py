"""The probability of an off-centre ball, as a normal score."""

from __future__ import annotations

from numpy.typing import ArrayLike

from rsbounds._numerics.checks import Floats
from rsbounds.special._call import Out, call
from rsbounds_ext import kernels


def ball_score(
    u: ArrayLike, dim: ArrayLike, s: ArrayLike, /, out: Out = None, *, where: ArrayLike = True
) -> Floats:
    """Phi^-1 P(|Z - s e1| <= s + u) for Z ~ N(0, I_dim): a ball's probability as a score.

    The ball has its centre at distance `s` from the origin and its surface at signed offset `u`
    beyond the origin. It is the noncentral chi-square CDF at (s + u)^2 with nc = s^2 in
    coordinates that do not cancel: nearly linear in u, u itself in the half-space limit s = inf.

    Parameters
    ----------
    u : array_like
        Offset, in standard deviations; u <= -s is an empty ball and gives -inf.
    dim : array_like
        Dimension, a real number in [1, 1e8].
    s : array_like
        Distance of the centre in standard deviations, in [0, inf].
    out, where : optional
        As for any NumPy ufunc.

    Returns
    -------
    Array
        The score, non-decreasing in u and s and non-increasing in dim to within its error, at
        most 8e-16 + 1.6e-16 \\|score\\|, half of it from dim = 4 on.

    References
    ----------
    Sukenik, Kuvshinov, Günnemann, Intriguing properties of input-dependent randomized smoothing,
    2022, Theorem 2: the worst-case sets are such balls. The contour integral is that of
    :func:`ncx2_cdf`.

    Examples
    --------
    >>> round(float(ball_score(1.0, 150528, 1e6)), 12)
    0.924736537632
    >>> float(ball_score(1.0, 150528, float("inf")))
    1.0
    """
    return call(kernels.ball_score, out, where, u=u, dim=dim, s=s)


def ball_offset(
    z: ArrayLike, dim: ArrayLike, s: ArrayLike, /, out: Out = None, *, where: ArrayLike = True
) -> Floats:
    """The offset u at which a ball has score z: the inverse of :func:`ball_score` in u.

    `z` is any real number, infinities included; otherwise as :func:`ball_score`. The result, in
    [-s, inf], is correct to two units in its last place or to an offset whose score is within
    1e-15 max(1, \\|z\\|) of z, whichever is coarser. The search is that of :func:`ncx2_ppf`.

    Examples
    --------
    >>> round(float(ball_offset(-2.0, 784, 10.0)), 12)
    18.23999529653
    """
    return call(kernels.ball_offset, out, where, z=z, dim=dim, s=s)
