"""Normal scores of probabilities.

Error budget. A radius must be at most its true value and within 1e-11 of it (relative).
``scipy.special.ndtri`` was measured against mpmath on both tails and around 1/2: its
relative error is at most 4.9e-16, and :data:`NDTRI_ERROR` doubles that. Each function below
says what it adds; a caller adds what its own arithmetic loses and rounds once with
``round_down`` or ``round_up``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtri

from rsbounds._numerics.checks import Array, broadcast, real
from rsbounds._numerics.rounding import EPS, round_down

NDTRI_ERROR = 1e-15
SCORE_LIMIT = 1e6
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)


def scores_of(p_a: Any, p_b: Any = None, scores: bool = False) -> tuple[Array, Array]:
    """The scores (z_a, z_b) of two probabilities, broadcast; relative error NDTRI_ERROR.

    ``p_b=None`` stands for 1 - p_a, so z_b = -z_a exactly. With ``scores=True`` both
    arguments are scores already and are returned as they are. NaN passes.
    """
    if p_b is None:
        z = _values("p_a", p_a, scores)
        z = z if scores else ndtri(z)
        return z, -z
    a, b = broadcast(p_a=_values("p_a", p_a, scores), p_b=_values("p_b", p_b, scores))
    return (a, b) if scores else (ndtri(a), ndtri(b))


def limited(z_a: Array, z_b: Array) -> tuple[Array, Array]:
    """The scores moved into the range of the kernels, |z| <= SCORE_LIMIT, to the safe side.

    Infinite scores stay; a score that would have to move to the other side becomes infinite.
    """
    top = np.where(np.isinf(z_a), z_a, np.minimum(z_a, SCORE_LIMIT))
    bottom = np.where(np.isinf(z_b), z_b, np.maximum(z_b, -SCORE_LIMIT))
    return (
        np.where(top < -SCORE_LIMIT, -np.inf, top),
        np.where(bottom > SCORE_LIMIT, np.inf, bottom),
    )


def half_gap(p_a: Any, p_b: Any = None, scores: bool = False) -> Array:
    """A lower bound of max(z_a - z_b, 0)/2, within 1e-11 of it, however close the two are.

    Subtracting the scores of two probabilities loses their last digits when they are close.
    There it follows from p_a - p_b = (z_a - z_b) * (mean of phi over [z_b, z_a]) instead, the
    mean by Gauss-Legendre quadrature: a close pair needs no difference of scores.
    """
    z_a, z_b = scores_of(p_a, p_b, scores)
    half = np.subtract(z_a / 2, z_b / 2, where=~(z_a <= z_b), out=np.zeros(np.shape(z_a)))
    if scores:
        return round_down(half, EPS)
    if p_b is None:
        return round_down(half, NDTRI_ERROR + EPS)
    finite = np.isfinite(z_a) & np.isfinite(z_b)
    size = np.where(finite, np.maximum(np.abs(z_a), np.abs(z_b)), 0.0)
    close = finite & (half < 0.5 / np.maximum(size, 1.0))
    near = _half_difference(p_a, p_b, np.where(close, z_a, 0.0), np.where(close, z_b, 0.0))
    half = np.where(close, near, half)
    # the logarithm of p_a - p_b may be as large as size^2/2 + 40, and its last bit counts
    return round_down(half, 3e-14 + 3e-15 * size**2)


def _half_difference(p_a: Any, p_b: Any, z_a: Array, z_b: Array) -> Array:
    difference = np.maximum(np.subtract(p_a, p_b, dtype=np.float64), 0.0)
    middle = z_a / 2 + z_b / 2
    step = (z_a / 2 - z_b / 2)[..., None] * _NODES
    mean = np.exp(-step * (middle[..., None] + step / 2)) @ (_WEIGHTS / 2)
    log = np.log(difference, where=difference > 0, out=np.full(difference.shape, -np.inf))
    result: Array = np.exp(middle**2 / 2 + log) * (np.sqrt(np.pi / 2) / mean)
    return result


def _values(name: str, value: Any, scores: bool) -> Array:
    return real(name, value) if scores else real(name, value, 0.0, 1.0)
