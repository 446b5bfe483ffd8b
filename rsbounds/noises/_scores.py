"""From normal scores to probabilities and back, rounded to the safe side.

Curves of noise that is not Gaussian say what becomes of probabilities; answers ask in
scores. Near 1 a probability has no digits left: there its complement is moved.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from rsbounds._numerics.checks import LEAST, Array, broadcast, number, operand
from rsbounds._numerics.rounding import EPS, SMALLEST, round_down, round_up
from rsbounds._numerics.scores import LOG_NDTR_ERROR, NDTRI_ERROR, ndtri
from rsbounds.noises._exact import upper_float
from rsbounds.special import error_bound, log_ndtr, log_ndtr_gap

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
    result: Array = np.where(np.isneginf(z), 0.0, np.maximum(share, SMALLEST))
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
    return float(
        leads(np.asarray(first), np.asarray(-first if second is None else second))
    )


@np.errstate(under="ignore")  # tails may be smaller than any double
def leads(first: Array, second: Array) -> Array:
    """Phi of the first less Phi of the second scores, rounded down, at least 0."""
    known = first > second  # log_ndtr_gap is of others a NaN
    high, low = np.where(known, first, 1.0), np.where(known, second, 0.0)
    small = share_below(high) - share_above(low)
    near_one = share_below(-low) - share_above(-high)
    across = 1.0 - share_above(-high) - share_above(low)
    difference = np.where(high < 0, small, np.where(low > 0, near_one, across))
    # of close scores both probabilities lose the digits of their difference
    log = log_ndtr_gap(high, low)
    close = round_down(np.exp(log - error_bound("log_ndtr_gap", log)), 2 * EPS)
    apart = np.nextafter(difference, -1.0) - EPS
    most = np.maximum(np.maximum(apart, close), 0.0)
    missing = np.isnan(first) | np.isnan(second)
    return np.where(known, most, np.where(missing, np.nan, 0.0))


def tails(z: Array) -> tuple[Array, Array]:
    """A lower bound of Phi(z) and an upper bound of Phi(-z), in doubles."""
    # the tails of an infinite score, set below, are inf - inf until then
    with np.errstate(under="ignore", invalid="ignore"):
        # a finite logarithm for every finite score: -inf less a share of it is NaN
        log_p, log_q = log_ndtr(z), np.maximum(log_ndtr(-z), -1e300)
        low = np.exp(log_p + log_p * LOG_NDTR_ERROR)
        high = np.exp(log_q - log_q * LOG_NDTR_ERROR)
        low = np.where(low < 1e-300, 0.0, round_down(low, EXP_ERROR * (1.0 - log_p)))
        high = round_up(high, EXP_ERROR * (1.0 - log_q))
        high = np.minimum(upper_float(high), 1.0)
    low = np.where(z == np.inf, 1.0, np.where(z == -np.inf, 0.0, low))
    high = np.where(z == np.inf, 0.0, np.where(z == -np.inf, 1.0, high))
    return low, high


def not_above(scores: Array) -> Array:
    """Finite scores, none above ``_SURE``: a search for changes has an end there."""
    lowered: Array = np.where(np.isfinite(scores), np.minimum(scores, _SURE), scores)
    return lowered


def bounds_of_scores(z_a: Any, z_b: Any) -> tuple[Fraction, Fraction | None]:
    """Rational lower bounds of p_a and of 1 - p_b, each from its smaller tail."""
    first, second = checked_scores(z_a, z_b, nan=False)
    scores = not_above(np.array([first, 0.0 if second is None else -second]))
    low, high = tails(scores)
    top, rest = (
        Fraction(float(p)) if z <= 0 else 1 - Fraction(float(q))
        for z, p, q in zip(scores, low, high, strict=True)
    )
    return top, None if second is None else rest
