"""The radius of a decision list, or of routes, where all probabilities are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special as sc

from rsbounds._numerics.checks import Array, as_floats, as_integers, number
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.rounding import EPS, flag_nan, product
from rsbounds._numerics.scores import NDTRI_ERROR
from rsbounds.certificate import ABSTAIN
from rsbounds.composite.rule import Cond, Rule, checked_rule

_CELLS = 2**18  # numbers worked on at a time: they stay in the processor's cache


def radius(rule: Rule, scores: Any, cls: Any) -> Any:
    """Distance within which a decision list keeps its class, from exact probabilities.

    It is max_j min(f_j, min over i < j of w_i), where f_i is the least excess of item
    i's conditions for the class, and w_i the least, over the other classes, of the
    largest shortfall of one of them. The theory page "Several levels at once" proves
    it.

    Parameters
    ----------
    rule : Rule
        K noise levels.
    scores : array_like of float, shape (..., K, C)
        Normal scores of the probabilities of C >= 2 classes under each level's noise;
        those of a level sum to at most 1.
    cls : array_like of int, shape (...)
        The class to be certified, in [0, C).

    Returns
    -------
    float or ndarray, shape (...)
        A lower bound, in the input's unit, within 1e-15 times the largest |sigma z| and
        |threshold| of a condition (for "set" conditions within 1e-15 C of the set's
        probability). 0.0 where the rule does not return ``cls``, inf where no distance
        changes its answer.

    Examples
    --------
    >>> from rsbounds.composite import Cond, Rule, radius
    >>> gate = [Cond("margin", 0), Cond("score", 0, -0.3)]
    >>> rule = Rule([1.0, 0.5], [gate, [Cond("margin", 1)]])
    >>> confident = [[1.5, -2.0, -2.0], [1.5, -2.0, -2.0]]
    >>> unclear = [[-0.5, -0.6, -1.0], [1.0, -1.5, -2.0]]
    >>> print(*(f"{r:.4f}" for r in radius(rule, [confident, unclear], [0, 0])))
    1.7500 0.3000
    """
    return _in_blocks(
        lambda *part: flag_nan(_radius(rule, *part)), *_arguments(rule, scores, cls)
    )


def classify(rule: Rule, scores: Any) -> Any:
    """Class that a decision list returns from exact probabilities; ABSTAIN if none.

    ABSTAIN is -1.

    Parameters as in :func:`radius`, without NaN; int or ndarray of int, shape (...).

    Examples
    --------
    >>> from rsbounds.composite import Cond, Rule, classify
    >>> rule = Rule([1.0], [[Cond("score", 0)]])
    >>> classify(rule, [[[0.1, -0.1]], [[-0.2, -0.3]]]).tolist()
    [0, -1]
    """
    arguments = _arguments(rule, as_floats("scores", scores, nan=False), 0)
    return _in_blocks(lambda z, _: _classify(rule, z), *arguments)


def route_radius(scores: Any, sigma: Any, radii: Any, quantile: float = 0.5) -> Any:
    """Distance within which a class stays, whatever route a quantile of routes takes.

    The router votes on ordered routes under its own noise; the route taken is the first
    k with p_(route <= k) > quantile. Route k comes within reach at the distance max(t -
    r_k, r_(k-1) - t), with r_k the coordinate of p_(route <= k) and t = sigma
    Phi^-1(quantile); only routes within reach must certify the class: min over k of
    max(reach of k, radius of k).

    Parameters
    ----------
    scores : array_like of float, shape (..., K - 1)
        Normal scores of p_(route <= k) for all routes but the last, non-decreasing.
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

    Examples
    --------
    The route that is taken has radius 0.8, its neighbour none:

    >>> from rsbounds.composite import route_radius
    >>> print(f"{route_radius([1.5], 0.5, [0.8, 0.0]):.6f}")
    0.750000
    """
    z, radii = as_floats("scores", scores), as_floats("radii", radii, 0.0)
    sigma = as_floats("sigma", sigma, 0.0, closed="neither")
    share = number("quantile", quantile, 0.0, 1.0, closed="neither")
    if z.ndim < 1 or radii.ndim < 1 or radii.shape[-1] != z.shape[-1] + 1:
        shapes = f"shapes {radii.shape} and {z.shape}"
        raise ArgumentError(
            "radii", f"must be of one route more than scores; got {shapes}"
        )
    if not np.all(
        (z[..., 1:] >= z[..., :-1]) | np.isnan(z[..., 1:]) | np.isnan(z[..., :-1])
    ):
        raise ArgumentError(
            "scores", "must be non-decreasing on the last axis; got others"
        )
    r = product(sigma[..., None], z)
    t = product(sigma, sc.ndtri(share))[..., None]
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        finite = np.where(np.isfinite(r), np.abs(r), 0.0)
        slack = (NDTRI_ERROR + 2.0 * EPS) * (finite + np.abs(t))
        nearer = t - r - slack
        further = r - t - slack
    shape = (*np.broadcast_shapes(r.shape[:-1], radii.shape[:-1]), radii.shape[-1])
    reach = np.full(shape, -np.inf)
    reach[..., :-1] = nearer
    reach[..., 1:] = np.maximum(reach[..., 1:], further)
    return flag_nan(np.maximum(np.maximum(reach, radii).min(axis=-1), 0.0))[()]


def through_items(fires: Array, blocks: Array) -> Array:
    """Radius through each item j, min(f_j, min over i < j of w_i), on the last axis."""
    first = np.full((*fires.shape[:-1], 1), np.inf)
    before = np.minimum.accumulate(
        np.concatenate([first, blocks[..., :-1]], axis=-1), axis=-1
    )
    return np.minimum(fires, before)


def item_terms(
    rule: Rule, scores: Array, cls: NDArray[np.int64], others: Array | None = None
) -> tuple[Array, Array]:
    """(f, w), shape (cases, items): how far the items are from failing and from firing.

    ``scores`` are those of the class whose coordinate it is, ``others`` (the same by
    default) those it is compared with in a margin; both of shape (cases, K, C).
    """
    cases = len(scores)
    rows = np.arange(cases)
    if others is None:
        others = scores
    fires = np.full((cases, len(rule.items)), np.inf)
    blocks = np.empty_like(fires)
    for i, item in enumerate(rule.items):
        shortfall = np.full((cases, scores.shape[-1]), -np.inf)
        for q in item:
            low, high = coordinate(rule, q, scores, others)
            excess = less(low, q.threshold)[rows, cls]
            fires[:, i] = np.minimum(fires[:, i], excess)
            shortfall = np.maximum(shortfall, less(q.threshold, high))
        shortfall[rows, cls] = np.inf  # the class itself need not be blocked
        blocks[:, i] = shortfall.min(axis=-1)
    return fires, blocks


def coordinate(
    rule: Rule, q: Cond, scores: Array, others: Array
) -> tuple[Array, Array]:
    """The condition's coordinate for each class, rounded down and up."""
    sigma = rule.sigmas[q.stage]
    z = scores[..., q.stage, :]
    if q.kind == "set":
        return _set_value(sigma, z, q.classes or ())
    r = product(sigma, z)
    value = r
    slack = _rounding(r)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        if q.kind == "margin":
            rival = product(sigma, _largest_other(others[..., q.stage, :]))
            value = np.where(r == rival, 0.0, r / 2.0 - rival / 2.0)
            value = np.where(r == -np.inf, r, value)
            # one by one: the sum of their sizes may overflow
            slack = slack + _rounding(rival)
        return value - slack, value + slack


