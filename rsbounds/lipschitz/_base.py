"""The radius of a smoothed classifier whose scores are Lipschitz to begin with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rsbounds._numerics.checks import Array, Floats, as_floats, broadcast
from rsbounds._numerics.rounding import capped, product, round_down
from rsbounds._numerics.scores import ScorePair
from rsbounds._numerics.threads import apply
from rsbounds_ext.kernels import log_ndtr

_ERROR = 4e-12
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(40)
_NODES, _WEIGHTS = (_NODES + 1) / 2, _WEIGHTS / 2  # of a mean over [0, 1]
_WIDE = 4.0  # ramps wider than this, in sigmas, by closed forms
_WIDEST = 1e200
_DENSITY = 1 / np.sqrt(2 * np.pi)


def base_radius(
    p_a: ArrayLike,
    sigma: ArrayLike,
    base_lip: ArrayLike,
    *,
    p_b: ArrayLike | None = None,
    scores: bool = False,
) -> Floats:
    """Certified l_2 radius at one noise level for L-Lipschitz base scores in [0, 1].

    Of all L-Lipschitz scores with the mean p_a, a ramp of slope L loses it fastest:
    with M(c) = L int_{c - 1/L}^c Phi(s/sigma) ds, M^-1 of each smoothed score is
    1-Lipschitz. So the radius is (M^-1(p_a) - M^-1(p_b))/2; with p_b = 1 - p_a it is
    -s0 - 1/(2L), where p_a = 1 - L int_{s0}^{s0 + 1/L} Phi(s/sigma) ds.

    Parameters
    ----------
    p_a : array_like
        Lower bound on the mean **score** of the top class under N(x, sigma^2 I), in [0,
        1]. The base scores are numbers in [0, 1], L-Lipschitz in the input: bounds from
        counts of labels do not qualify, those of :mod:`rsbounds.confidence` for soft
        scores do.
    sigma : array_like
        Noise level, in the units of the input; positive.
    base_lip : array_like
        Proven l_2 Lipschitz constant L of every base score, in [0, inf].
    p_b, scores
        As in :func:`radius`, of mean scores; those of all classes sum to 1 at most.

    Returns
    -------
    Array
        The radius: never above the true value, nor below its limits: sigma (z_a -
        z_b)/2 for L = inf (Cohen) and (p_a - p_b)/(2L) for sigma -> 0. It is within
        1e-11 of the true value (relative), or of the larger \\|M^-1\\| where both
        probabilities are on one side of 1/2. 0 where p_a <= p_b; inf where p_a = 1 and
        p_b = 0, or L = 0. NaN in, NaN out with the invalid flag.

    References
    ----------
    Proof, and its tightness, in the theory pages ("Lipschitz base classifiers"). The
    constant of the smoothed score at the point, used as if it held along the way, is
    not a certificate.

    Examples
    --------
    >>> from rsbounds.lipschitz import base_radius
    >>> [round(float(r), 4) for r in base_radius(0.9, 0.5, [0.0, 0.5, 2.0, 1e9])]
    [inf, 0.9989, 0.6672, 0.6408]
    """
    z_a, z_b, half = ScorePair.of(p_a, p_b, scores=scores).limited()
    sigma = as_floats("sigma", sigma, 0.0, closed="neither")
    lip = as_floats("base_lip", base_lip, 0.0)
    z_a, z_b, half, sigma, lip = broadcast(
        p_a=z_a, p_b=z_b, half=half, sigma=sigma, base_lip=lip
    )
    with np.errstate(all="ignore"):
        width = 1 / lip / sigma
        # a ramp of no width is a step (Cohen, to 1e-17); one so wide that its centre
        # would overflow is measured in its own width
        search = (half > 0) & np.isfinite(half) & (lip > 0) & (width >= 1e-8)
        flat = search & (width > _WIDEST)
        reach = np.where(lip == 0, np.inf, half)
        reach[search] = _half_reach(
            z_a=z_a[search],
            z_b=z_b[search],
            half=half[search],
            width=np.minimum(width, _WIDEST)[search],
        )
        value = np.where(flat, product(reach / _WIDEST, 1 / lip), product(sigma, reach))
    value = np.where(half > 0, value, np.where(half == 0, 0.0, np.nan))
    value = capped(value, np.isfinite(half) & (lip > 0))
    unknown = np.isnan(sigma) | np.isnan(lip)
    return round_down(np.where(unknown, np.nan, value), _ERROR)


def _half_reach(*, z_a: Array, z_b: Array, half: Array, width: Array) -> Array:
    """Compute (T(z_a) - T(z_b))/2, T from scores to centres of ramps.

    Centres are in units of sigma.
    """
    c_a = _centre(z_a, width)
    c_b = _centre(z_b, width)
    result = np.where(z_b == -z_a, c_a, (c_a - c_b) / 2)
    # of scores of one sign it is a difference, which cancels: less what it may be wrong
    # by, or one of the limits, whichever is largest
    less = result - _ERROR / 8 * (np.abs(c_a) + np.abs(c_b))
    by_tails, by_gap = _half_differences(z_a, z_b, half)
    bounds = np.fmax.reduce([less, width * by_tails, width * by_gap, half])
    result = np.where(np.sign(z_a) == np.sign(z_b), bounds, result)
    return np.where(np.isnan(result), half, result)  # without convergence, Cohen's


def _half_differences(z_a: Array, z_b: Array, half: Array) -> tuple[Array, Array]:
    """Two lower bounds of (p_a - p_b)/2 for scores of one sign.

    By the tails; and, for close scores, by their gap, as the density is log-concave.
    """
    near = np.minimum(np.abs(z_a), np.abs(z_b))
    far = np.maximum(np.abs(z_a), np.abs(z_b))
    squares = near**2 + far**2
    by_tails = (_tail_within(near, -5e-15) - _tail_within(far, 5e-15)) / 2
    by_gap = half * np.exp(-squares / 4) * _DENSITY * (1 - 1e-15 * (2 + squares))
    return by_tails, by_gap


def _centre(z: Array, width: Array) -> Array:
    """T(z): the y for which the mean of Phi over y -+ width/2 is Phi(z)."""
    size = np.abs(z)
    log_q = _log_tail(size)
    near = size <= 1
    central = size * _mean(_density, 0 * size, np.minimum(size, 1))
    excess = np.where(near, central, 0.5 - np.exp(log_q))
    # T lies above both of these, and within width/2 of the first
    lower = np.maximum(size, width * excess)
    upper = size + width / 2
    flat = width * np.exp(log_q) > 0.5
    upper = np.where(flat, np.minimum(width * excess + 0.5, upper), upper)
    # Newton from the side on which it is monotone: the functions are concave
    y = np.where(near, lower, upper)
    for _ in range(60):
        last = y
        y = np.where(
            near,
            y + (excess - _excess(y, width)) / _slope(y, width),
            y + _tail_step(y, width, log_q),
        )
        if np.all(np.abs(y - last) <= 1e-15 * y):
            break
    return np.copysign(np.where(np.abs(y - last) <= 1e-13 * y, y, np.nan), z)


def _slope(y: Array, width: Array) -> Array:
    """M'(y): the mean of phi over the ramp."""
    y = np.abs(y)
    low = y - width / 2
    high = y + width / 2
    wide = (_tail(low) - _tail(high)) / width
    narrow = _mean(_density, low, width)
    result: Array = np.where(width > 1, wide, narrow)
    return result


