"""Lipschitz sigma networks ([B]): sigma(x) with a proven Lipschitz constant and a floor.

Three certificates, each at least the one before: "paper" ([B] Theorem 3, one global constant),
"integrated" (the same differential inequality integrated with the local sigma and score) and
"exact" (the two-point certificate of the envelope, tight over all classifiers).

References
----------
.. [B] Bergstrom, Sager, Anderson, Lipschitz standard deviation networks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtr

from rsbounds._numerics.checks import Array, broadcast, check, choice, one, real
from rsbounds._numerics.rounding import EPS, capped, round_down, round_up
from rsbounds._numerics.scores import NDTRI_ERROR, SCORE_LIMIT, half_gap, limited, scores_of
from rsbounds.envelope import LipschitzSigma
from rsbounds.envelope import radius as envelope_radius
from rsbounds.lipschitz._integrated import integrated
from rsbounds.special import ndtri
from rsbounds_ext.kernels import ufuncs

__all__ = ["constant", "normalize_scores", "p_min_search", "radius", "ratio", "ratio_derivative"]

RATIO_ERROR = 1e-13
ROUNDING = 1e-12  # that of the exact radius; the smaller ones are rounded by more


def ratio(p: Any, dim: Any, *, scores: bool = False) -> Array:
    """R_d(p) = eps0 f(eps0)/phi(Phi^-1(p)), eps0 the 1 - p quantile of chi-square with d degrees.

    The factor by which a change of sigma moves a normal score: \\|dz\\| <= 2 R \\|d sigma\\|/sigma.
    R_d is strictly decreasing on (0, 1) in every dimension (theorem in the documentation), which
    closes [B]'s open question on p_min.

    Parameters
    ----------
    p : array_like
        Probability in [0, 1]; with `scores` the normal score Phi^-1(p).
    dim : array_like
        Dimension d, a real number in [1, 1e8].
    scores : bool
        `p` is a normal score, in [-1e6, 1e6] or infinite.

    Returns
    -------
    Array
        R_d(p), relative error at most 1e-13; inf at p = 0, 0 at p = 1.

    Raises
    ------
    ValueError
        An argument outside its domain, or shapes that do not broadcast.

    References
    ----------
    [B] Lemma 1 and eq. (4).

    Examples
    --------
    >>> print(f"{ratio(1e-7, 784):.12f}")
    21.561473306018
    """
    z, dim = _score(p, dim, scores)
    result: Array = ufuncs["lipschitz_ratio"](-z, dim)
    return result


def ratio_derivative(p: Any, dim: Any, *, scores: bool = False) -> Array:
    """Derivative of :func:`ratio`: dR/dp, or dR/dz with z = Phi^-1(p) for `scores`.

    Parameters
    ----------
    p, dim, scores
        As in :func:`ratio`.

    Returns
    -------
    Array
        The derivative, negative everywhere; it is formed as R z + (x - d)/2, so the error of
        dR/dz is at most 2e-15 \\|z\\| R.

    Raises
    ------
    ValueError
        As in :func:`ratio`.

    References
    ----------
    From R = 1/S'(z), S the monotone map of N(0, 1) to log chi-square (theory pages).

    Examples
    --------
    >>> print(f"{ratio_derivative(0.5, 2):.9f}")
    -0.769165953
    """
    z, dim = _score(p, dim, scores)
    slope = ufuncs["lipschitz_slope"](-z, dim)
    if scores:
        negative: Array = np.negative(slope)
        return negative
    with np.errstate(over="ignore"):
        result: Array = -slope * np.sqrt(2 * np.pi) * np.exp(z**2 / 2)
    return result


def p_min_search(dim: Any, floor: float = 1e-300) -> np.float64:
    """Smallest p such that R_d decreases on [p, 1 - p], verified numerically down to `floor`.

    The theorem says that every p in (0, 1/2) will do, in every dimension: with
    z = Phi^-1(1 - p), R = 1/S'(z) for the monotone map S of N(0, 1) to log chi-square, and S is
    strictly concave, because g = z + (d - e^S)/(2 R), which tends to 0 at both ends, cannot have
    a negative minimum. This function checks it on a grid: R must rise with z from each
    point to the next by more than the error of its values; intervals where it does not are halved
    until it does or until they fall below the resolution of the values.

    Parameters
    ----------
    dim : float
        Dimension d, a real number in [1, 1e8].
    floor : float
        Smallest probability looked at, in (0, 1/2).

    Returns
    -------
    float64
        `floor` where the check passes everywhere, which the theorem promises.

    Raises
    ------
    ValueError
        An argument outside its domain.

    References
    ----------
    [B] Lemma 3 and its condition on p_min.

    Examples
    --------
    >>> float(p_min_search(784))
    1e-300
    """
    d = one("dim", real("dim", dim, 1.0, 1e8, nan=False))
    lowest = one("floor", real("floor", floor, 0.0, 0.5, closed="neither", nan=False))
    top = -float(ndtri(lowest))
    z = np.linspace(-top, top, 257)
    values = ufuncs["lipschitz_ratio"](z, d)
    failed = np.zeros(0)
    for _ in range(8):
        margin = RATIO_ERROR * (values[1:] + values[:-1])
        weak = ~(np.diff(values) > margin)
        if not weak.any():
            return np.float64(lowest)
        failed = np.abs(z[1:][weak])
        middle = (z[1:][weak] + z[:-1][weak]) / 2
        slope = ufuncs["lipschitz_slope"](middle, d)
        if np.all(slope > 0) and np.all(np.diff(z)[weak] < 1e-2):
            return np.float64(lowest)
        z = np.sort(np.concatenate([z, middle]))
        values = ufuncs["lipschitz_ratio"](z, d)
    return np.float64(ndtr(-np.min(failed)))


def constant(dim: Any, lip: Any, sigma_min: Any, p_min: Any) -> Array:
    """[B] eq. (5): Lipschitz constant (1 + 2 lip R_d(p_min))/sigma_min of Phi^-1 of the scores.

    Parameters
    ----------
    dim : array_like
        Dimension d, a real number in [1, 1e8].
    lip : array_like
        Proven Lipschitz constant of sigma, in [0, inf).
    sigma_min : array_like
        Lower bound of sigma, positive.
    p_min : array_like
        Lower bound of every score, in (0, 1/2).

    Returns
    -------
    Array
        The constant, rounded up: never below the true value, within 1e-12 of it (relative).

    Raises
    ------
    ValueError
        An argument outside its domain, or shapes that do not broadcast.

    References
    ----------
    [B] Theorem 2 and eq. (5); the extremal set on the side u . grad sigma < 0 is the lower tail,
    so the pointwise factor is R(min(p, 1 - p)), and the constant stands.

    Examples
    --------
    >>> print(f"{constant(784, 0.5, 0.65, 1e-7):.10f}")
    34.7099589323
    """
    lip = real("lip", lip, 0.0, closed="left")
    sigma_min = real("sigma_min", sigma_min, 0.0, closed="neither")
    p_min = real("p_min", p_min, 0.0, 0.5, closed="neither")
    broadcast(dim=dim, lip=lip, sigma_min=sigma_min, p_min=p_min)
    return round_up((1 + 2 * lip * ratio(p_min, dim)) / sigma_min, RATIO_ERROR + 1e-15)


def normalize_scores(scores: Any, p_min: Any) -> Array:
    """[B] Remark 2: scores that sum to 1, moved affinely so that each is at least p_min.

    Parameters
    ----------
    scores : array_like
        Class scores in [0, 1], classes on the last axis.
    p_min : float
        Lower bound wanted, in (0, 1/classes).

    Returns
    -------
    Array
        p_min + (1 - classes p_min) scores, to one rounding; the order of classes is kept.

    Raises
    ------
    ValueError
        Scores outside [0, 1], or p_min not in (0, 1/classes).

    References
    ----------
    [B] Remark 2.

    Examples
    --------
    >>> print(normalize_scores([1.0, 0.0], 0.01))
    [0.99 0.01]
    """
    array = real("scores", scores, 0.0, 1.0)
    if array.ndim == 0:
        raise ValueError("scores must have the classes on the last axis; got a scalar")
    if array.shape[-1] < 2:
        raise ValueError(f"scores must be of at least two classes; got {array.shape[-1]}")
    p_min = real("p_min", p_min, 0.0, 1 / array.shape[-1], closed="neither", nan=False)
    return np.asarray(p_min + (1 - array.shape[-1] * p_min) * array)


def radius(
    p_a: Any,
    sigma: Any,
    *,
    lip: Any,
    sigma_min: Any,
    dim: Any,
    p_b: Any = None,
    method: str = "exact",
    p_min: Any = None,
    scores: bool = False,
) -> Array:
    """Certified l_2 radius at a point with sigma(x0) = `sigma`, sigma Lipschitz with a floor.

    Parameters
    ----------
    p_a : array_like
        Lower bound on the top class's probability (or score), in [0, 1].
    sigma : array_like
        sigma(x0) >= sigma_min, in the units of the input. Not used by method "paper".
    lip : array_like
        Proven Lipschitz constant of sigma, in [0, inf). Power iteration is not a proof.
    sigma_min : array_like
        Lower bound of sigma everywhere; 0 for none (positive for method "paper").
    dim : array_like
        Dimension of the input, a real number in [1, 1e8].
    p_b : array_like, optional
        Upper bound on every other class's probability; 1 - p_a by default.
    method : {"exact", "integrated", "paper"}
        "paper": (z_a - z_b)/(2 L), L of :func:`constant`, scores clipped to [p_min, 1 - p_min].
        "integrated": the same bound on dz along a path, with the local sigma and score; needs no
        p_min. "exact": the two-point certificate.
    p_min : array_like, optional
        For method "paper" only, which needs it: the score bound, in (0, 1/2).
    scores : bool
        `p_a` and `p_b` are normal scores; beyond 1e6 a finite score counts as 1e6.

    Returns
    -------
    Array
        The radius: never above the true value of its formula, within 1e-11 of it (relative).
        paper <= integrated <= exact <= sigma (z_a - z_b)/2.

    Raises
    ------
    ValueError
        An argument outside its domain, sigma < sigma_min, p_min missing or given needlessly,
        shapes that do not broadcast.

    References
    ----------
    [B] Theorem 3 ("paper"); the other two are proved in the theory pages.

    Examples
    --------
    >>> for method in ("paper", "integrated", "exact"):
    ...     p_min = 1e-7 if method == "paper" else None
    ...     r = radius(1 - 1e-7, 1.0, lip=0.5, sigma_min=0.65, dim=784, method=method, p_min=p_min)
    ...     print(f"{method:10} {r:.4f}")
    paper      0.1498
    integrated 0.2262
    exact      0.2564
    """
    choice("method", method, ("exact", "integrated", "paper"))
    if (p_min is not None) != (method == "paper"):
        raise ValueError(f"p_min is for method 'paper' alone, which needs it; got {p_min!r}")
    if method == "exact":
        return envelope_radius(p_a, sigma, LipschitzSigma(lip, sigma_min), dim, p_b, scores=scores)
    z_a, z_b = scores_of(p_a, p_b, scores)
    if scores:
        p_a, p_b = z_a, z_b = limited(z_a, z_b)
    half = half_gap(p_a, p_b, scores)
    lip = real("lip", lip, 0.0, closed="left")
    paper = method == "paper"
    sigma_min = real("sigma_min", sigma_min, 0.0, closed="neither" if paper else "left")
    sigma = real("sigma", sigma, 0.0, closed="neither")
    dim = real("dim", dim, 1.0, 1e8)
    broadcast(p_a=z_a, p_b=z_b, sigma=sigma, lip=lip, sigma_min=sigma_min, dim=dim)
    check("sigma", sigma, ~(sigma < sigma_min), f"at least sigma_min = {sigma_min}")
    if paper:
        half = _clipped(z_a, z_b, half, -ndtri(real("p_min", p_min, 0.0, 0.5, closed="neither")))
        with np.errstate(over="ignore"):
            value = half / constant(dim, lip, sigma_min, p_min)
        error = 5 * ROUNDING
    else:
        value, error = integrated(z_a, z_b, half, sigma, lip, sigma_min, dim), 3 * ROUNDING
    return round_down(capped(value, np.isfinite(half)), error)


def radius_of_scores(
    score: Any, sigma: Any, *, classes: int | None, score_b: Any = None, **known: Any
) -> Any:
    """:func:`radius` of scores of p_a and p_b, after Remark 2's map where classes are given."""
    above, below = score, -score if score_b is None else score_b
    if classes is not None:
        above, below = _normalized(above, below, known["p_min"], classes)
    return radius(above, sigma, p_b=below, scores=True, **known)


