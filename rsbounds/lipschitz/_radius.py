"""The three radii of a Lipschitz sigma with a floor."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rsbounds import envelope
from rsbounds._numerics.checks import Array, Floats, as_floats, broadcast, check, choice
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.rounding import capped, flag_nan, round_down
from rsbounds._numerics.scores import NDTRI_ERROR, ScorePair, ndtri
from rsbounds._numerics.threads import apply
from rsbounds.lipschitz._ratio import constant
from rsbounds_ext.kernels import lipschitz_ratio

# the smaller radii are rounded by multiples of it, and capped by the exact one
_ROUNDING = 1e-12
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)


def radius(
    p_a: ArrayLike,
    sigma: ArrayLike,
    *,
    lip: ArrayLike,
    sigma_min: ArrayLike,
    dim: ArrayLike,
    p_b: ArrayLike | None = None,
    method: str = "exact",
    p_min: ArrayLike | None = None,
    scores: bool = False,
) -> Floats:
    """Certified l_2 radius at a point with sigma(x0) = `sigma`, sigma Lipschitz.

    sigma has a floor.

    Source: [B] Theorem 3 ("paper"); the other two are proved in the theory pages.

    Parameters
    ----------
    p_a, p_b, dim, scores
        As in :func:`rsbounds.envelope.radius`.
    sigma : array_like
        sigma(x0) >= sigma_min, in the units of the input; the radius of method "paper"
        does not depend on it. A long double that float64 does not hold is refused: no
        side is safe. (`lip` and `sigma_min` are rounded to theirs.)
    lip : array_like
        Proven Lipschitz constant of sigma, in [0, inf). Power iteration is not a proof.
    sigma_min : array_like
        Lower bound of sigma everywhere; 0 for none (positive for method "paper").
    method : {"exact", "integrated", "paper"}
        "paper": (z_a - z_b)/(2 L), L of :func:`constant`, scores clipped to [p_min, 1 -
        p_min]. "integrated": the same bound on dz along a path, with the local sigma
        and score; needs no p_min. "exact": the two-point certificate.
    p_min : array_like, optional
        For method "paper" only, which needs it: the score bound, in (0, 1/2).
        ValueError where it is missing or given needlessly.

    Returns
    -------
    Array
        The radius: never above the true value of its formula, within 1e-11 of it
        (relative; with the exceptions of :func:`rsbounds.envelope.radius`, whose radius
        caps the other methods). paper <= integrated <= exact <= sigma (z_a - z_b)/2.

    Examples
    --------
    >>> for method in ("paper", "integrated", "exact"):
    ...     p_min = 1e-7 if method == "paper" else None
    ...     r = radius(1 - 1e-7, 1.0, lip=0.5, sigma_min=0.65, dim=784,
    ...                method=method, p_min=p_min)
    ...     print(f"{method:10} {r:.4f}")
    paper      0.1498
    integrated 0.2262
    exact      0.2564
    """
    choice("method", method, ("exact", "integrated", "paper"))
    if (p_min is not None) != (method == "paper"):
        raise ArgumentError(
            "p_min", f"is for method 'paper' alone, which needs it; got {p_min!r}"
        )
    if method == "exact":
        shape = envelope.LipschitzSigma(lip, sigma_min)
        return envelope.radius(p_a, sigma, shape, dim, p_b, scores=scores)
    pair = ScorePair.of(p_a, p_b, scores=scores).limited()
    lip = as_floats("lip", lip, 0.0, closed="left", towards=np.inf)
    closed = "neither" if method == "paper" else "left"
    sigma_min = as_floats("sigma_min", sigma_min, 0.0, closed=closed, towards=-np.inf)
    sigma = as_floats("sigma", sigma, 0.0, closed="neither", exact=True)
    dim = as_floats("dim", dim, 1.0, 1e8, exact=True)
    least: Any = 0.25  # of the methods without, for which it is nothing
    if p_min is not None:
        least = as_floats("p_min", p_min, 0.0, 0.5, closed="neither", exact=True)
    z_a, z_b, half, sigma, lip, sigma_min, dim, least = broadcast(
        p_a=pair.z_a,
        p_b=pair.z_b,
        half=pair.half,
        sigma=sigma,
        lip=lip,
        sigma_min=sigma_min,
        dim=dim,
        p_min=least,
    )
    check("sigma", sigma, ~(sigma < sigma_min), f"at least sigma_min = {sigma_min}")
    if p_min is None:
        value = _integrated(z_a, z_b, half, sigma, lip, sigma_min, dim)
        error = 3 * _ROUNDING
    else:
        half = _clipped(z_a, z_b, half, -ndtri(least))
        with np.errstate(over="ignore", under="ignore"):
            value = half / constant(dim, lip, sigma_min, least)
        value = flag_nan(np.where(np.isnan(sigma), np.nan, value))
        error = 5 * _ROUNDING
    value = round_down(capped(value, np.isfinite(half)), error)
    # changes nothing in exact arithmetic; with it a certificate rests on the exact
    # one's bounds
    lip, sigma_min = np.where(np.isnan(value), 0.0, (lip, sigma_min))
    shape = envelope.LipschitzSigma(lip, sigma_min)
    exact = envelope.radius(p_a, sigma, shape, dim, p_b, scores=scores)
    with np.errstate(invalid="ignore"):
        return np.minimum(value, exact)


def _clipped(z_a: Array, z_b: Array, half: Array, top: Floats) -> Array:
    """Half the gap once both scores are brought into [-top, top], from below."""
    gap = (np.minimum(z_a, top) - np.maximum(z_b, -top)) / 2 - NDTRI_ERROR * top
    inside = (z_a <= top) & (z_b >= -top)
    return np.where(inside, half, np.maximum(gap, 0.0))


def _integrated(
    z_a: Array,
    z_b: Array,
    half: Array,
    sigma: Array,
    lip: Array,
    floor: Array,
    dim: Array,
) -> Array:
    """Path length at which half the gap is spent, one unit of score costing sigma/k.

    With v the score along the path, \\|dv\\| <= k(v) dr/sigma, k = 1 + 2 lip
    R(Phi(-\\|v\\|)), and sigma falls no faster than lip, to no less than ``floor``.
    """
    # lengths in units of a power of two near sigma: nothing overflows on the way
    sigma, power = np.frexp(sigma)
    search = (half > 0) & np.isfinite(half)
    a = np.where(search, z_a, 0.0)
    b = np.where(search, z_b, 0.0)
    with np.errstate(all="ignore"):
        floor = np.ldexp(floor, -power)
        searched = _budget(a, b, np.where(search, half, 0.0), lip, dim)
        budget = np.where(search, searched, half)
        t = lip * budget
        # the floor is reached at path length log(sigma/floor)/lip
        rest = np.where(floor > 0, t - np.log1p((sigma - floor) / floor), -1.0)
        length = np.where(
            rest > 0, (sigma - floor) + floor * rest, -sigma * np.expm1(-t)
        )
        result = np.where(t > 1e-17, budget * (length / t), sigma * budget)
        endless = np.where((floor > 0) | (lip == 0), np.inf, sigma / lip)
    result = np.where(np.isinf(half), endless, result)
    unknown = np.isnan([half, sigma, lip, floor, dim]).any(0)
    with np.errstate(over="ignore", under="ignore"):
        result = np.ldexp(np.where(half > 0, result, 0.0), power)
    return np.where(unknown, np.nan, result)


def _budget(a: Array, b: Array, half: Array, lip: Array, dim: Array) -> Array:
    """Half the integral of 1/k(v) from b to a = b + 2 half.

    k(v) = 1 + 2 lip R(Phi(-|v|)).
    """
    inner = np.minimum(np.abs(a), np.abs(b))
    outer = np.maximum(np.abs(a), np.abs(b))
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
            a = np.clip(start, low, high)
            b = np.clip(end, low, high)
            total += (b - a) * _mean((a + b) / 2, (b - a) / 2, lip, dim)
        low, high = high, 2 * high
    return total


def _mean(middle: Array, half: Array, lip: Array, dim: Array) -> Array:
    """The mean of 1/k over middle -+ half by 24 Gauss-Legendre nodes."""
    v = middle[..., None] + half[..., None] * _NODES
    r = apply(lipschitz_ratio, np.abs(v), dim[..., None], cost=0.6)
    result: Array = (_WEIGHTS / 2 / (1 + 2 * lip[..., None] * r)).sum(-1)
    return result