def _excess(y: Array, width: Array) -> Array:
    """M(y) - 1/2 for y >= 0: the integral of M' from 0."""
    half = width / 2
    # a wide ramp: y less what its two ends lose
    near = 2 * y * _mean(_tail, half - y, 2 * y)
    far = _rest(half - y) - _rest(half + y)
    ends = np.where(y < 2, near, far)
    narrow = y * _mean(lambda v: _slope(v, width[..., None] + 0 * v), 0 * y, y)
    return np.where(width > _WIDE, (y - ends) / width, narrow)


def _tail_step(y: Array, width: Array, log_q: Array) -> Array:
    """The Newton step on log Q, Q(y) the mean of Phi(-s) over the ramp."""
    low = y - width / 2
    start = np.maximum(low, 0.0)
    # of a wide ramp what lies beyond the first e^-40 of the tail does not count
    length = np.where(low < 0, y + width / 2, width)
    length = np.minimum(length, np.sqrt(start**2 + 80) - start)
    edge = _log_tail(start)

    def above_edge(s: Array) -> Any:
        return np.exp(_log_tail(s) - edge[..., None])

    total = length * _mean(above_edge, start, length)
    below = _rest(low) - _rest(np.zeros_like(low))  # where the ramp begins below 0
    log_mean = edge + np.log(total + np.where(low < 0, 2 * below, 0.0)) - np.log(width)

    def density_over_mean(s: Array) -> Any:
        return np.exp(-(s**2) / 2 - log_mean[..., None])

    # the slope of log Q: of a narrow ramp by the density, as its two ends cancel
    narrow = _mean(density_over_mean, low, np.minimum(width, 1.0)) * _DENSITY
    drop = np.exp(_log_tail(low) - log_mean) - np.exp(_log_tail(low + width) - log_mean)
    slope = np.where(width * (1 + start) < 1, narrow, drop / width)
    step: Array = (log_mean - log_q) / slope
    return step


def _rest(s: Array) -> Array:
    """The integral of Phi(-t) from s on."""
    result: Array = _density(s) - s * _tail(s)
    return result


def _density(s: Array) -> Any:
    return np.exp(-(s**2) / 2) * _DENSITY


def _tail(s: Array) -> Any:
    return np.exp(_log_tail(s))


def _tail_within(s: Array, error: float) -> Any:
    """The tail moved by its relative error, `error` for each unit of the logarithm."""
    log = _log_tail(s)
    return np.exp(log) * (1 + error * (1 - log))


def _log_tail(s: Array) -> Any:
    return apply(log_ndtr, -s, cost=0.05)


def _mean(f: Any, low: Array, length: Array) -> Any:
    return f(low[..., None] + length[..., None] * _NODES) @ _WEIGHTS
