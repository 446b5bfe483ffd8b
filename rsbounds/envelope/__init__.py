"""The exact two-point certificate under an envelope of sigma.

Scope "sigma(x) with a proven envelope": the classifier smoothed with N(x, sigma(x)^2 I) is
certified for every sigma function that satisfies the envelope. An envelope says, for a point at
distance R from x0 with sigma(x0) = sigma0, how small and how large sigma can be there. By [S]
Theorem 6 and Lemma 20 the certified set is R < R*, R* the unique zero of the worse of the two
extreme cases, and the certificate is tight over all classifiers with the given probabilities.

References
----------
.. [S] Sukenik, Kuvshinov, Guennemann, Intriguing properties of input-dependent randomized
   smoothing, 2022: Theorems 2, 3, 6, 7, Lemma 20.
.. [B] Bergstrom, Sager, Anderson, Lipschitz standard deviation networks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from rsbounds._numerics.checks import Array, broadcast, check, real
from rsbounds._numerics.rounding import flag_nan
from rsbounds._numerics.scores import NDTRI_ERROR, half_gap, limited, scores_of
from rsbounds._numerics.threads import apply
from rsbounds.envelope._table import table_radius
from rsbounds_ext import kernels

__all__ = [
    "Envelope",
    "LipschitzSigma",
    "SemiElastic",
    "SigmaRange",
    "TableEnvelope",
    "branch_radii",
    "radius",
]

MICROSECONDS = 5.0  # of one radius, for splitting arrays over threads


class _Kernel(NamedTuple):
    """The compiled radius and one-sided radius of an envelope, and its parameters."""

    radius: np.ufunc
    branch: np.ufunc
    parameters: tuple[Any, ...]


class Envelope(Protocol):
    """Anything with ``bounds(sigma0, distance) -> (low, high)`` on arrays of distances.

    ``low`` non-increasing and ``high`` non-decreasing in the distance, low <= sigma0 <= high;
    a violation seen during the search is refused.
    """

    def bounds(self, sigma0: Any, distance: Any) -> tuple[Array, Array]: ...


@dataclass(frozen=True)
class SemiElastic:
    """log sigma is `rate`-Lipschitz: sigma0 exp(-rate R) <= sigma <= sigma0 exp(rate R).

    Examples
    --------
    >>> low, high = SemiElastic(0.1).bounds(0.25, 1.0)
    >>> print(f"{low:.6f} {high:.6f}")
    0.226209 0.276293
    """

    rate: Any

    def __post_init__(self) -> None:
        real("rate", self.rate, 0.0, closed="left", nan=False)

    def bounds(self, sigma0: Any, distance: Any) -> tuple[Array, Array]:
        """Smallest and largest sigma at `distance` from a point with sigma0."""
        t = np.multiply(self.rate, distance)
        return sigma0 * np.exp(-t), sigma0 * np.exp(t)

    def _kernel(self) -> _Kernel:
        return _Kernel(kernels.semielastic_radius, kernels.semielastic_branch, (self.rate,))


@dataclass(frozen=True)
class LipschitzSigma:
    """sigma is `lip`-Lipschitz and at least `sigma_min` (0 for no floor).

    Examples
    --------
    >>> low, high = LipschitzSigma(0.5, 0.2).bounds(0.25, 1.0)
    >>> float(low), float(high)
    (0.2, 0.75)
    """

    lip: Any
    sigma_min: Any = 0.0

    def __post_init__(self) -> None:
        real("lip", self.lip, 0.0, closed="left", nan=False)
        real("sigma_min", self.sigma_min, 0.0, closed="left", nan=False)

    def bounds(self, sigma0: Any, distance: Any) -> tuple[Array, Array]:
        """Smallest and largest sigma at `distance` from a point with sigma0."""
        t = np.multiply(self.lip, distance)
        return np.maximum(self.sigma_min, sigma0 - t), sigma0 + t

    def _kernel(self) -> _Kernel:
        parameters = (self.lip, self.sigma_min)
        return _Kernel(kernels.lipschitz_radius, kernels.lipschitz_branch, parameters)


@dataclass(frozen=True)
class SigmaRange:
    """sigma lies in [sigma_min, sigma_max] everywhere.

    Examples
    --------
    >>> low, high = SigmaRange(0.2, 0.3).bounds(0.25, 1.0)
    >>> float(low), float(high)
    (0.2, 0.3)
    """

    sigma_min: Any
    sigma_max: Any

    def __post_init__(self) -> None:
        real("sigma_min", self.sigma_min, 0.0, closed="right", nan=False)
        real("sigma_max", self.sigma_max, 0.0, closed="right", nan=False)

    def bounds(self, sigma0: Any, distance: Any) -> tuple[Array, Array]:
        """Smallest and largest sigma, the same at any distance."""
        shape = np.broadcast_shapes(np.shape(sigma0), np.shape(distance))
        low, high = (np.broadcast_to(b, shape) for b in (self.sigma_min, self.sigma_max))
        return low[()], high[()]

    def _kernel(self) -> _Kernel:
        parameters = (self.sigma_min, self.sigma_max)
        return _Kernel(kernels.range_radius, kernels.range_branch, parameters)


@dataclass(frozen=True)
class TableEnvelope:
    """An envelope given by arrays: sigma in [low[i], high[i]] within distance[i].

    Between two tabulated distances the wider interval, that of the further one, is used; beyond
    the last distance nothing is known and nothing is certified.

    Parameters
    ----------
    distance : array_like
        Increasing distances, >= 0.
    low, high : array_like
        Smallest sigma (non-increasing, > 0) and largest sigma (non-decreasing) there.

    Raises
    ------
    ValueError
        Arrays of different length, distances that do not increase, an envelope that narrows.

    Examples
    --------
    >>> table = TableEnvelope([0.5, 1.0], [0.24, 0.23], [0.26, 0.27])
    >>> low, high = table.bounds(0.25, 0.7)
    >>> float(low), float(high)
    (0.23, 0.27)
    """

    distance: Any
    low: Any
    high: Any

    def __post_init__(self) -> None:
        arrays = {
            name: np.atleast_1d(real(name, getattr(self, name), 0.0, nan=False))
            for name in ("distance", "low", "high")
        }
        if len({a.shape for a in arrays.values()}) != 1 or arrays["low"].ndim != 1:
            shapes = ", ".join(f"{k} {a.shape}" for k, a in arrays.items())
            raise ValueError(f"distance, low and high must be 1-d of one length; got {shapes}")
        distance, low, high = arrays.values()
        if not (
            np.all(np.diff(distance) > 0)
            and np.all(np.diff(low) <= 0)
            and np.all(np.diff(high) >= 0)
        ):
            raise ValueError(
                "distance must increase, low must not increase and high must not decrease: "
                "the envelope is not monotone"
            )
        for name, array in arrays.items():
            object.__setattr__(self, name, array)

    def bounds(self, sigma0: Any, distance: Any) -> tuple[Array, Array]:
        """Smallest and largest sigma at `distance`; (0, inf) beyond the table."""
        i = np.searchsorted(self.distance, distance)
        low = np.append(self.low, 0.0)[i] + 0 * np.asarray(sigma0)
        high = np.append(self.high, np.inf)[i] + 0 * np.asarray(sigma0)
        return low, high


def radius(
    p_a: Any,
    sigma: Any,
    envelope: Envelope,
    dim: Any,
    p_b: Any = None,
    *,
    mean_lip: Any = 0.0,
    scores: bool = False,
) -> Array:
    """Certified l_2 radius at a point with sigma(x0) = `sigma` under an envelope.

    Parameters
    ----------
    p_a : array_like
        Lower bound on the top class's probability under N(x0, sigma^2 I), in [0, 1].
    sigma : array_like
        sigma(x0), in the units of the input; positive and inside the envelope.
    envelope : SemiElastic, LipschitzSigma, SigmaRange, TableEnvelope or any `Envelope`
        How far sigma can move; its parameters broadcast with the other arguments.
    dim : array_like
        Dimension of the input, a real number in [1, 1e8].
    p_b : array_like, optional
        Upper bound on the probability of every other class; 1 - p_a by default. With it the
        exact condition is that both worst cases together leave A ahead of B.
    mean_lip : array_like
        Lipschitz constant M of an input-dependent mean: noise N(x + mu(x), sigma(x)^2 I). For a
        fixed shape Lambda of the noise, give distances, M and the envelope in the Mahalanobis
        metric; the radius is then that of the ellipsoid.
    scores : bool
        `p_a` and `p_b` are normal scores; beyond 1e6 a finite score counts as 1e6.

    Returns
    -------
    Array
        The radius, broadcast over the arguments: the certificate was evaluated there with its
        error bound added, so it is never above the true value, and within 1e-11 of it
        (relative). Where sigma alone all but rules certification out and the distance hardly
        counts, the radius is at least that of a budget z_a - z_b smaller by 2e-12 of itself.
        0 where p_a <= p_b; inf where p_a = 1 and p_b = 0. NaN in, NaN out with the
        invalid flag.

    Raises
    ------
    ValueError
        An argument outside its domain, sigma outside the envelope, an envelope that is not
        monotone, shapes that do not broadcast.

    References
    ----------
    [S] Theorems 2, 6 and 7, Lemma 20; with separate bounds the condition is
    xi(1 - p_a) + xi(p_b) < 1, both sigma extremes.

    Examples
    --------
    >>> print(f"{radius(0.99, 0.25, LipschitzSigma(0.1, 0.2), 784):.9f}")
    0.141153941
    """
    z_a, z_b, gap, sigma, dim, mean_lip = _arguments(p_a, sigma, dim, p_b, mean_lip, scores)
    if not hasattr(envelope, "_kernel"):
        if not hasattr(envelope, "bounds"):
            raise ValueError(f"envelope must have a method bounds; got {envelope!r}")
        return _flagged(table_radius(z_a, z_b, gap, sigma, envelope, dim, mean_lip))
    kernel = envelope._kernel()
    arguments = z_a, z_b, gap, sigma, dim, mean_lip
    parameters = _parameters(envelope, sigma, kernel.parameters)
    return _flagged(apply(kernel.radius, *arguments, *parameters, cost=MICROSECONDS))


def branch_radii(
    p_a: Any,
    sigma: Any,
    envelope: Any,
    dim: Any,
    p_b: Any = None,
    *,
    mean_lip: Any = 0.0,
    scores: bool = False,
) -> tuple[Array, Array]:
    """The two one-sided radii: sigma at its smallest and at its largest. For study.

    Each is what :func:`radius` would be if sigma could only shrink (low) or only grow (high);
    the certificate is the smaller of the two. Public code that checks the low side only
    certifies too much: in most settings the high side is the smaller one.

    Parameters
    ----------
    p_a, sigma, envelope, dim, p_b, mean_lip, scores
        As in :func:`radius`; `envelope` is one of this module's classes.

    Returns
    -------
    tuple of Array
        (low, high), each with the error bound of :func:`radius`.

    Raises
    ------
    ValueError
        As in :func:`radius`, and for an envelope of another class.

    References
    ----------
    [S] Theorem 7 and Algorithm 3.

    Examples
    --------
    >>> low, high = branch_radii(0.99, 0.25, SemiElastic(0.01), 784)
    >>> print(f"{low:.9f} {high:.9f}")
    0.578772331 0.578750686
    """
    if not hasattr(envelope, "_kernel"):
        raise ValueError(
            "envelope must be SemiElastic, LipschitzSigma or SigmaRange; "
            f"got {type(envelope).__name__}"
        )
    z_a, z_b, gap, sigma, dim, mean_lip = _arguments(p_a, sigma, dim, p_b, mean_lip, scores)
    kernel = envelope._kernel()
    arguments = z_a, z_b, gap, sigma, dim, mean_lip
    parameters = _parameters(envelope, sigma, kernel.parameters)
    low, high = (
        _flagged(apply(kernel.branch, *arguments, up, *parameters, cost=MICROSECONDS))
        for up in (0.0, 1.0)
    )
    return low, high


def _arguments(
    p_a: Any, sigma: Any, dim: Any, p_b: Any, mean_lip: Any, scores: bool
) -> tuple[Array, ...]:
    z_a, z_b = scores_of(p_a, p_b, scores)
    if scores:
        p_a, p_b = z_a, z_b = limited(z_a, z_b)
    gap = 2 * half_gap(p_a, p_b, scores)  # z_a - z_b, rounded down
    if not scores:
        z_a = z_a - NDTRI_ERROR * np.abs(np.where(np.isinf(z_a), 0.0, z_a))
        z_b = -z_a if p_b is None else z_b + NDTRI_ERROR * np.abs(np.where(np.isinf(z_b), 0, z_b))
    sigma = real("sigma", sigma, 0.0, closed="neither")
    dim = real("dim", dim, 1.0, 1e8)
    mean_lip = real("mean_lip", mean_lip, 0.0, closed="left")
    broadcast(p_a=z_a, p_b=z_b, sigma=sigma, dim=dim, mean_lip=mean_lip)
    return z_a, z_b, gap, sigma, dim, mean_lip


def _parameters(envelope: Any, sigma: Array, parameters: tuple[Any, ...]) -> tuple[Array, ...]:
    """The envelope's parameters as arrays, once sigma0 is known to lie inside it."""
    values = tuple(np.asarray(p, dtype=np.float64) for p in parameters)
    broadcast(sigma=sigma, **{f"envelope_{i}": v for i, v in enumerate(values)})
    low = getattr(envelope, "sigma_min", 0.0)
    high = getattr(envelope, "sigma_max", np.inf)
    inside = ((sigma >= low) & (sigma <= high)) | np.isnan(sigma)
    check("sigma", sigma, inside, f"inside the envelope {envelope}")
    return values


def _flagged(result: Any) -> Array:
    value: Array = flag_nan(np.asarray(result))[()]
    return value
