"""Prediction sets that keep their coverage within a radius.

These are robust split-conformal sets.

A label belongs to the set while its score (of input plus noise; the smaller, the better
the label fits) is at most a threshold. Within R an input's own coverage c falls to no
less than g(c) = Phi(Phi^-1(c) - R/sigma), which is convex: by Jensen's inequality so
does the coverage over data, calibration and noise. The level of calibration that a
coverage at x' takes is of the inverse of the scheme's transport; the curve g is the
transport itself. With m noisy scores, k of m must be at most the threshold in
calibration, j < k of m in prediction.
"""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import Array, as_floats, count
from rsbounds._numerics.domains import Domain
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.levels import warn_of_confidence
from rsbounds._numerics.rounding import EPS, round_down
from rsbounds._numerics.scores import LOG_NDTR_ERROR, NDTRI_ERROR, ndtri
from rsbounds.answers._answer import checked_alpha, checked_radius, require_scheme
from rsbounds.schemes import Scheme
from rsbounds.special import log_ndtr

GRID = np.linspace(-8.0, 8.0, 16001)  # of the score of c, for the hull
SHARE_ERROR = 1e-12  # of `_at_least`, and of the arithmetic of the hull


class SetRule(NamedTuple):
    """Numbers of m noisy scores that must be at most the threshold.

    ``calibrate`` of them in calibration, and ``include`` for a label to belong to a
    set; calibration is at coverage 1 - ``error``.
    """

    calibrate: int
    include: int
    error: float


def conformal_level(alpha: float, radius: float, scheme: Scheme) -> float:
    """The coverage to calibrate at, for coverage 1 - alpha anywhere within a radius.

    Parameters
    ----------
    alpha, radius : float
        How often the true label may be missed, in (0, 1); how far each input may be
        moved, >= 0.
    scheme
        As in :func:`top_k_radius`.

    Returns
    -------
    float
        Phi(Phi^-1(1 - alpha) + R/sigma) for Gaussian noise, rounded up: Gendler et al.,
        Adversarially robust conformal prediction, 2022; the theory page on answers.

    Raises
    ------
    ValueError
        If an argument is out of its domain, or the scheme states no inverse of its
        transport.

    Examples
    --------
    >>> from rsbounds.answers import conformal_level
    >>> from rsbounds.schemes import gaussian
    >>> round(conformal_level(0.1, 0.125, gaussian(0.25)), 4)
    0.9626
    """
    require_scheme(scheme)
    missed = _error(checked_alpha(alpha), checked_radius(radius), scheme)
    return min(float(np.nextafter(1.0 - missed, 2.0)), 1.0)


def _error(alpha: float, radius: float, scheme: Scheme) -> float:
    """Return 1 less that coverage, rounded down.

    It keeps its digits where the coverage is near 1.
    """
    if radius and not scheme.convex:  # Jensen's inequality is for the hull
        return _hull(1, 1, 1, alpha, radius, scheme)
    z = round_down(ndtri(np.asarray(alpha)), NDTRI_ERROR)
    # a label missed with probability alpha at x' is missed at x this often at least
    low = scheme.inverse(z, radius)[0]
    if not radius:
        return alpha
    with np.errstate(under="ignore"):
        return float(
            round_down(np.exp(round_down(log_ndtr(low), LOG_NDTR_ERROR)), 2 * EPS)
        )


def set_rule(m: int, alpha: float, radius: float, scheme: Scheme) -> SetRule:
    """What m noisy scores of an input are asked, in calibration and in prediction.

    Both lie in the middle of m, with the least gap at which calibration may miss
    alpha/2.

    Parameters
    ----------
    m : int
        Noisy scores of each input, 1 to 1000.
    alpha, radius, scheme
        As in :func:`conformal_level`.

    Examples
    --------
    >>> from rsbounds.answers import set_rule
    >>> from rsbounds.schemes import gaussian
    >>> rule = set_rule(100, 0.1, 0.125, gaussian(0.25))
    >>> rule.calibrate, rule.include, round(1 - rule.error, 2)
    (60, 41, 0.93)
    """
    m = count("m", m, 1)
    if not m <= 1000:
        raise ArgumentError("m", f"must be at most 1000; got {m}")
    require_scheme(scheme)
    alpha, radius = checked_alpha(alpha), checked_radius(radius)
    error = _error(alpha, radius, scheme)
    if m == 1:
        return SetRule(1, 1, error)

    def rule(gap: int) -> SetRule:
        k = (m + 1 + gap) // 2
        return SetRule(k, k - gap, _hull(m, k, k - gap, alpha, radius, scheme))

    low, high = -1, m - 1  # the larger the gap, the more calibration may miss
    while high - low > 1:
        middle = (low + high) // 2
        if 2 * rule(middle).error >= alpha:
            high = middle
        else:
            low = middle
    return rule(high)


