"""From normal scores to probabilities and back, rounded to the safe side.

Curves of noise that is not Gaussian say what becomes of probabilities; answers ask in
scores. Near 1 a probability has no digits left: there its complement is moved.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rsbounds._numerics.checks import (
    LEAST,
    Array,
    as_floats,
    broadcast,
    either,
    flag,
    number,
    operand,
)
from rsbounds._numerics.rounding import EPS, SMALLEST, TINY, round_down, round_up
from rsbounds._numerics.scores import (
    LOG_NDTR_ERROR,
    NDTRI_ERROR,
    log_gap_below,
    ndtri,
)
from rsbounds.special import log_ndtr, log_ndtr_gap

#: An exponential of a logarithm, over 1 and that logarithm's size.
EXP_ERROR = 8 * EPS
#: The largest finite score that a search takes as it is: 1 - p is below 2e-33 there.
_SURE = 12.0
#: What a curve makes of an array of probabilities, rounded to one side.
Moved = Callable[[Array], Array]


@np.errstate(under="ignore")  # shares may be smaller than any double
def share_below(z: Any) -> Array:
    """Phi(z), rounded down."""
    logs = round_down(log_ndtr(z), LOG_NDTR_ERROR)
    return round_down(np.exp(logs), 2 * EPS)


@np.errstate(under="ignore")
def share_above(z: Any) -> Array:
    """Phi(z), rounded up; above 0 for a finite score."""
    logs = round_up(log_ndtr(z), LOG_NDTR_ERROR)
    share = np.minimum(round_up(np.exp(logs), 2 * EPS), 1.0)
    result: Array = either(z == -np.inf, 0.0, np.maximum(share, SMALLEST))
    return result


@np.errstate(over="ignore")
def log_share_above(z: Any) -> Array:
    """The logarithm of Phi(z), rounded up; finite for a finite score."""
    logs = np.maximum(log_ndtr(z), -1e300)
    return np.where(np.isneginf(z), -np.inf, round_up(logs, LOG_NDTR_ERROR))


def moved_score(z: Any, low: Moved, high: Moved) -> Array:
    """The least score of an event of score z, rounded down; NaN stays NaN.

    ``low`` gives a lower bound of the event's probability, ``high`` an upper one of its
    complement's: the better of the two is kept.
    """
    scores = np.asarray(z, dtype=np.float64)
    known = np.where(np.isnan(scores), 0.0, scores)
    below = round_down(ndtri(low(share_below(known))), NDTRI_ERROR)
    above = -round_up(ndtri(high(share_above(-known))), NDTRI_ERROR)
    moved = np.minimum(np.maximum(below, above), known)
    return np.asarray(np.where(np.isnan(scores), np.nan, moved))


def checked_scores(
    z_a: Any, z_b: Any, *, nan: bool = True
) -> tuple[float, float | None]:
    """Two scores in float64, rounded to the safe side; None as ``z_b`` stays None."""
    if type(z_a) is type(z_b) is float and z_a > z_b and LEAST > 0:
        return z_a, z_b  # quickly: a run asks of every input
    first = number("z_a", z_a, towards=-np.inf, finite=False, nan=nan)
    if z_b is None:
        return first, None
    return first, number("z_b", z_b, towards=np.inf, finite=False, nan=nan)


def bounds(
    p_a: Any, p_b: Any, scores: bool, checked: Callable[..., Any]
) -> tuple[Any, Any]:
    """Two probabilities or scores, by their names, rounded to the safe side.

    ``checked`` is what checks one: ``number`` or ``as_floats``. None as ``p_b`` stays
    None.
    """
    names = ("z_a", "z_b") if flag("scores", scores) else ("p_a", "p_b")
    limits = (-np.inf, np.inf) if scores else (0.0, 1.0)
    ends = {"finite": False} if checked is number else {}
    a = checked(names[0], p_a, *limits, nan=False, towards=-np.inf, **ends)
    if p_b is None:
        return a, None
    return a, checked(names[1], p_b, *limits, nan=False, towards=np.inf, **ends)


def broadcast_bounds(p_a: Any, p_b: Any, scores: bool) -> tuple[Any, Any]:
    """Two arrays of probabilities or scores of one shape, rounded to the safe side."""
    a, b = bounds(p_a, p_b, scores, as_floats)
    if b is None:
        return a, None
    first, second = broadcast(**{"z_a" if scores else "p_a": a, "p_b": b})
    return first, second


def score_pair(p_a: Any, p_b: Any) -> tuple[float, float | None]:
    """Scores of two probabilities, rounded to the safe side."""
    first = number("p_a", p_a, 0.0, 1.0, towards=-np.inf, finite=False, nan=True)
    z_a = float(round_down(ndtri(np.asarray(first)), NDTRI_ERROR))
    if p_b is None:
        return z_a, None
    second = number("p_b", p_b, 0.0, 1.0, towards=np.inf, finite=False, nan=True)
    return z_a, float(round_up(ndtri(np.asarray(second)), NDTRI_ERROR))


def scores_of(p_a: Any, p_b: Any) -> tuple[Array, Array]:
    """Scores of arrays of probabilities, rounded to the safe side and broadcast."""
    first = operand("p_a", p_a, 0.0, 1.0, towards=-np.inf)
    z_a = round_down(ndtri(np.asarray(first)), NDTRI_ERROR)
    if p_b is None:
        return z_a, -z_a
    second = operand("p_b", p_b, 0.0, 1.0, towards=np.inf)
    z_b = round_up(ndtri(np.asarray(second)), NDTRI_ERROR)
    z_a, z_b = broadcast(p_a=z_a, p_b=z_b)
    return z_a, z_b


def lead(z_a: float, z_b: float | None) -> float:
    """Phi(z_a) - Phi(z_b) rounded down, at least 0; z_b = None stands for -z_a."""
    first, second = checked_scores(z_a, z_b)
    rival = -first if second is None else second
    # scalars of NumPy take a third of the time of its arrays of one number
    return float(leads(np.float64(first), np.float64(rival)))


@np.errstate(under="ignore")  # tails may be smaller than any double
def leads(first: Any, second: Any) -> Array:
    """Phi of the first less Phi of the second scores, rounded down, at least 0."""
    known = first > second  # log_ndtr_gap is of others a NaN
    high, low = either(known, first, 1.0), either(known, second, 0.0)
    difference = _difference(high, low)
    # of close scores both probabilities lose the digits of their difference
    log = log_ndtr_gap(high, low)
    close = round_down(np.exp(log_gap_below(log)), 2 * EPS)
    apart = np.nextafter(difference, -1.0) - EPS
    most = np.maximum(np.maximum(apart, close), 0.0)
    missing = (first != first) | (second != second)
    result: Array = np.asarray(either(known, most, either(missing, np.nan, 0.0)))[()]
    return result


def _difference(high: Array, low: Array) -> Array:
    """Phi(high) - Phi(low) of two tails; of two numbers in their own form alone."""
    if np.ndim(high) == 0:
        if high < 0:
            return _small(high, low)
        return _small(-low, -high) if low > 0 else _across(high, low)
    positive = np.where(low > 0, _small(-low, -high), _across(high, low))
    return np.where(high < 0, _small(high, low), positive)


def _small(high: Array, low: Array) -> Array:
    return share_below(high) - share_above(low)


def _across(high: Array, low: Array) -> Array:
    return 1.0 - share_above(-high) - share_above(low)


def tails(z: Array) -> tuple[Array, Array]:
    """A lower bound of Phi(z) and an upper bound of Phi(-z), in doubles."""
    # the tails of an infinite score, set at last, are inf - inf until then
    with np.errstate(under="ignore", invalid="ignore"):
        # a finite logarithm for every finite score: -inf less a share of it is NaN
        log_p, log_q = log_ndtr(z), np.maximum(log_ndtr(-z), -1e300)
        low = np.exp(log_p + log_p * LOG_NDTR_ERROR)
        high = np.exp(log_q - log_q * LOG_NDTR_ERROR)
        low = np.where(low < 1e-300, 0.0, round_down(low, EXP_ERROR * (1.0 - log_p)))
        high = round_up(high, EXP_ERROR * (1.0 - log_q))
        high = np.minimum(np.maximum(high, 2 * TINY), 1.0)
    infinite = np.isinf(z)
    if infinite.any():
        low = np.where(infinite, z > 0, low)
        high = np.where(infinite, z < 0, high)
    return low, high


def not_above(scores: Array) -> Array:
    """Finite scores, none above ``_SURE``: a search for changes has an end there."""
    lowered: Array = np.where(np.isfinite(scores), np.minimum(scores, _SURE), scores)
    return lowered
