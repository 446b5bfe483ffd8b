"""The three radii of a Lipschitz sigma with a floor."""

import numpy as np
from numpy.typing import ArrayLike

from rsbounds import envelope
from rsbounds._numerics.checks import Array, Floats, as_floats, broadcast, check, choice
from rsbounds._numerics.rounding import capped, flag_nan, round_down
from rsbounds._numerics.scores import NDTRI_ERROR, ScorePair, ndtri
from rsbounds.lipschitz._integrated import integrated
from rsbounds.lipschitz._ratio import constant

_ROUNDING = 1e-12  # the smaller radii are rounded by multiples of it, and capped by the exact one


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
    """Certified l_2 radius at a point with sigma(x0) = `sigma`, sigma Lipschitz with a floor.

    Parameters
    ----------
    p_a, p_b, dim, scores
        As in :func:`rsbounds.envelope.radius`.
    sigma : array_like
        sigma(x0) >= sigma_min, in the units of the input; the radius of method "paper" does not
        depend on it. A long double that float64 does not hold is refused: no side is safe. (`lip`
        and `sigma_min` are rounded to theirs.)
    lip : array_like
        Proven Lipschitz constant of sigma, in [0, inf). Power iteration is not a proof.
    sigma_min : array_like
        Lower bound of sigma everywhere; 0 for none (positive for method "paper").
    method : {"exact", "integrated", "paper"}
        "paper": (z_a - z_b)/(2 L), L of :func:`constant`, scores clipped to [p_min, 1 - p_min].
        "integrated": the same bound on dz along a path, with the local sigma and score; needs no
        p_min. "exact": the two-point certificate.
    p_min : array_like, optional
        For method "paper" only, which needs it: the score bound, in (0, 1/2).

    Returns
    -------
    Array
        The radius: never above the true value of its formula, within 1e-11 of it (relative; with
        the exceptions of :func:`rsbounds.envelope.radius`, whose radius caps the other methods).
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
        shape = envelope.LipschitzSigma(lip, sigma_min)
        return envelope.radius(p_a, sigma, shape, dim, p_b, scores=scores)
    pair = ScorePair.of(p_a, p_b, scores=scores).limited()
    lip = as_floats("lip", lip, 0.0, closed="left", towards=np.inf)
    closed = "neither" if method == "paper" else "left"
    sigma_min = as_floats("sigma_min", sigma_min, 0.0, closed=closed, towards=-np.inf)
    sigma = as_floats("sigma", sigma, 0.0, closed="neither", exact=True)
    dim = as_floats("dim", dim, 1.0, 1e8, exact=True)
    z_a, z_b, half, sigma, lip, sigma_min, dim = broadcast(
        p_a=pair.z_a, p_b=pair.z_b, half=pair.half,
        sigma=sigma, lip=lip, sigma_min=sigma_min, dim=dim,
    )  # fmt: skip
    check("sigma", sigma, ~(sigma < sigma_min), f"at least sigma_min = {sigma_min}")
    if p_min is not None:
        top = -ndtri(as_floats("p_min", p_min, 0.0, 0.5, closed="neither", exact=True))
        half = _clipped(z_a, z_b, half, top)
        with np.errstate(over="ignore"):
            value = half / constant(dim, lip, sigma_min, p_min)
        value = flag_nan(np.where(np.isnan(sigma), np.nan, value))
        error = 5 * _ROUNDING
    else:
        value, error = integrated(z_a, z_b, half, sigma, lip, sigma_min, dim), 3 * _ROUNDING
    value = round_down(capped(value, np.isfinite(half)), error)
    # changes nothing in exact arithmetic; with it a certificate rests on the exact one's bounds
    shape = envelope.LipschitzSigma(*np.where(np.isnan(value), 0.0, (lip, sigma_min)))
    with np.errstate(invalid="ignore"):
        return np.minimum(value, envelope.radius(p_a, sigma, shape, dim, p_b, scores=scores))


def _clipped(z_a: Floats, z_b: Floats, half: Floats, top: Floats) -> Array:
    """A lower bound of half the gap once both scores are brought into [-top, top]."""
    inside = (z_a <= top) & (z_b >= -top)
    clipped = (np.minimum(z_a, top) - np.maximum(z_b, -top)) / 2 - NDTRI_ERROR * top
    return np.where(inside, half, np.maximum(clipped, 0.0))
