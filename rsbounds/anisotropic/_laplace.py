"""Laplace noise: radii, and how far the probability of an event moves."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rsbounds._numerics.checks import (
    Array,
    Floats,
    as_floats,
    broadcast,
    choice,
    either,
    operand,
)
from rsbounds._numerics.rounding import (
    EPS,
    positive_quotient,
    product,
    round_down,
    round_up,
)
from rsbounds._numerics.scores import LOG_NDTR_ERROR, log_gap_below
from rsbounds.anisotropic._axes import (
    SUM_ERROR,
    axes_of,
    reach_of,
    reciprocal,
)
from rsbounds.special import log_ndtr, log_ndtr_gap, ndtri_exp

# half gaps of Laplace quantiles below it keep their digits by another formula
_CLOSE = 0.1
_LOG_2 = np.log(2.0)


def laplace_radius(
    p_a: ArrayLike,
    scale: ArrayLike,
    p_b: ArrayLike | None = None,
    *,
    norm: ArrayLike = 1,
    method: str = "tight",
) -> Floats:
    """Certified radius under independent Laplace noise of the given scales.

    The certified set is sum |delta_i|/scale_i < K; the radius is that of the largest
    l_p ball inside, K min(scale) in l_1. Method "tight": K = (Q(p_a) - Q(p_b))/2 with Q
    the quantile of the standard Laplace distribution; half-spaces across the axes
    attain it. Method "paper": K = max(log(p_a/p_b)/2, -log(1 - p_a + p_b)), never
    larger. Source: [H] Theorem 7.1 for "paper".

    Parameters
    ----------
    p_a, p_b, norm
        As in :func:`radius`.
    scale : array_like, shape (..., d), or a number
        Scale of the noise on each axis (its variance is 2 scale^2); positive. A number
        stands for the same scale on every axis; it is enough in l_1 only.
    method : {"tight", "paper"}
        Which bound.

    Returns
    -------
    Array
        Never above the true value and within 1e-11 of it (relative); 0 where p_a <=
        p_b; inf where p_a = 1 or p_b = 0. NaN in, NaN out with the invalid flag.

    Examples
    --------
    >>> from rsbounds import anisotropic
    >>> round(float(anisotropic.laplace_radius(0.7, 1.0, 0.1)), 6)
    1.060132
    >>> round(float(anisotropic.laplace_radius(0.7, 1.0, 0.1, method="paper")), 6)
    0.972955
    """
    p_a = as_floats("p_a", p_a, 0.0, 1.0, towards=-np.inf)
    p_b = 1.0 - p_a if p_b is None else as_floats("p_b", p_b, 0.0, 1.0, towards=np.inf)
    norm = as_floats("norm", norm, 1.0, nan=False)
    scale = as_floats("scale", scale, 0.0, closed="neither", towards=-np.inf)
    if scale.ndim == 0 and np.all(norm == 1):
        scale = scale[None]  # in l_1 the number of axes does not matter
    scale = axes_of("scale", scale)
    p_a, p_b = broadcast(p_a=p_a, p_b=p_b)
    methods = {"tight": _laplace_tight, "paper": _laplace_paper}
    bound = methods[choice("method", method, tuple(methods))]
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        half = np.where(p_a <= p_b, 0.0, bound(p_a, p_b))
    half, reach = broadcast(p_a=half, scale=reach_of(scale, 1.0 - reciprocal(norm)))
    return round_down(product(half, reach), 2 * SUM_ERROR)


def laplace_transport(
    z: ArrayLike, radius: ArrayLike, scale: ArrayLike
) -> tuple[Floats, Floats]:
    """Bounds on an event's probability moved in l_1 under Laplace noise, as scores.

    With Q the quantile and F the distribution function of the standard Laplace law, an
    event of probability p has, wherever the input moves by at most R in l_1, a
    probability in [F(Q(p) - R/scale), F(Q(p) + R/scale)]; half-spaces across an axis
    attain both ends. Source: the theory page on fixed noise, Laplace.

    Parameters
    ----------
    z, radius
        As in :func:`rsbounds.gaussian.internal.transport`, the radius in l_1.
    scale : array_like
        Scale of the noise, the same on every axis; positive.

    Returns
    -------
    low, high : Array
        The two scores, rounded outward by 4e-14 (1 + z^2 + R/scale) at most. NaN in,
        NaN out.

    Examples
    --------
    >>> from rsbounds.anisotropic.internal import laplace_transport
    >>> low, high = laplace_transport(0.0, 0.5, 1.0)
    >>> round(float(high), 9), bool(low == -high)
    (0.515031999, True)
    """
    z = as_floats("z", z, exact=True)
    distance = as_floats("radius", radius, 0.0, towards=np.inf)
    scale = as_floats("scale", scale, 0.0, closed="neither", towards=-np.inf)
    z, distance, scale = broadcast(z=z, radius=distance, scale=scale)
    step = round_up(positive_quotient(distance, scale), EPS)
    low = -_laplace_shifted(-z, step)
    high = _laplace_shifted(z, step)
    return low[()], high[()]


def laplace_score_radius(
    z_a: ArrayLike, scale: ArrayLike, z_b: ArrayLike | None = None
) -> Floats:
    """The l_1 radius of two normal scores under Laplace noise, rounded down.

    Half the gap of their Laplace quantiles, times the scale; z_b = None stands for
    -z_a. The same as :func:`laplace_radius` of the probabilities, which near 1 have no
    digits left.

    Parameters
    ----------
    z_a, z_b : array_like
        Scores of the two probabilities of :func:`laplace_radius`, infinities included.
    scale : array_like
        Scale of the noise, the same on every axis; positive.

    Returns
    -------
    Array
        Never above the true value, within 1e-14 (2 + both quantiles) scale of it, and
        where it is below scale/10 within 2e-11 of it (relative, down to 1e-290 scale);
        0 where z_a <= z_b. NaN in, NaN out with the invalid flag.

    Examples
    --------
    >>> from rsbounds.anisotropic.internal import laplace_score_radius
    >>> round(float(laplace_score_radius(1.0, 0.5)), 9)
    0.573937232
    """
    z_a = operand("z_a", z_a, towards=-np.inf)
    z_b = -z_a if z_b is None else operand("z_b", z_b, towards=np.inf)
    scale = operand("scale", scale, 0.0, closed="neither", towards=-np.inf)
    z_a, z_b, scale = broadcast(z_a=z_a, z_b=z_b, scale=scale)
    first = laplace_quantile(z_a)
    second = laplace_quantile(z_b)
    with np.errstate(invalid="ignore"):  # of infinite scores
        slack = 8e-15 * (2.0 + np.abs(first) + np.abs(second))
        half = np.maximum(first / 2 - second / 2 - slack, 0.0)
        half = either(first - second < np.inf, half, np.inf)
        close = (half < _CLOSE) & (z_a > z_b)
        if close.any():
            half = np.array(half)
            near = _half_of_close(np.asarray(z_a)[close], np.asarray(z_b)[close])
            half[close] = np.maximum(half[close], near)
    half = either(z_a <= z_b, 0.0, half)
    half = either(np.isnan(z_a) | np.isnan(z_b), np.nan, half)
    return round_down(product(half, scale), 2 * EPS)[()]


@np.errstate(under="ignore")
def _half_of_close(z_a: Array, z_b: Array) -> Array:
    """Half the gap of the Laplace quantiles of scores z_a > z_b, rounded down.

    Both quantiles lose the digits of a small difference. It is that of logarithms of
    shares on one side of the median, ln(1 + gap/share), else the sum of both sides'.
    """
    ends = np.where(z_a <= 0, z_b, -z_a)  # that in the smaller tail
    log_share = log_ndtr(ends)
    log_gap = _gap_down(z_a, z_b)
    log_ratio = log_gap - log_share * (1 - 2 * LOG_NDTR_ERROR)
    one_side = np.log1p(np.exp(log_ratio - 4 * EPS * (1 + np.abs(log_gap))))
    # a score of the other sign is on no side of its own
    above = np.exp(_gap_down(np.maximum(z_a, 0.0), np.zeros_like(z_a)))
    below = np.exp(_gap_down(np.zeros_like(z_b), np.minimum(z_b, 0.0)))
    across = -np.log1p(-2 * above) - np.log1p(-2 * below)
    gap = np.where((z_a <= 0) | (z_b >= 0), one_side, across)
    return np.asarray(round_down(gap / 2, 16 * EPS))


def _gap_down(first: Array, second: Array) -> Array:
    """A lower bound of ln(Phi(first) - Phi(second)), -inf where they are equal."""
    log = log_ndtr_gap(first, second)
    with np.errstate(invalid="ignore"):
        lower = log_gap_below(log) - 2 * EPS
    return np.asarray(np.where(first > second, lower, -np.inf))


def laplace_quantile(z: Array) -> Array:
    """The Laplace quantile of a normal score, within 3e-15 (1 + its size)."""
    size = np.maximum(-(_LOG_2 + log_ndtr(-np.abs(z))), 0.0)
    result: Array = either(np.isnan(z), np.nan, either(z < 0, -size, size))
    return result


def _laplace_shifted(z: Array, step: Array) -> Array:
    """The score of F(Q + step), rounded up. Its slope in Q is at most sqrt(pi/2)."""
    # of infinite scores, and of steps beyond the largest double
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        # a finite score has a finite quantile, also where its double overflows
        finite = np.maximum(laplace_quantile(z), -np.finfo(np.float64).max)
        place = np.where(np.isinf(z), z, finite + step)
        size = -ndtri_exp(-np.abs(place) - np.log(2.0))
        score = np.where(place < 0, -size, size)
        error = 8e-15 * (1.0 + np.abs(place) + 2.0 * step + np.abs(score))
        return np.where(np.isinf(score), score, score + error)


def _laplace_tight(p_a: Array, p_b: Array) -> Array:
    both_below = _log_ratio(p_a, p_b, p_a - p_b)
    both_above = _log_ratio(1.0 - p_b, 1.0 - p_a, p_a - p_b)
    across = -np.log(2 * (1.0 - p_a)) - np.log(2 * p_b)
    return np.where(p_a < 0.5, both_below, np.where(p_b > 0.5, both_above, across)) / 2


def _laplace_paper(p_a: Array, p_b: Array) -> Array:
    difference = p_a - p_b
    shift = -np.where(
        difference < 0.5, np.log1p(-difference), np.log((1.0 - p_a) + p_b)
    )
    return np.maximum(_log_ratio(p_a, p_b, difference) / 2, shift)


def _log_ratio(larger: Array, smaller: Array, difference: Array) -> Array:
    """Compute log(larger/smaller) from their difference.

    Where the ratio may overflow it is the difference of both logarithms.
    """
    far = difference > 1e10 * smaller
    return np.where(
        far, np.log(larger) - np.log(smaller), np.log1p(difference / smaller)
    )
