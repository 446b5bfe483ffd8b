"""Radii for noise with its own level on every axis, scope "fixed noise".

The noise is one distribution, the same at every input. A mean that is the same at every
input only shifts the base classifier: it changes no radius, so it is not an argument
here. Where a generator chooses levels or means for each input, as [H] does, these radii
hold for the noise of that input and not for the classifier that is run at x + delta:
their scope is then "fixed noise at this input only". With means and levels of proven
variation use :mod:`rsbounds.envelope`. Every function raises ValueError for an argument
outside its domain and for shapes that do not broadcast.

References
----------
.. [H] Hong, Hong, Certified adversarial robustness via anisotropic randomized
   smoothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rsbounds._numerics.checks import Array, Floats, as_floats, broadcast, choice
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.rounding import (
    EPS,
    TINY,
    flag_nan,
    positive_quotient,
    product,
    round_down,
    round_up,
)
from rsbounds._numerics.scores import LOG_NDTR_ERROR, ScorePair, moved_scores
from rsbounds.special import error_bound, log_ndtr, log_ndtr_gap, ndtri_exp

__all__ = [
    "contains",
    "laplace_radius",
    "laplace_score_radius",
    "laplace_transport",
    "log_volume",
    "radius",
    "transport",
]

# a sum over the last axis: pairwise in blocks of 128, so at most 16 + log2(dim/128)
# roundings
_SUM = 40 * EPS
# half gaps of Laplace quantiles below it keep their digits by another formula
_CLOSE = 0.1


def radius(
    p_a: ArrayLike,
    sigma: ArrayLike,
    p_b: ArrayLike | None = None,
    *,
    norm: ArrayLike = 2,
    scores: bool = False,
) -> Floats:
    """Largest l_p ball inside the certified ellipsoid of noise N(0, diag(sigma^2)).

    The ellipsoid is |delta/sigma|_2 < K = (z_a - z_b)/2. By Hoelder's inequality the
    ball has radius K / (sum sigma_i^(-1/u))^u with u = max(1/2 - 1/norm, 0): K
    min(sigma) up to norm = 2, K / sqrt(sum sigma_i^-2) for norm = inf. Source: [H],
    which calls sigma_i a variance; it is the standard deviation.

    Parameters
    ----------
    p_a, p_b, norm, scores
        As in :func:`rsbounds.gaussian.radius`.
    sigma : array_like, shape (..., d)
        Standard deviation of the noise on each of the d axes; positive.

    Returns
    -------
    Array
        Shape of `p_a`, `p_b`, `norm` and sigma[..., 0] broadcast. Never above the true
        value and within 1e-11 of it (relative); 0 where p_a <= p_b; inf where p_a = 1.
        NaN in, NaN out with the invalid flag.

    Examples
    --------
    >>> from rsbounds import anisotropic
    >>> round(float(anisotropic.radius(0.99, [0.25, 0.5, 1.0])), 6)
    0.581587
    """
    half = ScorePair.of(p_a, p_b, scores=scores).half
    sigma = _levels("sigma", sigma)
    norm = as_floats("norm", norm, 1.0, nan=False)
    reach = _reach(sigma, np.maximum(0.5 - _reciprocal(norm), 0.0))
    half, reach = broadcast(p_a=half, sigma=reach)
    return round_down(product(half, reach), 2 * _SUM)


def contains(
    delta: ArrayLike,
    p_a: ArrayLike,
    sigma: ArrayLike,
    p_b: ArrayLike | None = None,
    *,
    scores: bool = False,
) -> NDArray[np.bool_]:
    """Whether the perturbation delta is certified: |delta/sigma|_2 < (z_a - z_b)/2.

    Source: [H]; the inequality is strict.

    Parameters
    ----------
    delta : array_like, shape (..., d)
        Perturbation, in the units of the input.
    p_a, sigma, p_b, scores
        As in :func:`radius`.

    Returns
    -------
    array of bool
        True only where the inequality is certain: within 1e-11 of the border it is
        False. A NaN anywhere gives False, with the invalid flag.

    Examples
    --------
    >>> from rsbounds import anisotropic
    >>> anisotropic.contains([[0.5, 0.5], [1.0, 0.5]], 0.99, [0.25, 1.0])
    array([ True, False])
    """
    half = ScorePair.of(p_a, p_b, scores=scores).half
    sigma = _levels("sigma", sigma)
    delta = _axes("delta", as_floats("delta", delta))
    delta, sigma = broadcast(delta=delta, sigma=sigma)
    with np.errstate(over="ignore"):
        ratio = np.abs(delta) / sigma
        largest = ratio.max(axis=-1, keepdims=True)
        unit = np.where(np.isfinite(largest) & (largest > 0), largest, 1.0)
        length = unit[..., 0] * np.sqrt(_sum((ratio / unit) ** 2))
    length, half = broadcast(delta=length, p_a=half)
    inside: NDArray[np.bool_] = flag_nan(length) < round_down(half, _SUM)
    return inside


def transport(
    z: ArrayLike, radius: ArrayLike, sigma: ArrayLike, inner: ArrayLike = 1.0
) -> tuple[Floats, Floats]:
    """How far the probability of an event can move within a radius, in normal scores.

    For noise of the levels sigma shape_i, whose ellipsoid |delta/shape|_2 <= 1 holds
    the l_p ball of radius ``inner``: there the score moves by at most R/(inner sigma).
    Source: as for :func:`rsbounds.gaussian.transport`, in the metric of the noise.

    Parameters
    ----------
    z, radius, sigma
        As in :func:`rsbounds.gaussian.transport`; the radius in l_p.
    inner : array_like
        Radius of the l_p ball, rounded down; positive.

    Returns
    -------
    low, high : Array
        The two scores, rounded outward, each within 1e-11 of the exact one relative to
        the size of z + R/(inner sigma). An infinite z stays. NaN in, NaN out.

    Examples
    --------
    >>> from rsbounds import anisotropic
    >>> low, high = anisotropic.transport(2.0, 0.25, 0.5, inner=2.0)
    >>> round(float(low), 12), round(float(high), 12)
    (1.75, 2.25)
    """
    z = as_floats("z", z, exact=True)
    distance = as_floats("radius", radius, 0.0, towards=np.inf)
    sigma = as_floats("sigma", sigma, 0.0, closed="neither", towards=-np.inf)
    inner = as_floats("inner", inner, 0.0, closed="neither", towards=-np.inf)
    z, distance, sigma, inner = broadcast(
        z=z, radius=distance, sigma=sigma, inner=inner
    )
    # by mantissas: distance/inner may be below any double where their quotient by sigma
    # is not
    top, top_power = np.frexp(distance)
    first, first_power = np.frexp(inner)
    second, second_power = np.frexp(sigma)
    quotient = round_up(top / first, EPS) / second
    with np.errstate(over="ignore", under="ignore"):
        step = np.ldexp(quotient, top_power - first_power - second_power)
    step = np.where(distance > 0, np.maximum(step, TINY), distance)
    return moved_scores(z, round_up(step, 16.0 * EPS))


def log_volume(
    p_a: ArrayLike,
    sigma: ArrayLike,
    p_b: ArrayLike | None = None,
    *,
    scores: bool = False,
) -> Floats:
    """Logarithm of the volume of the certified ellipsoid.

    (d/2) log pi - log Gamma(d/2 + 1) + d log K + sum log sigma_i, K = (z_a - z_b)/2.

    Parameters
    ----------
    p_a, sigma, p_b, scores
        As in :func:`radius`.

    Returns
    -------
    Array
        Lower bound of the value, within 1e-11 d + 1e-14 of the sum of the sizes of its
        terms; -inf where p_a <= p_b. The generator of [H] is trained to enlarge this
        volume.

    Examples
    --------
    >>> import math
    >>> from rsbounds import anisotropic
    >>> area = math.exp(anisotropic.log_volume(1.0, [2.0, 3.0], scores=True))
    >>> round(area / math.pi, 9)
    6.0
    """
    half = ScorePair.of(p_a, p_b, scores=scores).half
    sigma = _levels("sigma", sigma)
    dim = sigma.shape[-1]
    with np.errstate(divide="ignore"):
        per_axis = dim * np.log(half)
    logs = np.log(sigma)
    per_axis, product, sizes = broadcast(
        p_a=per_axis, sigma=_sum(logs), sizes=_sum(np.abs(logs))
    )
    # log Gamma(dim/2 + 1): the logarithms of dim/2, dim/2 - 1, ..., and of Gamma(1/2)
    gamma = _sum(np.log(np.arange(dim, 0, -2) / 2)) + dim % 2 * np.log(np.pi) / 2
    ball = dim / 2 * np.log(np.pi) - gamma
    finite = np.where(np.isfinite(per_axis), np.abs(per_axis), 0.0)
    slack = _SUM * (1.0 + dim + abs(gamma) + finite + sizes)
    return round_down(ball + per_axis + product - slack, EPS)


# --- Laplace noise


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
    scale = _axes("scale", scale)
    p_a, p_b = broadcast(p_a=p_a, p_b=p_b)
    methods = {"tight": _laplace_tight, "paper": _laplace_paper}
    bound = methods[choice("method", method, tuple(methods))]
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        half = np.where(p_a <= p_b, 0.0, bound(p_a, p_b))
    half, reach = broadcast(p_a=half, scale=_reach(scale, 1.0 - _reciprocal(norm)))
    return round_down(product(half, reach), 2 * _SUM)


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
        As in :func:`rsbounds.gaussian.transport`, the radius in l_1.
    scale : array_like
        Scale of the noise, the same on every axis; positive.

    Returns
    -------
    low, high : Array
        The two scores, rounded outward by 4e-14 (1 + z^2 + R/scale) at most. NaN in,
        NaN out.

    Examples
    --------
    >>> from rsbounds import anisotropic
    >>> low, high = anisotropic.laplace_transport(0.0, 0.5, 1.0)
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
    >>> from rsbounds.anisotropic import laplace_score_radius
    >>> round(float(laplace_score_radius(1.0, 0.5)), 9)
    0.573937232
    """
    z_a = as_floats("z_a", z_a, towards=-np.inf)
    z_b = -z_a if z_b is None else as_floats("z_b", z_b, towards=np.inf)
    scale = as_floats("scale", scale, 0.0, closed="neither", towards=-np.inf)
    z_a, z_b, scale = broadcast(z_a=z_a, z_b=z_b, scale=scale)
    first = laplace_quantile(z_a)
    second = laplace_quantile(z_b)
    with np.errstate(invalid="ignore"):  # of infinite scores
        slack = 8e-15 * (2.0 + np.abs(first) + np.abs(second))
        half = np.maximum(first / 2 - second / 2 - slack, 0.0)
        half = np.asarray(np.where(first - second < np.inf, half, np.inf))
        close = (half < _CLOSE) & (z_a > z_b)
        half[close] = np.maximum(half[close], _half_of_close(z_a[close], z_b[close]))
    half = np.where(z_a <= z_b, 0.0, half)
    half = np.where(np.isnan(z_a) | np.isnan(z_b), np.nan, half)
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
        lower = log - error_bound("log_ndtr_gap", log) - 2 * EPS
    return np.asarray(np.where(first > second, lower, -np.inf))


