"""The radius under an envelope and its two branches, by a kernel or by a bisection."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rsbounds._numerics.checks import (
    Array,
    Floats,
    as_floats,
    broadcast,
    check,
    every,
    operand,
)
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.rounding import flag_nan, product
from rsbounds._numerics.scores import ScorePair
from rsbounds._numerics.search import bisect, mean_power
from rsbounds._numerics.threads import apply
from rsbounds.envelope._shapes import (
    Budget,
    Compiled,
    Envelope,
    LipschitzSigma,
    SemiElastic,
    SigmaRange,
)
from rsbounds_ext import kernels

MICROSECONDS = 1.2  # of one radius, for splitting arrays over threads


def radius(
    p_a: ArrayLike,
    sigma: ArrayLike,
    envelope: Envelope,
    dim: ArrayLike,
    p_b: ArrayLike | None = None,
    *,
    mean_lip: ArrayLike = 0.0,
    scores: bool = False,
) -> Floats:
    """Certified l_2 radius at a point with sigma(x0) = `sigma` under an envelope.

    Source: [S] Theorems 2, 6 and 7, Lemma 20; with separate bounds the condition is
    xi(1 - p_a) + xi(p_b) < 1, both sigma extremes.

    Parameters
    ----------
    p_a : array_like
        Lower bound on the top class's probability under N(x0, sigma^2 I), in [0, 1].
    sigma : array_like
        sigma(x0), in the units of the input; positive and inside the envelope.
    envelope : SemiElastic, LipschitzSigma, SigmaRange, TableEnvelope or any `Envelope`
        How far sigma can move; its parameters broadcast with the other arguments. Long
        doubles among them are rounded outward; a `sigma` that float64 does not hold is
        rounded down for SemiElastic and refused for the others, where the radius may
        grow or fall with it.
    dim : array_like
        Dimension of the input, a real number in [1, 1e8].
    p_b : array_like, optional
        Upper bound on the probability of every other class; 1 - p_a by default. With it
        the exact condition is that both worst cases together leave A ahead of B.
    mean_lip : array_like
        Lipschitz constant M of an input-dependent mean: noise N(x + mu(x), sigma(x)^2
        I). For a fixed shape Lambda of the noise, give distances, M and the envelope in
        the Mahalanobis metric; the radius is then that of the ellipsoid.
    scores : bool
        `p_a` and `p_b` are normal scores; beyond 1e6 a finite score counts as 1e6.

    Returns
    -------
    Array
        The radius, broadcast over the arguments: the certificate was evaluated there
        with its error bound added, so it is never above the true value, and within
        1e-11 of it (relative; 1e-10 where p_b < 1e-200; beside a floor, below 1e-153
        sigma and for scores less than 1e-100 apart, it may be half of it, or 0). Where
        sigma alone all but rules certification out and the distance hardly counts, the
        radius is at least that of a budget z_a - z_b smaller by 2e-12 of itself. 0
        where p_a <= p_b; inf where p_a = 1 and p_b = 0. NaN in, NaN out with the
        invalid flag.

    Examples
    --------
    >>> print(f"{radius(0.99, 0.25, LipschitzSigma(0.1, 0.2), 784):.9f}")
    0.141153941
    """
    budget = _budget(
        p_a=p_a,
        sigma=sigma,
        dim=dim,
        p_b=p_b,
        mean_lip=mean_lip,
        scores=scores,
        sigma_down=isinstance(envelope, Compiled) and envelope._sigma_down,
    )
    if isinstance(envelope, Compiled):
        return _by_kernel(envelope._radius, budget, envelope)
    if not hasattr(envelope, "bounds"):
        raise ArgumentError("envelope", f"must have a method bounds; got {envelope!r}")
    _broadcast(budget)
    result: Floats = flag_nan(_search(budget, envelope)[()])
    return result


def branch_radii(
    p_a: ArrayLike,
    sigma: ArrayLike,
    envelope: SemiElastic | LipschitzSigma | SigmaRange,
    dim: ArrayLike,
    *,
    p_b: ArrayLike | None = None,
    mean_lip: ArrayLike = 0.0,
    scores: bool = False,
) -> tuple[Floats, Floats]:
    """The two one-sided radii: sigma at its smallest and at its largest. For study.

    Each is what :func:`radius` would be if sigma could only shrink (low) or only grow
    (high); the certificate is the smaller of the two. Public code that checks the low
    side only certifies too much: in most settings the high side is the smaller one.
    Source: [S] Theorem 7 and Algorithm 3.

    Parameters
    ----------
    p_a, sigma, envelope, dim, p_b, mean_lip, scores
        As in :func:`radius`; `envelope` is one of this module's classes.

    Returns
    -------
    tuple of Array
        (low, high), each with the error bound of :func:`radius`.

    Examples
    --------
    >>> low, high = branch_radii(0.99, 0.25, SemiElastic(0.01), 784)
    >>> print(f"{low:.9f} {high:.9f}")
    0.578772331 0.578750686
    """
    if not isinstance(envelope, Compiled):
        raise ArgumentError(
            "envelope",
            "must be SemiElastic, LipschitzSigma or SigmaRange; "
            f"got {type(envelope).__name__}",
        )
    budget = _budget(
        p_a=p_a,
        sigma=sigma,
        dim=dim,
        p_b=p_b,
        mean_lip=mean_lip,
        scores=scores,
        sigma_down=envelope._sigma_down,
    )
    low = _by_kernel(envelope._branch, budget, envelope, 0.0)
    high = _by_kernel(envelope._branch, budget, envelope, 1.0)
    return low, high


def _budget(
    *,
    p_a: ArrayLike,
    sigma: ArrayLike,
    dim: ArrayLike,
    p_b: ArrayLike | None,
    mean_lip: ArrayLike,
    scores: bool,
    sigma_down: bool,
) -> Budget:
    """The point, checked; ``sigma_down``: a smaller sigma has a smaller radius."""
    pair = ScorePair.of(p_a, p_b, scores=scores).limited()
    if sigma_down:
        sigma = operand("sigma", sigma, 0.0, closed="neither", towards=-np.inf)
    else:
        sigma = operand("sigma", sigma, 0.0, closed="neither", exact=True)
    dim = operand("dim", dim, 1.0, 1e8, exact=True)
    mean_lip = operand("mean_lip", mean_lip, 0.0, closed="left", towards=np.inf)
    return Budget(
        z_a=pair.z_a,
        z_b=pair.z_b,
        gap=2 * pair.half,
        sigma=sigma,
        dim=dim,
        mean_lip=mean_lip,
    )


def _by_kernel(
    kernel: np.ufunc, budget: Budget, envelope: Compiled, *branch: float
) -> Floats:
    """Radius by a kernel, which answers NaN outside its domain.

    Only then is sigma0 compared with the levels.
    """
    parameters = envelope._parameters()
    try:
        result = apply(kernel, *budget, *branch, *parameters, cost=MICROSECONDS)
    except ValueError:
        _broadcast(budget, *parameters)
        raise
    if not every(result == result):
        sigma = budget.sigma
        low, high = envelope._levels()
        inside = (sigma >= low) & (sigma <= high)
        inside |= np.isnan(sigma)
        check("sigma", sigma, inside, f"inside the envelope {envelope}")
        flag_nan(result)
    return result


def _broadcast(budget: Budget, *parameters: Floats) -> None:
    """ValueError with the shapes, if they do not broadcast together."""
    named = {f"envelope_{i}": value for i, value in enumerate(parameters)}
    broadcast(
        p_a=budget.z_a,
        p_b=budget.z_b,
        sigma=budget.sigma,
        dim=budget.dim,
        mean_lip=budget.mean_lip,
        **named,
    )


@np.errstate(under="ignore")
def _search(budget: Budget, envelope: Envelope) -> Array:
    """Largest distance that the pair test accepts at both ends, for any envelope.

    The test adds its own error bound, and only an accepted distance is returned, so the
    result is sound whatever the number of steps; the bisection leaves 1e-12 or less.
    Radii below 2^-900 of the largest possible one, and subnormal ones, are 0.
    """
    budget = Budget._make(broadcast(**budget._asdict()))
    gap = budget.gap
    unknown = np.isnan(gap + budget.sigma + budget.dim + budget.mean_lip)
    searched = (gap > 0) & np.isfinite(gap) & ~unknown
    # the radius where sigma never changes: no envelope has a larger one
    most = product(gap / 2, budget.sigma / (1 + budget.mean_lip))
    top = np.where(searched, most, 0.0)
    test = _PairTest(budget, envelope)

    def accepted(distance: Array) -> NDArray[np.bool_]:
        return test(distance) & searched

    high = top * (1 - 1e-12)
    low = np.minimum(np.maximum(top * 2.0**-900, 2.0**-1022), top)
    at_high = accepted(high)
    at_low = accepted(low)
    safe = np.where(at_high, high, np.where(at_low, low, 0.0))
    other = np.where(at_high, top, high)
    result = bisect(safe, other, accepted, steps=120, within=1e-12, middle=mean_power)
    known = np.where(gap > 0, np.inf, 0.0)
    return np.where(searched, result, np.where(unknown, np.nan, known))


class _PairTest:
    """Whether a distance is certified by the two ends of sigma there.

    Every distance that is asked for is remembered, unless the envelope is known to be
    monotone: one that narrows further out bounds nothing.
    """

    def __init__(self, budget: Budget, envelope: Envelope) -> None:
        self._budget = budget
        self._envelope = envelope
        self._watched = not getattr(envelope, "monotone", False)
        self._seen: list[tuple[Array, Array, Array]] = []

    def __call__(self, distance: Array) -> NDArray[np.bool_]:
        sigma = np.asarray(self._budget.sigma)
        low, high = self._envelope.bounds(sigma, distance)
        low = as_floats("low", low)
        high = as_floats("high", high)
        _require_around(low, high, sigma, distance)
        if self._watched:
            _require_monotone(self._seen, distance, low, high)
        both: NDArray[np.bool_] = self._certified(distance, low) & self._certified(
            distance, high
        )
        return both

    def _certified(self, distance: Array, sigma1: Array) -> NDArray[np.bool_]:
        z_a, z_b, gap, sigma, dim, mean_lip = self._budget
        with np.errstate(all="ignore"):
            slack = kernels.pair_certified(
                distance, z_a, z_b, gap, sigma, sigma1, dim, mean_lip
            )
        result: NDArray[np.bool_] = np.asarray(slack > 0)
        return result


def _require_around(low: Array, high: Array, sigma: Array, distance: Array) -> None:
    """ValueError unless low <= sigma0 <= high everywhere."""
    inside = (low >= 0) & (low <= sigma) & (sigma <= high)
    inside |= np.isnan(sigma)
    if np.all(inside):
        return
    place = int(np.argmin(inside))
    values = [
        np.broadcast_to(a, inside.shape).flat[place]
        for a in (low, high, distance, sigma)
    ]
    raise ValueError(
        "envelope.bounds must give 0 <= low <= sigma0 <= high; got "
        "low {}, high {} at distance {} from sigma0 {}".format(*values)
    )


def _require_monotone(
    seen: list[tuple[Array, Array, Array]], distance: Array, low: Array, high: Array
) -> None:
    """ValueError for an envelope that narrows with the distance, on all seen so far."""
    for other, other_low, other_high in seen:
        further = (distance > other) & ((low > other_low) | (high < other_high))
        nearer = (distance < other) & ((low < other_low) | (high > other_high))
        narrower = further | nearer
        if np.any(narrower):
            place = int(np.argmax(narrower))
            first, last = sorted(
                (float(other.flat[place]), float(distance.flat[place]))
            )
            raise ArgumentError(
                "envelope",
                "must be monotone: low non-increasing and high non-decreasing in the "
                f"distance; got a narrower interval between distances {[first, last]}",
            )
    seen.append((distance, low, high))
