"""Other rules over the same coordinates: potentials, filtered votes, routes by a quantile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special as sc

from rsbounds._numerics.checks import Array, broadcast, real, whole
from rsbounds._numerics.rounding import EPS, flag_nan, product, round_down
from rsbounds._numerics.scores import NDTRI_ERROR
from rsbounds._numerics.search import bisect


def potential_radius(g: Callable[[Array], Any], scores: Any, cls: Any) -> Any:
    """Distance within which argmax_c g(r_c) stays the same, for a non-decreasing potential.

    sup{R : g(r_cls - R) > max over b of g(r_b + R)}, by bisection: r_c is the vector of
    class c's coordinates at all levels, and each moves by at most R.

    Parameters
    ----------
    g : callable
        Takes an array (..., K), returns (...): the potential of a class from its K
        coordinates, non-decreasing in each of them.
    scores : array_like of float, shape (..., K, C)
        Coordinates in the input's unit, finite: sigma times a normal score, or the value of
        a deterministic function over its Lipschitz constant.
    cls : array_like of int, shape (...)
        The class to be certified.

    Returns
    -------
    float or ndarray, shape (...)
        A radius that passed the comparison as ``g`` computes it, within 1e-12 of the last
        (relative to the spread of the coordinates); 0.0 where ``cls`` does not lead. NaN
        in, NaN out.

    Raises
    ------
    ValueError
        If the shapes do not fit or ``cls`` is not a class.

    Notes
    -----
    Beyond half the spread of the coordinates the comparison fails for every potential, so
    the search is over [0, spread/2]. Rounding inside ``g`` is the caller's.

    Examples
    --------
    The sum of the coordinates of two levels:

    >>> from rsbounds.composite import potential_radius
    >>> g = lambda r: r.sum(axis=-1)
    >>> print(f"{potential_radius(g, [[1.0, -1.0], [0.5, -0.5]], 0):.6f}")
    0.750000
    """
    r, classes = real("scores", scores), whole("cls", cls)
    if r.ndim < 2 or r.shape[-1] < 2:
        raise ValueError(f"scores must have shape (..., levels, classes); got {r.shape}")
    if np.isinf(r).any():
        raise ValueError("scores must be finite coordinates; got an infinite one")
    if not np.all(classes < r.shape[-1]):
        raise ValueError(f"cls must be one of {r.shape[-1]} classes; got {classes.max()}")
    try:
        classes = np.broadcast_to(classes, r.shape[:-2])
    except ValueError:
        raise ValueError(f"cls must have shape {r.shape[:-2]}; got {classes.shape}") from None
    by_class = np.moveaxis(r, -1, -2)
    own = np.take_along_axis(by_class, classes[..., None, None], axis=-2)[..., 0, :]
    mask = np.arange(r.shape[-1]) == classes[..., None]
    error = 4.0 * EPS * np.abs(r).max(axis=(-2, -1))

    def accepted(distance: Array) -> NDArray[np.bool_]:
        move = (distance + error)[..., None]
        rivals = np.asarray(g(by_class + move[..., None]))
        best = np.where(mask, -np.inf, rivals).max(axis=-1)
        return np.asarray(np.asarray(g(own - move)) > best)

    reach = (r.max(axis=(-2, -1)) - r.min(axis=(-2, -1))) / 2.0
    found = bisect(np.zeros(reach.shape), np.asarray(reach), accepted)
    return flag_nan(np.where(np.isnan(reach), np.nan, found))[()]


def filtered_radius(z_c: Any, z_w: Any, sigma: Any, quantile: Any = 0.5) -> Any:
    """Distance within which a class keeps its share of the samples that a filter retains.

    The class fires iff p_c/(p_c + p_w) > quantile, p_w the probability that a sample is
    retained and falls on another class. sup{R : (1 - q) Phi(z_c - R/sigma) >
    q Phi(z_w + R/sigma)}; at q = 1/2 sigma (z_c - z_w)/2.

    Parameters
    ----------
    z_c, z_w : array_like of float
        Normal scores of p_c (a lower bound) and of p_w (an upper bound), both shares of all
        samples: never divide by the number of those retained, which is random.
    sigma : array_like of float
        Noise level, > 0 and finite.
    quantile : array_like of float
        In (0, 1).

    Returns
    -------
    float or ndarray
        A lower bound, within 1e-11 of the scores' size; 0.0 where the class does not fire.
        NaN in, NaN out.

    Raises
    ------
    ValueError
        If an argument is outside its domain or the shapes do not broadcast.

    Examples
    --------
    >>> from rsbounds.composite import filtered_radius
    >>> print(f"{filtered_radius(0.5, -1.5, 0.5):.6f} {filtered_radius(0.5, -1.5, 0.5, 0.9):.6f}")
    0.500000 0.028661
    """
    z_c, z_w = real("z_c", z_c), real("z_w", z_w)
    sigma = real("sigma", sigma, 0.0, closed="neither")
    quantile = real("quantile", quantile, 0.0, 1.0, closed="neither")
    z_c, z_w, sigma, quantile = broadcast(z_c=z_c, z_w=z_w, sigma=sigma, quantile=quantile)
    odds = np.log(quantile) - np.log1p(-quantile)

    def accepted(move: Array) -> NDArray[np.bool_]:
        with np.errstate(invalid="ignore", divide="ignore"):
            low, high = sc.log_ndtr(z_c - move), sc.log_ndtr(z_w + move)
            error = 1e-12 * (1.0 + np.abs(low) + np.abs(high) + np.abs(odds))
            return np.asarray(low - high - odds >= error)

    with np.errstate(invalid="ignore"):
        # the move at which z_w overtakes z_c, and what the odds can add to it
        reach = np.abs(z_c / 2 - z_w / 2) + np.sqrt(2.0 * np.abs(odds)) + np.abs(odds) + 1.0
    reach = np.minimum(np.where(np.isnan(reach), 0.0, reach), 1e6)
    move = bisect(np.zeros(reach.shape), reach, accepted, steps=80)
    result = round_down(product(sigma, move), 2.0 * EPS)
    nan = np.isnan(z_c) | np.isnan(z_w) | np.isnan(sigma) | np.isnan(quantile)
    return flag_nan(np.where(nan, np.nan, result))[()]


def route_radius(scores: Any, sigma: Any, radii: Any, quantile: Any = 0.5) -> Any:
    """Distance within which a class keeps, whatever route a quantile of routes then takes.

    The router votes on ordered routes under its own noise; the route taken is the first k
    with p_(route <= k) > quantile. Route k comes within reach at the distance
    max(t - r_k, r_(k-1) - t), with r_k the coordinate of p_(route <= k) and
    t = sigma Phi^-1(quantile); only routes within reach must certify the class:
    min over k of max(reach of k, radius of k).

    Parameters
    ----------
    scores : array_like of float, shape (..., K - 1)
        Normal scores of p_(route <= k) for all routes but the last (whose is 1),
        non-decreasing.
    sigma : array_like of float, shape (...)
        The router's noise level, > 0 and finite.
    radii : array_like of float, shape (..., K)
        Radius of the class on each route, >= 0 (0: the route returns another class).
    quantile : float
        In (0, 1).

    Returns
    -------
    float or ndarray, shape (...)
        A lower bound, within 1e-14 of the largest coordinate; at least 0.0.

    Raises
    ------
    ValueError
        If an argument is outside its domain, the scores decrease, or there is not one
        route more than scores.

    Examples
    --------
    The route that is taken has radius 0.8, its neighbour none:

    >>> from rsbounds.composite import route_radius
    >>> print(f"{route_radius([1.5], 0.5, [0.8, 0.0]):.6f}")
    0.750000
    """
    z, radii = real("scores", scores), real("radii", radii, 0.0)
    sigma = real("sigma", sigma, 0.0, closed="neither")
    quantile = real("quantile", quantile, 0.0, 1.0, closed="neither", nan=False)
    if z.ndim < 1 or radii.ndim < 1 or radii.shape[-1] != z.shape[-1] + 1:
        raise ValueError(
            f"radii must have one route more than scores on the last axis; got {radii.shape} "
            f"and {z.shape}"
        )
    if not np.all((np.diff(z, axis=-1) >= 0) | np.isnan(z[..., 1:] + z[..., :-1])):
        raise ValueError("scores must be non-decreasing on the last axis; got others")
    r, t = product(sigma[..., None], z), product(sigma, sc.ndtri(quantile))[..., None]
    finite = np.where(np.isfinite(r), np.abs(r), 0.0)
    slack = (NDTRI_ERROR + 2.0 * EPS) * (finite + np.abs(t))
    shape = (*np.broadcast_shapes(r.shape[:-1], radii.shape[:-1]), radii.shape[-1])
    reach = np.full(shape, -np.inf)
    reach[..., :-1] = t - r - slack
    reach[..., 1:] = np.maximum(reach[..., 1:], r - t - slack)
    return flag_nan(np.maximum(np.maximum(reach, radii).min(axis=-1), 0.0))[()]
