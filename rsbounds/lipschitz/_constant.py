"""[B]'s global constant, and the scores that it holds for; [B] as in :mod:`rsbounds.lipschitz`."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rsbounds._numerics.checks import Array, Floats, as_floats, broadcast, number
from rsbounds._numerics.rounding import round_up
from rsbounds.lipschitz._ratio import RATIO_ERROR, ratio


def constant(dim: ArrayLike, lip: ArrayLike, sigma_min: ArrayLike, p_min: ArrayLike) -> Floats:
    """[B] eq. (5): Lipschitz constant (1 + 2 lip R_d(p_min))/sigma_min of Phi^-1 of the scores.

    Parameters
    ----------
    dim : array_like
        As in :func:`ratio`.
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

    References
    ----------
    [B] Theorem 2 and eq. (5). The extremal set on the side u . grad sigma < 0 is the lower tail,
    so the pointwise factor is R(min(p, 1 - p)), and the constant stands.

    Examples
    --------
    >>> print(f"{constant(784, 0.5, 0.65, 1e-7):.10f}")
    34.7099589323
    """
    lip = as_floats("lip", lip, 0.0, closed="left")
    sigma_min = as_floats("sigma_min", sigma_min, 0.0, closed="neither")
    p_min = as_floats("p_min", p_min, 0.0, 0.5, closed="neither")
    broadcast(dim=dim, lip=lip, sigma_min=sigma_min, p_min=p_min)
    return round_up((1 + 2 * lip * ratio(p_min, dim)) / sigma_min, RATIO_ERROR + 1e-15)


def normalize_scores(scores: ArrayLike, p_min: float) -> Array:
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

    Examples
    --------
    >>> print(normalize_scores([1.0, 0.0], 0.01))
    [0.99 0.01]
    """
    array = as_floats("scores", scores, 0.0, 1.0)
    if array.ndim == 0:
        raise ValueError("scores must have the classes on the last axis; got a scalar")
    if array.shape[-1] < 2:
        raise ValueError(f"scores must be of at least two classes; got {array.shape[-1]}")
    least = number("p_min", p_min, 0.0, 1 / array.shape[-1], closed="neither")
    return np.asarray(least + (1 - array.shape[-1] * least) * array)
