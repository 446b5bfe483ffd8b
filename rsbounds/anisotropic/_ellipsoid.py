"""Gaussian noise with its own level on every axis: the certified ellipsoid."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rsbounds._numerics.checks import (
    Floats,
    as_floats,
    broadcast,
)
from rsbounds._numerics.rounding import (
    EPS,
    TINY,
    flag_nan,
    product,
    round_down,
    round_up,
)
from rsbounds._numerics.scores import ScorePair, moved_scores
from rsbounds.anisotropic._axes import (
    SUM_ERROR,
    axes_of,
    levels_of,
    reach_of,
    reciprocal,
    sum_of,
)


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
        Standard deviation of the noise on each of the d axes; positive. The
        rows of a matrix are levels of several noises: it is no covariance.

    Returns
    -------
    Array
        Shape of `p_a`, `p_b`, `norm` and sigma[..., 0] broadcast. Never above the true
        value and within 1e-11 of it (relative, but for tiny numbers as in
        :func:`rsbounds.gaussian.radius`); 0 where p_a <= p_b; inf where p_a = 1. NaN
        in, NaN out with the invalid flag.

    Examples
    --------
    >>> from rsbounds import anisotropic
    >>> round(float(anisotropic.radius(0.99, [0.25, 0.5, 1.0])), 6)
    0.581587
    """
    half = ScorePair.of(p_a, p_b, scores=scores).half
    sigma = levels_of("sigma", sigma)
    norm = as_floats("norm", norm, 1.0, nan=False)
    reach = reach_of(sigma, np.maximum(0.5 - reciprocal(norm), 0.0))
    half, reach = broadcast(p_a=half, sigma=reach)
    return round_down(product(half, reach), 2 * SUM_ERROR)


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
    sigma = levels_of("sigma", sigma)
    delta = axes_of("delta", as_floats("delta", delta))
    delta, sigma = broadcast(delta=delta, sigma=sigma)
    with np.errstate(over="ignore"):
        ratio = np.abs(delta) / sigma
        largest = ratio.max(axis=-1, keepdims=True)
        unit = np.where(np.isfinite(largest) & (largest > 0), largest, 1.0)
        length = unit[..., 0] * np.sqrt(sum_of((ratio / unit) ** 2))
    length, half = broadcast(delta=length, p_a=half)
    inside: NDArray[np.bool_] = flag_nan(length) < round_down(half, SUM_ERROR)
    return inside


def transport(
    z: ArrayLike, radius: ArrayLike, sigma: ArrayLike, inner: ArrayLike = 1.0
) -> tuple[Floats, Floats]:
    """How far the probability of an event can move within a radius, in normal scores.

    For noise of the levels sigma shape_i, whose ellipsoid |delta/shape|_2 <= 1 holds
    the l_p ball of radius ``inner``: there the score moves by at most R/(inner sigma).
    Source: as for :func:`rsbounds.gaussian.internal.transport`, in the metric of the
    noise.

    Parameters
    ----------
    z, radius, sigma
        As in :func:`rsbounds.gaussian.internal.transport`; the radius in l_p.
    inner : array_like
        Radius of the l_p ball, rounded down; positive.

    Returns
    -------
    low, high : Array
        The two scores, rounded outward, each within 1e-11 of the exact one relative to
        the size of z + R/(inner sigma), or 3e-308. An infinite z stays. NaN in,
        NaN out.

    Examples
    --------
    >>> from rsbounds.anisotropic.internal import transport
    >>> low, high = transport(2.0, 0.25, 0.5, inner=2.0)
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
        terms; -inf where p_a <= p_b, or the scores are less than 1e-295 apart. The
        generator of [H] is trained to enlarge this volume.

    Examples
    --------
    >>> import math
    >>> from rsbounds import anisotropic
    >>> area = math.exp(anisotropic.log_volume(1.0, [2.0, 3.0], scores=True))
    >>> round(area / math.pi, 9)
    6.0
    """
    half = ScorePair.of(p_a, p_b, scores=scores).half
    sigma = levels_of("sigma", sigma)
    dim = sigma.shape[-1]
    with np.errstate(divide="ignore"):
        per_axis = dim * np.log(half)
    logs = np.log(sigma)
    per_axis, product, sizes = broadcast(
        p_a=per_axis, sigma=sum_of(logs), sizes=sum_of(np.abs(logs))
    )
    # log Gamma(dim/2 + 1): the logarithms of dim/2, dim/2 - 1, ..., and of Gamma(1/2)
    gamma = sum_of(np.log(np.arange(dim, 0, -2) / 2)) + dim % 2 * np.log(np.pi) / 2
    ball = dim / 2 * np.log(np.pi) - gamma
    finite = np.where(np.isfinite(per_axis), np.abs(per_axis), 0.0)
    slack = SUM_ERROR * (1.0 + dim + abs(gamma) + finite + sizes)
    return round_down(ball + per_axis + product - slack, EPS)