def _hull(m: int, k: int, j: int, alpha: float, radius: float, scheme: Scheme) -> float:
    """Return the largest miscoverage in calibration that misses alpha when moved.

    It is rounded down.

    Inputs of coverage c miss 1 - P(Bin(m, c) >= k) and 1 - P(Bin(m, g(c)) >= j). If a
    line a + b x is above all of these points, the mean of the second is at most a + b
    e.
    """
    clean = _at_least(k, m, GRID)
    moved = _at_least(j, m, scheme.transport(GRID, radius)[0])
    # both grow with c: between two points of the grid, clean is at most that of the
    # right one and moved at least that of the left one
    missed = 1.0 - np.minimum(np.append(clean + SHARE_ERROR, 1.0), 1.0)
    failed = 1.0 - np.maximum(np.append(0.0, moved - SHARE_ERROR), 0.0)

    def error(slope: float) -> float:
        return (alpha - float(np.max(failed - slope * missed)) - SHARE_ERROR) / slope

    slopes = np.geomspace(1e-2, 1e5, 141)
    best = float(max(slopes, key=error))
    finer = np.geomspace(best / 1.2, best * 1.2, 61)
    return float(max(*map(error, finer), 0.0))


@np.errstate(under="ignore")
def _at_least(k: int, m: int, z: Array) -> Array:
    """P(Bin(m, Phi(z)) >= k), within `SHARE_ERROR`."""
    if not k:
        return np.ones(z.shape)
    odds = np.asarray(log_ndtr(z) - log_ndtr(-z))
    low = odds < 0  # else 1 - P(m - Bin(m, Phi(z)) >= m - k + 1)
    result = np.empty(z.shape)
    for side, first, sign in ((low, k, 1.0), (~low, m - k + 1, -1.0)):
        log = sign * odds[side]
        ratio, total = np.exp(log), np.ones(log.shape)
        for i in range(m - 1, first - 1, -1):  # terms over that of `first`
            total = 1.0 + (m - i) / (i + 1) * ratio * total
        start = math.log(math.comb(m, first)) + first * log - m * np.log1p(ratio)
        result[side] = np.exp(start) * total
    return np.where(low, result, 1.0 - result)


def conformalize(scores: Any, alpha: float, radius: float, scheme: Scheme) -> float:
    """The threshold of prediction sets that cover 1 - alpha anywhere within a radius.

    Parameters
    ----------
    scores : array_like, shape (n,) or (n, m)
        Of n calibration inputs the score of the true label (smaller: it fits better),
        from one noisy copy each, or from m. NaN counts as infinite.
    alpha, radius, scheme
        As in :func:`conformal_level`.

    Returns
    -------
    float
        For :func:`predict_set`. Over the draw of calibration inputs, test input and all
        noise, the set holds the true label with probability 1 - alpha at least,
        wherever within the radius someone who sees all but the noise moves the test
        input. inf where n is too small: a RuntimeWarning says how many inputs it takes.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.answers import conformalize, predict_set
    >>> from rsbounds.schemes import gaussian
    >>> threshold = conformalize(np.arange(1000) / 1000, 0.1, 0.125, gaussian(0.25))
    >>> threshold, predict_set([[0.5, 0.99]], threshold)
    (0.963, array([[ True, False]]))
    """
    array = as_floats("scores", scores)
    if array.ndim not in (1, 2) or not array.size:
        raise ValueError(
            f"scores must have shape (n,) or (n, m), at least one; got {array.shape}"
        )
    copies = np.where(np.isnan(array), np.inf, array).reshape(len(array), -1)
    rule = set_rule(copies.shape[1], alpha, radius, scheme)
    warn_of_confidence(alpha, stacklevel=2)
    reached = np.sort(np.sort(copies, axis=1)[:, rule.calibrate - 1])
    n = len(reached)
    place = n + 1 - math.floor((n + 1) * Fraction(rule.error))  # exact
    if place > n:
        need = "more than 1e15"
        if rule.error > 1e-15:
            need = str(math.ceil(1.0 / rule.error) - 1)
        warnings.warn(
            f"{n} calibration inputs are too few for alpha = {float(alpha):g} at "
            f"radius {float(radius):g}, which takes {need}: the threshold is infinite",
            RuntimeWarning,
            stacklevel=2,
        )
        return math.inf
    return float(reached[place - 1])


def predict_set(
    scores: Any, threshold: float, *, include: int = 1
) -> NDArray[np.bool_]:
    """Tell which labels belong to the prediction set of each input.

    The result is an array of bool, shape (inputs, classes).

    Parameters
    ----------
    scores : array_like, shape (inputs, classes) or (inputs, m, classes)
        Of each label, from one noisy copy of the input, or from m. NaN can't exclude a
        label.
    threshold : float
        Of :func:`conformalize`, from as many noisy copies.
    include : int
        How many of m scores must be at most the threshold: that of :func:`set_rule`.

    Raises
    ------
    ValueError
        If scores have another shape, or an argument is out of its domain.

    Examples
    --------
    >>> from rsbounds.answers import predict_set
    >>> predict_set([[[0.2, 0.9], [0.4, 0.3], [0.6, 0.8]]], 0.5, include=2)
    array([[ True, False]])
    """
    array, limit = (
        as_floats("scores", scores),
        Domain(-math.inf, math.inf).one("threshold", threshold),
    )
    if array.ndim not in (2, 3) or not array.size:
        raise ValueError(
            "scores must have shape (inputs, classes) or (inputs, m, classes), at "
            f"least one; got {array.shape}"
        )
    copies = array.reshape(len(array), -1, array.shape[-1])
    if not count("include", include, 1) <= copies.shape[1]:
        raise ValueError(
            f"include must be at most m = {copies.shape[1]}; got {include}"
        )
    return np.asarray((~(copies > limit)).sum(axis=1) >= include)
