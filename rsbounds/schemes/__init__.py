"""Smoothing schemes: the noise level at an input and the radius that a score earns there.

A scheme is all that certification needs to know of a theory, so a new theory is a new
function here and nothing else changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from rsbounds._numerics.checks import real

if TYPE_CHECKING:
    from rsbounds.semielastic import KNNSigma

FIXED_NOISE = "fixed noise"
PROVEN_ENVELOPE = "sigma(x) with a proven envelope"
THIS_INPUT = "fixed noise at this input only"


@dataclass(frozen=True)
class Scheme:
    """A smoothing scheme.

    Parameters
    ----------
    method : str
        Its name in result files.
    scope : str
        For which classifier its certificates hold.
    sigma : callable
        ``sigma(x)``: the noise level (> 0) at one input ``x``.
    radius : callable
        ``radius(score, sigma)``: the certified l2 radius for a lower bound of the top
        class's probability, given as a normal score, and the noise level at the input.
    parameters : mapping
        What a result file must say for the radii to be computed again.

    Examples
    --------
    >>> from rsbounds import schemes
    >>> scheme = schemes.gaussian(0.5)
    >>> scheme.sigma(None), scheme.scope
    (0.5, 'fixed noise')
    """

    method: str
    scope: str
    sigma: Callable[[Any], float]
    radius: Callable[[float, float], float]
    parameters: Mapping[str, Any] = field(default_factory=dict)


def gaussian(sigma: float) -> Scheme:
    """One fixed Gaussian noise for every input (Cohen et al. 2019, Theorem 1).

    Parameters
    ----------
    sigma : float
        Standard deviation of the noise, > 0, in the input's unit.

    Returns
    -------
    Scheme

    Raises
    ------
    ValueError
        If ``sigma`` isn't a positive finite number.

    References
    ----------
    Cohen, Rosenfeld, Kolter 2019, Theorem 1.

    Examples
    --------
    >>> from rsbounds import schemes
    >>> float(schemes.gaussian(0.5).radius(2.0, 0.5)) <= 1.0
    True
    """
    level = _positive("sigma", sigma)
    return Scheme(
        "gaussian", FIXED_NOISE, partial(_constant, level), _gaussian_radius, {"sigma": level}
    )


def semielastic(knn: KNNSigma, dim: float) -> Scheme:
    """Noise level from the distance to the nearest anchors, certified by its rate.

    Parameters
    ----------
    knn : KNNSigma
        The noise level as a function of the input (:class:`rsbounds.semielastic.KNNSigma`).
    dim : float
        Dimension of the input, >= 1.

    Returns
    -------
    Scheme

    References
    ----------
    Sukenik, Kuvshinov, Guennemann, Intriguing properties of input-dependent randomized
    smoothing, eq. (1) and Theorem 7.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds import schemes, semielastic
    >>> knn = semielastic.KNNSigma(np.zeros((3, 4)), 0.5, 0.01, 1, 0.0)
    >>> schemes.semielastic(knn, 4).scope
    'sigma(x) with a proven envelope'
    """
    known = {"rate": float(knn.rate), "dim": dim}
    level, radius = partial(_knn_level, knn, dim), partial(_semielastic_radius, **known)
    return Scheme("semi-elastic", PROVEN_ENVELOPE, level, radius, known)


def lipschitz(sigma: Callable[[Any], float], lip: float, sigma_min: float, dim: float) -> Scheme:
    """Noise level given by a Lipschitz function with a positive floor.

    Parameters
    ----------
    sigma : callable
        ``sigma(x)`` at one input.
    lip : float
        A proven upper bound of the l2 Lipschitz constant of ``sigma``, >= 0.
    sigma_min : float
        A proven lower bound of ``sigma``, > 0.
    dim : float
        Dimension of the input, >= 1.

    Returns
    -------
    Scheme

    Raises
    ------
    ValueError
        If a parameter is out of its domain, or when ``sigma(x)`` falls below ``sigma_min`` or
        ``x`` has more than ``dim`` coordinates.

    References
    ----------
    Bergstrom, Sager, Anderson, Lipschitz standard deviation networks, Theorem 3; the exact
    two-point radius of :func:`rsbounds.lipschitz.radius`.

    Examples
    --------
    >>> from rsbounds import schemes
    >>> schemes.lipschitz(lambda x: 0.5, 0.1, 0.25, 784).sigma(None)
    0.5
    """
    floor = _positive("sigma_min", sigma_min)
    known = {"lip": float(real("lip", lip, 0, nan=False)), "sigma_min": floor, "dim": dim}
    level, radius = partial(_floored_level, sigma, floor, dim), partial(_lipschitz_radius, **known)
    return Scheme("lipschitz", PROVEN_ENVELOPE, level, radius, known)


def this_input(sigma: float) -> Scheme:
    """Gaussian smoothing of one level, with the scope of a level chosen for one input.

    Examples
    --------
    >>> from rsbounds.schemes import this_input
    >>> this_input(0.5).scope
    'fixed noise at this input only'
    """
    return replace(gaussian(sigma), scope=THIS_INPUT)


# Module-level functions, so that a scheme can be sent to another process.


def _constant(level: float, x: Any) -> float:
    return level


def _knn_level(knn: KNNSigma, dim: float, x: Any) -> float:
    _fits(x, dim)
    return _positive("sigma(x)", knn.sigma(np.asarray(x).reshape(1, -1)))


def _floored_level(sigma: Callable[[Any], float], floor: float, dim: float, x: Any) -> float:
    _fits(x, dim)
    value = _positive("sigma(x)", sigma(x))
    if value < floor:
        raise ValueError(f"sigma(x) must be >= sigma_min = {floor}; got {value}")
    return value


def _gaussian_radius(score: float, sigma: float) -> float:
    from rsbounds import gaussian as theory

    return float(theory.radius(score, sigma, scores=True))


def _semielastic_radius(score: float, sigma: float, *, rate: float, dim: float) -> float:
    from rsbounds import semielastic as theory

    return float(theory.radius(score, sigma, rate, dim, scores=True))


def _lipschitz_radius(score: float, sigma: float, **known: Any) -> float:
    from rsbounds import lipschitz as theory

    return float(theory.radius(score, sigma, scores=True, **known))


def _fits(x: Any, dim: float) -> None:
    size = math.prod(np.shape(x))
    if not size <= dim:
        raise ValueError(f"dim must be at least the size of the input, {size}; got {dim}")


def _positive(name: str, value: Any) -> float:
    array = real(name, value, 0, closed="neither", nan=False)
    if array.size != 1:
        raise ValueError(f"{name} must be one number; got shape {array.shape}")
    return array.item()
