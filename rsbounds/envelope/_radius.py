"""The radius under an envelope, and its two branches: by a kernel, or by a bisection."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rsbounds._numerics.checks import Array, Floats, broadcast, check, every, operand
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
        1e-11 of it (relative; 1e-10 where p_b < 1e-200; beside a floor, 0 where it
        would be below 1e-153 sigma). Where sigma alone all but rules certification out
        and the distance hardly counts, the radius is at least that of a budget z_a -
        z_b smaller by 2e-12 of itself. 0 where p_a <= p_b; inf where p_a = 1 and p_b =
        0. NaN in, NaN out with the invalid flag.

    Examples
    --------
    >>> print(f"{radius(0.99, 0.25, LipschitzSigma(0.1, 0.2), 784):.9f}")
    0.141153941
    """
    compiled = envelope if isinstance(envelope, Compiled) else None
    down = compiled is not None and compiled._sigma_down
    budget = _budget(p_a, sigma, dim, p_b, mean_lip, scores, down)
    if compiled is not None:
        return _by_kernel(compiled._radius, budget, compiled)
    if not hasattr(envelope, "bounds"):
        raise ValueError(f"envelope must have a method bounds; got {envelope!r}")
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
        raise ValueError(
            "envelope must be SemiElastic, LipschitzSigma or SigmaRange; "
            f"got {type(envelope).__name__}"
        )
    budget = _budget(p_a, sigma, dim, p_b, mean_lip, scores, envelope._sigma_down)
    low, high = (
        _by_kernel(envelope._branch, budget, envelope, up) for up in (0.0, 1.0)
    )
    return low, high


def _budget(
    p_a: ArrayLike,
    sigma: ArrayLike,
    dim: ArrayLike,
    p_b: ArrayLike | None,
    mean_lip: ArrayLike,
    scores: bool,
    down: bool,
) -> Budget:
    pair = ScorePair.of(p_a, p_b, scores=scores).limited()
    towards = -np.inf if down else None
    sigma = operand(
        "sigma", sigma, 0.0, closed="neither", towards=towards, exact=not down
    )
    dim = operand("dim", dim, 1.0, 1e8, exact=True)
    mean_lip = operand("mean_lip", mean_lip, 0.0, closed="left", towards=np.inf)
    return Budget(pair.z_a, pair.z_b, 2 * pair.half, sigma, dim, mean_lip)


def _by_kernel(
    kernel: np.ufunc, budget: Budget, envelope: Compiled, *branch: float
) -> Floats:
    """The kernels answer NaN outside the domain: only then is sigma0 compared with the
    levels.
    """
    parameters = envelope._parameters()
    try:
        result = apply(kernel, *budget, *branch, *parameters, cost=MICROSECONDS)
    except ValueError:
        _broadcast(budget, *parameters)
        raise
    if not every(result == result):
        low, high = envelope._levels()
        inside = ((budget.sigma >= low) & (budget.sigma <= high)) | (
            budget.sigma != budget.sigma
        )
        check("sigma", budget.sigma, inside, f"inside the envelope {envelope}")
        flag_nan(result)
    return result


def _broadcast(budget: Budget, *parameters: Floats) -> None:
    """ValueError with the shapes, if they do not broadcast together."""
    named = {f"envelope_{i}": v for i, v in enumerate(parameters)}
    z_a, z_b, _, *others = budget
    broadcast(
        p_a=z_a, p_b=z_b, **dict(zip(Budget._fields[3:], others, strict=True)), **named
    )


@np.errstate(under="ignore")
def _search(budget: Budget, envelope: Envelope) -> Array:
    """For a user's own envelope: the largest distance that the pair test accepts at
    both its ends.

    The test adds its own error bound, and only an accepted distance is returned, so the
    result is sound whatever the number of steps; the bisection leaves 1e-12 or less.
    Radii below 2^-900 of the largest possible one, and subnormal ones, are 0.
    """
    z_a, z_b, gap, sigma, dim, mean_lip = broadcast(**budget._asdict())
    unknown = np.isnan(gap + sigma + dim + mean_lip)
    searched = (gap > 0) & np.isfinite(gap) & ~unknown
    trivial = np.where(unknown, np.nan, np.where(gap > 0, np.inf, 0.0))
    top = np.where(searched, product(gap / 2, sigma / (1 + mean_lip)), 0.0)

    def accepted(distance: Array) -> NDArray[np.bool_]:
        low, high = (
            np.asarray(b, dtype=np.float64) for b in envelope.bounds(sigma, distance)
        )
        _check(low, high, sigma, distance)
        if watched:
            _monotone(seen, distance, low, high)
        test = kernels.pair_certified
        with np.errstate(all="ignore"):
            shrunk = test(distance, z_a, z_b, gap, sigma, low, dim, mean_lip) > 0
            grown = test(distance, z_a, z_b, gap, sigma, high, dim, mean_lip) > 0
        both: NDArray[np.bool_] = shrunk & grown & searched
        return both

    watched = not getattr(envelope, "monotone", False)
    seen: list[tuple[Array, Array, Array]] = []
    high, low = (
        top * (1 - 1e-12),
        np.minimum(np.maximum(top * 2.0**-900, 2.0**-1022), top),
    )
    at_high, at_low = accepted(high), accepted(low)
    safe = np.where(at_high, high, np.where(at_low, low, 0.0))
    other = np.where(at_high, top, high)
    result = bisect(safe, other, accepted, steps=120, within=1e-12, middle=mean_power)
    return np.where(searched, result, trivial)


def _check(low: Array, high: Array, sigma: Array, distance: Array) -> None:
    inside = (low >= 0) & (low <= sigma) & (sigma <= high)
    inside |= np.isnan(sigma)
    if not np.all(inside):
        i = int(np.argmin(inside))
        values = (
            np.broadcast_to(a, inside.shape).flat[i]
            for a in (low, high, distance, sigma)
        )
        raise ValueError(
            "envelope.bounds must give 0 <= low <= sigma0 <= high; got "
            "low {}, high {} at distance {} from sigma0 {}".format(*values)
        )


def _monotone(
    seen: list[tuple[Array, Array, Array]], distance: Array, low: Array, high: Array
) -> None:
    """Refuse an envelope that narrows with distance, on all distances asked for so far."""
    for d, a, b in seen:
        further = distance > d
        nearer = distance < d
        narrower = (further & ((low > a) | (high < b))) | (
            nearer & ((low < a) | (high > b))
        )
        if np.any(narrower):
            i = int(np.argmax(narrower))
            raise ValueError(
                "envelope must be monotone: low non-increasing and high non-decreasing in the "
                f"distance; got a narrower interval between distances "
                f"{sorted((float(d.flat[i]), float(distance.flat[i])))}"
            )
    seen.append((distance, low, high))