def less(a: Any, b: Any) -> Array:
    """Return a - b, rounded down."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        difference = np.asarray(a - b)
        return difference - _rounding(difference)


def _rounding(value: Array) -> Array:
    """What the roundings of a number may come to, 0 for an infinite one."""
    with np.errstate(under="ignore"):
        return EPS * np.where(np.isfinite(value), np.abs(value), 0.0)


def _set_value(sigma: float, z: Array, classes: tuple[int, ...]) -> tuple[Array, Array]:
    with np.errstate(under="ignore"):
        p = sc.ndtr(z[..., list(classes)]).sum(axis=-1, keepdims=True)
    error = 2.0 * EPS * (len(classes) + 1)

    def bound(side: float) -> Array:
        value = sc.ndtri(np.clip(p + side * error, 0.0, 1.0))
        finite = np.where(np.isfinite(value), np.abs(value), 0.0)
        outward = value + side * EPS * (1.0 + 32.0 * finite)
        return np.broadcast_to(product(sigma, outward), z.shape)

    return bound(-1.0), bound(1.0)


def _largest_other(z: Array) -> Array:
    """The largest score of another class, for each class."""
    top = z.argmax(axis=-1, keepdims=True)
    first = np.take_along_axis(z, top, axis=-1)
    rest = z.copy()
    np.put_along_axis(rest, top, -np.inf, axis=-1)
    result = np.broadcast_to(first, z.shape).copy()
    np.put_along_axis(result, top, rest.max(axis=-1, keepdims=True), axis=-1)
    return result


def _radius(rule: Rule, z: Array, cls: NDArray[np.int64]) -> Array:
    with np.errstate(invalid="ignore"):
        result = np.maximum(through_items(*item_terms(rule, z, cls)).max(axis=-1), 0.0)
    return np.where(np.isnan(z).any(axis=(-2, -1)), np.nan, result)


def _classify(rule: Rule, z: Array) -> NDArray[np.int64]:
    result = np.full(len(z), ABSTAIN)
    for item in rule.items:
        holds = np.full((len(z), z.shape[-1]), True)
        for q in item:
            holds &= coordinate(rule, q, z, z)[0] > q.threshold
        result = np.where(
            (result == ABSTAIN) & holds.any(axis=-1), holds.argmax(axis=-1), result
        )
    return result


def _arguments(rule: Rule, scores: Any, cls: Any) -> tuple[Array, NDArray[np.int64]]:
    z, classes = as_floats("scores", scores), as_integers("cls", cls)
    levels, least = len(checked_rule(rule).sigmas), rule.least_classes
    if z.ndim < 2 or z.shape[-2] != levels or z.shape[-1] < least:
        expected = f"(..., {levels} levels, {least} classes or more)"
        raise ArgumentError("scores", f"must have shape {expected}; got {z.shape}")
    if not np.all(classes < z.shape[-1]):
        raise ArgumentError(
            "cls", f"must be one of {z.shape[-1]} classes; got {classes.max()}"
        )
    try:
        return z, np.broadcast_to(classes, z.shape[:-2])
    except ValueError:
        raise ArgumentError(
            "cls", f"must have shape {z.shape[:-2]}; got {classes.shape}"
        ) from None


def _in_blocks(
    function: Callable[..., Any], z: Array, classes: NDArray[np.int64]
) -> Any:
    flat, labels = z.reshape(-1, *z.shape[-2:]), classes.reshape(-1)
    step = max(1, _CELLS // (flat.shape[-2] * flat.shape[-1]))
    parts = [slice(i, i + step) for i in range(0, max(len(flat), 1), step)]
    pieces = [function(flat[part], labels[part]) for part in parts]
    return np.concatenate(pieces).reshape(classes.shape)[()]