def _normalized(above: Any, below: Any, p_min: float, classes: int) -> tuple[Any, Any]:
    """Scores of p_a and p_b after the affine map of Remark 2, rounded outward.

    The map is the same for every class and increasing, so bounds of one class's probability
    become bounds of its new score.
    """
    above, below = np.broadcast_arrays(above, below)
    pair = np.stack([ndtr(above), ndtr(below), *[np.zeros(above.shape)] * (classes - 2)], -1)
    moved = normalize_scores(pair, p_min)
    above, below = ndtri(moved[..., 0] - 8 * EPS), ndtri(moved[..., 1] + 8 * EPS)
    slack = 8 * EPS * (1 + np.abs(above) + np.abs(below))
    return above - slack, below + slack


def _clipped(z_a: Array, z_b: Array, half: Array, top: Array) -> Array:
    """A lower bound of half the gap once both scores are brought into [-top, top]."""
    inside = (z_a <= top) & (z_b >= -top)
    clipped = (np.minimum(z_a, top) - np.maximum(z_b, -top)) / 2 - NDTRI_ERROR * top
    return np.where(inside, half, np.maximum(clipped, 0.0))


def _score(p: Any, dim: Any, scores: bool) -> tuple[Array, Array]:
    z = real("p", p) if scores else np.asarray(ndtri(p))
    check("p", z, ~(np.abs(z) > SCORE_LIMIT) | np.isinf(z), "a score in [-1e6, 1e6] or infinite")
    dim = real("dim", dim, 1.0, 1e8)
    broadcast(p=z, dim=dim)
    return z, dim
