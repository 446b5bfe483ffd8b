"""Radius from the Rényi divergence of two noise levels, scope "fixed noise".

Weaker than the exact two-point certificate of :mod:`rsbounds.semielastic`, which it
can't exceed with p_b <= 1 - p_a (a larger p_b it takes as 1 - p_a); in closed form but
for one scalar search. An argument outside its domain and shapes that do not broadcast
raise ValueError.

The radius is sup_alpha sigma_alpha sqrt(2 B/alpha - dim L/(alpha s)), s = 1 - alpha,
with sigma_alpha^2 = alpha sigma0^2 + s sigma1^2 > 0, L = log(sigma_alpha^2) - s
log(sigma1^2) - alpha log(sigma0^2) and B(alpha) = -log(1 - p_a - p_b + 2 ((p_a^s +
p_b^s)/2)^(1/s)); both are formed without cancellation. The theory page on the Rényi
radius derives it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rsbounds._numerics.checks import Floats, broadcast, operand
from rsbounds._numerics.rounding import flag_nan
from rsbounds._numerics.threads import apply
from rsbounds_ext import kernels

__all__ = ["radius"]

_MICROSECONDS = 20.0  # of one radius, for splitting arrays over threads


def radius(
    p_a: ArrayLike,
    sigma0: ArrayLike,
    sigma1: ArrayLike,
    dim: ArrayLike,
    p_b: ArrayLike | None = None,
) -> Floats:
    """Distance within which a point of noise level sigma1 has the top class of x0.

    Parameters
    ----------
    p_a : array_like
        Lower bound on the probability of the top class at x0, in [0, 1].
    sigma0, sigma1 : array_like
        Noise levels (standard deviations) at x0 and at the other point, in the units of
        the input; positive. A long double that float64 does not hold is refused: no
        side is safe.
    dim : array_like
        Dimension of the input, at least 1.
    p_b : array_like, optional
        Upper bound on the probability of every other class at x0; 1 - p_a by default,
        and never taken larger than that.

    Returns
    -------
    Array
        Never above the supremum over alpha. Relative to it, within 1e-11 unless the two
        terms under the root cancel: then within 1e-12 of the larger term, before the
        root. 0 where p_a <= p_b, where no alpha certifies (R^2 <= 0) or where the ratio
        of the levels is beyond 1e140; inf where p_a = 1. NaN in, NaN out with the
        invalid flag.

    References
    ----------
    [S] Sukenik, Kuvshinov, Günnemann, Intriguing properties of input-dependent
    randomized smoothing, 2022, Theorem 14. As printed it has a closed range of alpha
    and no word on R^2 < 0.

    Examples
    --------
    >>> from rsbounds import renyi
    >>> round(float(renyi.radius(0.99, 0.5, 0.5, 784)), 4)
    0.954
    >>> float(renyi.radius(0.99, 0.5, 0.6, 784))
    0.0
    """
    p_a = operand("p_a", p_a, 0.0, 1.0, towards=-np.inf)
    rest = 1.0 - p_a
    if p_b is not None:
        p_b = np.minimum(operand("p_b", p_b, 0.0, 1.0, towards=np.inf), rest)
    sigma0 = operand("sigma0", sigma0, 0.0, closed="neither", exact=True)
    sigma1 = operand("sigma1", sigma1, 0.0, closed="neither", exact=True)
    dim = operand("dim", dim, 1.0, closed="left", towards=np.inf)
    values = broadcast(
        p_a=p_a, p_b=rest if p_b is None else p_b, sigma0=sigma0, sigma1=sigma1, dim=dim
    )
    result: Floats = flag_nan(apply(kernels.renyi_radius, *values, cost=_MICROSECONDS))
    return result


def __dir__() -> list[str]:
    return sorted(__all__)
