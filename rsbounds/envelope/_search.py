"""The certificate for a user's own envelope: a bisection with the compiled pair test."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import Array, broadcast
from rsbounds._numerics.rounding import product
from rsbounds._numerics.search import bisect, mean_power
from rsbounds.envelope._shapes import Budget, Envelope
from rsbounds_ext import kernels


@np.errstate(under="ignore")
def search(budget: Budget, envelope: Envelope) -> Array:
    """Largest distance accepted by the pair test at both ends of ``envelope.bounds``.

    The test adds its own error bound, and only an accepted distance is returned, so the
    result is sound whatever the number of steps; the bisection leaves 1e-12 or less. Radii
    below 2^-900 of the largest possible one, and subnormal ones, are 0.
    """
    z_a, z_b, gap, sigma, dim, mean_lip = broadcast(**budget._asdict())
    unknown = np.isnan(gap + sigma + dim + mean_lip)
    searched = (gap > 0) & np.isfinite(gap) & ~unknown
    trivial = np.where(unknown, np.nan, np.where(gap > 0, np.inf, 0.0))
    top = np.where(searched, product(gap / 2, sigma / (1 + mean_lip)), 0.0)

    def accepted(distance: Array) -> NDArray[np.bool_]:
        low, high = (np.asarray(b, dtype=np.float64) for b in envelope.bounds(sigma, distance))
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
    high, low = top * (1 - 1e-12), np.minimum(np.maximum(top * 2.0**-900, 2.0**-1022), top)
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
        values = (np.broadcast_to(a, inside.shape).flat[i] for a in (low, high, distance, sigma))
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
        narrower = (further & ((low > a) | (high < b))) | (nearer & ((low < a) | (high > b)))
        if np.any(narrower):
            i = int(np.argmax(narrower))
            raise ValueError(
                "envelope must be monotone: low non-increasing and high non-decreasing in the "
                f"distance; got a narrower interval between distances "
                f"{sorted((float(d.flat[i]), float(distance.flat[i])))}"
            )
    seen.append((distance, low, high))
