"""The Rice distribution, the length of a Gaussian vector in the plane: Marcum's Q at m = 1."""

from __future__ import annotations

from numpy.typing import ArrayLike

from rsbounds._numerics.checks import Floats
from rsbounds.special._call import Out, call
from rsbounds_ext import kernels


def rice_cdf(x: ArrayLike, nu: ArrayLike, /, out: Out = None, *, where: ArrayLike = True) -> Floats:
    """P(R <= x), R the length of a plane Gaussian vector with mean at distance nu: 1 - Q_1(nu, x).

    Parameters
    ----------
    x : array_like
        Length in units of the noise level, in [0, inf].
    nu : array_like
        Length of the mean in units of the noise level, in [0, 1e30] (SciPy's ``rice`` calls it b).
    out, where : optional
        As for any NumPy ufunc.

    Returns
    -------
    Array
        The lower tail; the smaller tail to a relative error of 4e-16 (2 ulp) down to
        1e-300, at the exact arguments.

    Raises
    ------
    ValueError
        `x` or `nu` outside its domain, not numeric, or shapes that do not broadcast.

    References
    ----------
    S. O. Rice, Bell Syst. Tech. J. 24 (1945) 46; the identity with Marcum's Q holds exactly.

    Examples
    --------
    >>> print(f"{rice_cdf(1.0, 6.0):.12g}")
    1.07864053261e-07
    """
    return call(kernels.rice_cdf, out, where, x=x, nu=nu)


def rice_sf(x: ArrayLike, nu: ArrayLike, /, out: Out = None, *, where: ArrayLike = True) -> Floats:
    """P(R > x), R the length of a plane Gaussian vector with mean at distance nu: Q_1(nu, x).

    Parameters
    ----------
    x : array_like
        Length in units of the noise level, in [0, inf].
    nu : array_like
        Length of the mean in units of the noise level, in [0, 1e30] (SciPy's ``rice`` calls it b).
    out, where : optional
        As for any NumPy ufunc.

    Returns
    -------
    Array
        The upper tail; the smaller tail to a relative error of 4e-16 (2 ulp) down to
        1e-300, at the exact arguments.

    Raises
    ------
    ValueError
        `x` or `nu` outside its domain, not numeric, or shapes that do not broadcast.

    References
    ----------
    S. O. Rice, Bell Syst. Tech. J. 24 (1945) 46; the identity with Marcum's Q holds exactly.

    Examples
    --------
    >>> print(f"{rice_sf(9.0, 4.0):.12g}")
    4.35890233711e-07
    """
    return call(kernels.rice_sf, out, where, x=x, nu=nu)


def rice_logcdf(
    x: ArrayLike, nu: ArrayLike, /, out: Out = None, *, where: ArrayLike = True
) -> Floats:
    """log P(R <= x) of the Rice law, see :func:`rice_cdf`.

    Parameters
    ----------
    x : array_like
        Length in units of the noise level, in [0, inf].
    nu : array_like
        Length of the mean in units of the noise level, in [0, 1e30] (SciPy's ``rice`` calls it b).
    out, where : optional
        As for any NumPy ufunc.

    Returns
    -------
    Array
        The logarithm to 1.2e-16 relative and 4e-16 absolute of the smaller tail's logarithm.

    Raises
    ------
    ValueError
        `x` or `nu` outside its domain, not numeric, or shapes that do not broadcast.

    References
    ----------
    S. O. Rice, Bell Syst. Tech. J. 24 (1945) 46; the identity with Marcum's Q holds exactly.

    Examples
    --------
    >>> print(f"{rice_logcdf(1.0, 1e3):.12g}")
    -499011.779948
    """
    return call(kernels.rice_logcdf, out, where, x=x, nu=nu)


def rice_logsf(
    x: ArrayLike, nu: ArrayLike, /, out: Out = None, *, where: ArrayLike = True
) -> Floats:
    """log P(R > x) of the Rice law, see :func:`rice_sf`.

    Parameters
    ----------
    x : array_like
        Length in units of the noise level, in [0, inf].
    nu : array_like
        Length of the mean in units of the noise level, in [0, 1e30] (SciPy's ``rice`` calls it b).
    out, where : optional
        As for any NumPy ufunc.

    Returns
    -------
    Array
        The logarithm to 1.2e-16 relative and 4e-16 absolute of the smaller tail's logarithm.

    Raises
    ------
    ValueError
        `x` or `nu` outside its domain, not numeric, or shapes that do not broadcast.

    References
    ----------
    S. O. Rice, Bell Syst. Tech. J. 24 (1945) 46; the identity with Marcum's Q holds exactly.

    Examples
    --------
    >>> print(f"{rice_logsf(1e3, 4.0):.12g}")
    -496013.061925
    """
    return call(kernels.rice_logsf, out, where, x=x, nu=nu)
