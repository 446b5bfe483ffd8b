"""How far the probability of an event moves under Gaussian noise."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rsbounds._numerics.checks import Floats, as_floats, broadcast, operand
from rsbounds._numerics.rounding import positive_quotient, round_up
from rsbounds._numerics.scores import moved_scores
from rsbounds.gaussian._radius import norm_and_dim, spread_of


def transport(
    z: ArrayLike,
    radius: ArrayLike,
    sigma: ArrayLike,
    *,
    norm: ArrayLike = 2,
    dim: ArrayLike | None = None,
) -> tuple[Floats, Floats]:
    """How far the probability of an event can move within a radius, in normal scores.

    An event of probability Phi(z) at the input has, wherever the input moves by at most
    the radius, a probability in [Phi(z - R/sigma), Phi(z + R/sigma)]; half-spaces
    attain both ends. Source: [C] Lemma 4; the Neyman-Pearson lemma.

    Parameters
    ----------
    z : array_like
        Normal score of the event's probability, infinities included. A long double that
        float64 does not hold is refused: no side is safe.
    radius : array_like
        How far the input moves, in [0, inf].
    sigma, norm, dim : array_like
        As in :func:`radius`.

    Returns
    -------
    low, high : Array
        The two scores, rounded outward, each within 1e-11 of the exact one relative to
        the size of z + R/sigma, or 3e-308. An infinite z stays. NaN in, NaN out.

    Examples
    --------
    >>> from rsbounds.gaussian.internal import transport
    >>> low, high = transport(2.0, 0.25, 0.5)
    >>> round(float(low), 12), round(float(high), 12)
    (1.5, 2.5)
    """
    z = as_floats("z", z, exact=True)
    distance = as_floats("radius", radius, 0.0, towards=np.inf)
    sigma = operand("sigma", sigma, 0.0, closed="neither", towards=-np.inf)
    norm, dim = norm_and_dim(norm, dim)
    z, distance, sigma, norm, dim = broadcast(
        z=z, radius=distance, sigma=sigma, norm=norm, dim=dim
    )
    spread, error = spread_of(norm, dim)
    with np.errstate(over="ignore"):
        step = round_up(positive_quotient(distance, sigma) * spread, error)
    return moved_scores(z, step)
