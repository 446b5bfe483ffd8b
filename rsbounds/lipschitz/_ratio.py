"""The factor by which a change of sigma moves a normal score, and [B]'s constant."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import ArrayLike

from rsbounds._numerics.checks import Array, Floats, as_floats, broadcast, number
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.rounding import round_up
from rsbounds._numerics.scores import ndtri, score_of
from rsbounds_ext import kernels

RATIO_ERROR = 2e-13


def ratio(p: ArrayLike, dim: ArrayLike, *, scores: bool = False) -> Floats:
    """Factor R_d(p) by which a change of sigma moves a normal score.

    R_d(p) = eps0 f(eps0)/phi(Phi^-1(p)), eps0 the 1 - p quantile of chi-square with d
    degrees of freedom.

    A change of sigma moves the score z by |dz| <= 2 R |d sigma|/sigma. R_d is strictly
    decreasing on (0, 1) in every dimension (theorem in the documentation), which closes
    [B]'s open question on p_min.

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
        R_d(p), relative error at most 2e-13; inf at p = 0, 0 at p = 1.

    References
    ----------
    [B] Lemma 1 and eq. (4).

    Examples
    --------
    >>> print(f"{ratio(1e-7, 784):.12f}")
    21.561473306018
    """
    z, dim = _arguments(p, dim, scores)
    with np.errstate(over="ignore", under="ignore"):
        result: Floats = kernels.lipschitz_ratio(-z, dim)
    return result


def ratio_derivative(p: ArrayLike, dim: ArrayLike, *, scores: bool = False) -> Floats:
    """Derivative of :func:`ratio`: dR/dp, or dR/dz with z = Phi^-1(p) for `scores`.

    Parameters and errors as in :func:`ratio`. The derivative is negative everywhere; it
    is formed as R z + (x - d)/2, which may cancel, and no bound of its error is stated.

    References
    ----------
    From R = 1/S'(z), S the monotone map of N(0, 1) to log chi-square (theory pages).

    Examples
    --------
    >>> print(f"{ratio_derivative(0.5, 2):.9f}")
    -0.769165953
    """
    z, dim = _arguments(p, dim, scores)
    with np.errstate(over="ignore", under="ignore"):
        slope = kernels.lipschitz_slope(-z, dim)
    if scores:
        of_scores: Floats = -slope
        return of_scores
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        result = -slope * (np.sqrt(2 * np.pi) * np.exp(z**2 / 2))
    # at both ends the score moves infinitely faster than the probability
    ends: Floats = np.where(np.isinf(z), -np.inf, result)[()]
    return ends


def p_min_search(dim: ArrayLike, floor: ArrayLike = 1e-300) -> Floats:
    """Smallest p such that R_d decreases on [p, 1 - p], checked numerically.

    By a theorem (theory pages) every p in (0, 1/2) will do, in every dimension, so the
    result is `floor`. This function checks it down to there on a grid, which is refined
    where R rises with z = Phi^-1(1 - p) by less than the error of its values.

    Parameters
    ----------
    dim : array_like
        As in :func:`ratio`.
    floor : array_like
        Where the check ends, a probability in (0, 1/2).

    Returns
    -------
    Array
        The p of each pair, broadcast over the arguments.

    References
    ----------
    [B] Lemma 3 and its condition on p_min.

    Examples
    --------
    >>> float(p_min_search(784))
    1e-300
    >>> p_min_search([784, 3072], floor=1e-9)
    array([1.e-09, 1.e-09])
    """
    dim = as_floats("dim", dim, 1.0, 1e8, nan=False)
    floor = as_floats("floor", floor, 0.0, 0.5, closed="neither", nan=False)
    dim, floor = broadcast(dim=dim, floor=floor)
    pairs = zip(np.ravel(dim).tolist(), np.ravel(floor).tolist(), strict=True)
    values = [_p_min(*pair) for pair in pairs]
    found: Floats = np.reshape(np.array(values, float), np.shape(dim))[()]
    return found


@np.errstate(under="ignore")  # the ratio falls below any double
def _p_min(dim: float, lowest: float) -> float:
    """The p of one dimension."""
    top = -float(ndtri(np.asarray(lowest)))
    z = np.linspace(-top, top, 257)
    values = kernels.lipschitz_ratio(z, dim)
    failed = np.zeros(0)
    for _ in range(8):
        rounding = RATIO_ERROR * (values[1:] + values[:-1])
        weak = ~(np.diff(values) > rounding)
        if not weak.any():
            return lowest
        failed = np.abs(z[1:][weak])
        middle = (z[1:][weak] + z[:-1][weak]) / 2
        slope = kernels.lipschitz_slope(middle, dim)
        if np.all(slope > 0) and np.all(np.diff(z)[weak] < 1e-2):
            return lowest
        z = np.sort(np.concatenate([z, middle]))
        values = kernels.lipschitz_ratio(z, dim)
    return float(scipy.special.ndtr(-np.min(failed)))


def constant(
    dim: ArrayLike, lip: ArrayLike, sigma_min: ArrayLike, p_min: ArrayLike
) -> Floats:
    """Lipschitz constant (1 + 2 lip R_d(p_min))/sigma_min of Phi^-1 of the scores.

    Source: [B] eq. (5).

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
        The constant, rounded up: never below the true value, within 1e-12 of it
        (relative).

    References
    ----------
    [B] Theorem 2 and eq. (5). The extremal set on the side u . grad sigma < 0 is the
    lower tail, so the pointwise factor is R(min(p, 1 - p)), and the constant stands.

    Examples
    --------
    >>> print(f"{constant(784, 0.5, 0.65, 1e-7):.10f}")
    34.7099589323
    """
    lip = as_floats("lip", lip, 0.0, closed="left", towards=np.inf)
    sigma_min = as_floats(
        "sigma_min", sigma_min, 0.0, closed="neither", towards=-np.inf
    )
    p_min = as_floats("p_min", p_min, 0.0, 0.5, closed="neither", towards=-np.inf)
    dim = as_floats("dim", dim, 1.0, 1e8)
    broadcast(dim=dim, lip=lip, sigma_min=sigma_min, p_min=p_min)
    with np.errstate(over="ignore", under="ignore"):
        value = (1 + 2 * lip * ratio(p_min, dim)) / sigma_min
    return round_up(value, RATIO_ERROR + 1e-15)


def normalize_scores(scores: ArrayLike, p_min: float) -> Array:
    """Scores that sum to 1, moved affinely so that each is at least p_min.

    Source: [B] Remark 2.

    Parameters
    ----------
    scores : array_like
        Class scores in [0, 1], classes on the last axis.
    p_min : float
        Lower bound wanted, in (0, 1/classes).

    Returns
    -------
    Array
        p_min + (1 - classes p_min) scores, to one rounding; the order of classes is
        kept.

    Examples
    --------
    >>> print(normalize_scores([1.0, 0.0], 0.01))
    [0.99 0.01]
    """
    array = as_floats("scores", scores, 0.0, 1.0)
    if array.ndim == 0:
        raise ArgumentError(
            "scores", "must have the classes on the last axis; got a scalar"
        )
    classes = array.shape[-1]
    if classes < 2:
        raise ArgumentError("scores", f"must be of at least two classes; got {classes}")
    least = number("p_min", p_min, 0.0, 1 / classes, closed="neither")
    return np.asarray(least + (1 - classes * least) * array)


def _arguments(p: ArrayLike, dim: ArrayLike, scores: bool) -> tuple[Floats, Floats]:
    z = score_of("p", p, scores=scores, limit=True)
    dim = as_floats("dim", dim, 1.0, 1e8)
    broadcast(p=z, dim=dim)
    return z, dim
