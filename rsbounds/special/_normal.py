"""The standard normal distribution in log space."""

from __future__ import annotations

from numpy.typing import ArrayLike

from rsbounds._numerics.checks import Floats
from rsbounds.special._call import Out, call
from rsbounds_ext import kernels


def log_ndtr(z: ArrayLike, /, out: Out = None, *, where: ArrayLike = True) -> Floats:
    """Logarithm of the standard normal CDF, log P(Z <= z).

    Parameters
    ----------
    z : array_like
        Real numbers, infinities included.
    out, where : optional
        As for any NumPy ufunc.

    Returns
    -------
    Array
        log Phi(z), relative error at most 2e-15 (until the result is subnormal, z > 37.6).

    References
    ----------
    NIST DLMF 7.12 (scaled complementary error function).

    Examples
    --------
    >>> float(log_ndtr(-40.0))
    -804.6084420137538
    """
    return call(kernels.log_ndtr, out, where, z=z)


def ndtri(p: ArrayLike, /, out: Out = None, *, where: ArrayLike = True) -> Floats:
    """Standard normal quantile Phi^-1(p): the normal score of a probability.

    `p` is in [0, 1]; the relative error is at most 2e-15. Otherwise as :func:`log_ndtr`.

    References
    ----------
    M. J. Wichura, Algorithm AS 241, Applied Statistics 37 (1988).

    Examples
    --------
    >>> float(ndtri(0.99))
    2.3263478740408408
    """
    return call(kernels.ndtri, out, where, p=p)


def ndtri_exp(log_p: ArrayLike, /, out: Out = None, *, where: ArrayLike = True) -> Floats:
    """Standard normal quantile of a probability given by its logarithm: the inverse of `log_ndtr`.

    `log_p` is in [-inf, 0]; the relative error is at most 2e-15 on [-1e300, -1e-300]. Otherwise
    as :func:`ndtri`; an asymptotic series beyond log p = -760.

    Examples
    --------
    >>> float(ndtri_exp(-1e6))
    -1414.2077829910174
    """
    return call(kernels.ndtri_exp, out, where, log_p=log_p)