def laplace_quantile(z: Array) -> Array:
    """The Laplace quantile of a normal score, within 3e-15 (1 + its size)."""
    size = -(np.log(2.0) + log_ndtr(-np.abs(z)))
    result: Array = np.where(z < 0, -np.maximum(size, 0.0), np.maximum(size, 0.0))
    return np.where(np.isnan(z), np.nan, result)


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


# --- sums over the axes, for both kinds of noise


def _reach(scale: Array, power: Floats) -> Array:
    """1 / |1/scale| in the norm of exponent 1/power, along the last axis."""
    smallest = scale.min(axis=-1)
    power = np.asarray(power)[..., None]
    with np.errstate(divide="ignore", under="ignore"):
        terms = (smallest[..., None] / scale) ** (1.0 / power)
        reach: Array = smallest / _sum(terms) ** power[..., 0]
    return reach


def _reciprocal(norm: Array) -> Array:
    with np.errstate(under="ignore"):
        return 1.0 / norm


def _sum(terms: Array) -> Array:
    total: Array = np.ascontiguousarray(terms).sum(axis=-1)
    return total


def _levels(name: str, value: ArrayLike) -> Array:
    return _axes(name, as_floats(name, value, 0.0, closed="neither", towards=-np.inf))


def _axes(name: str, value: Array) -> Array:
    if value.ndim == 0 or value.shape[-1] == 0:
        raise ArgumentError(
            name, f"must have shape (..., d) with d >= 1; got shape {value.shape}"
        )
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
