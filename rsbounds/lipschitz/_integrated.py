"""The radius of a Lipschitz sigma by integrating its pointwise bound along the path."""

import numpy as np

from rsbounds._numerics.checks import Array
from rsbounds._numerics.threads import apply
from rsbounds_ext.kernels import lipschitz_ratio

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)


def integrated(
    z_a: Array, z_b: Array, half: Array, sigma: Array, lip: Array, floor: Array, dim: Array
) -> Array:
    """The path length at which half the gap is spent, one unit of score costing sigma/k.

    With v the score along the path, \\|dv\\| <= k(v) dr/sigma, k = 1 + 2 lip R(Phi(-\\|v\\|)), and
    sigma falls no faster than lip, to no less than ``floor``.
    """
    sigma, power = np.frexp(sigma)  # lengths in units of sigma: nothing overflows on the way
    floor = np.ldexp(floor, -power)
    search = (half > 0) & np.isfinite(half)
    a, b = np.where(search, z_a, 0.0), np.where(search, z_b, 0.0)
    with np.errstate(all="ignore"):
        budget = np.where(search, _budget(a, b, np.where(search, half, 0.0), lip, dim), half)
        t = lip * budget
        # the floor is reached at path length log(sigma/floor)/lip
        rest = np.where(floor > 0, t - np.log1p((sigma - floor) / floor), -1.0)
        length = np.where(rest > 0, (sigma - floor) + floor * rest, -sigma * np.expm1(-t))
        result = np.where(t > 1e-17, budget * (length / t), sigma * budget)
        endless = np.where((floor > 0) | (lip == 0), np.inf, sigma / lip)
    result = np.where(np.isinf(half), endless, result)
    unknown = np.isnan([half, sigma, lip, floor, dim]).any(0)
    with np.errstate(over="ignore", under="ignore"):
        result = np.ldexp(np.where(half > 0, result, 0.0), power)
    return np.where(unknown, np.nan, result)


def _budget(a: Array, b: Array, half: Array, lip: Array, dim: Array) -> Array:
    """Half the integral of 1/k(v), k(v) = 1 + 2 lip R(Phi(-|v|)), from b to a = b + 2 half."""
    inner, outer = np.minimum(np.abs(a), np.abs(b)), np.maximum(np.abs(a), np.abs(b))
    same = np.sign(a) == np.sign(b)  # else |v| has its kink at 0 between them
    path = _path(np.where(same, inner, 0.0), outer, lip, dim)
    path += _path(np.zeros_like(inner), np.where(same, 0.0, inner), lip, dim)
    close = same & (half < 0.25)
    return np.where(close, half * _mean((a + b) / 2, half, lip, dim), path / 2)


def _path(start: Array, end: Array, lip: Array, dim: Array) -> Array:
    """The integral over 0 <= start <= v <= end: panels [0, 1], [1, 2], [2, 4], ..."""
    total = np.zeros_like(end)
    low, high = 0.0, 1.0
    while np.any(end > low):
        if np.any(start < high):
            a, b = np.clip(start, low, high), np.clip(end, low, high)
            total += (b - a) * _mean((a + b) / 2, (b - a) / 2, lip, dim)
        low, high = high, 2 * high
    return total


def _mean(middle: Array, half: Array, lip: Array, dim: Array) -> Array:
    """The mean of 1/k over [middle - half, middle + half] by 24 Gauss-Legendre nodes."""
    v = middle[..., None] + half[..., None] * _NODES
    r = apply(lipschitz_ratio, np.abs(v), dim[..., None], cost=0.6)
    result: Array = (_WEIGHTS / 2 / (1 + 2 * lip[..., None] * r)).sum(-1)
    return result
