"""Top-k: the radius of two scores, of which one is a sum's.

The largest distance at which a probability is shown to be above 1/t of a sum, searched
by the transport of the scheme.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.rounding import round_down, round_up
from rsbounds._numerics.scores import LOG_NDTR_ERROR
from rsbounds.confidence import Pair
from rsbounds.schemes import Scheme
from rsbounds.special import log_ndtr

Floats = NDArray[np.float64]

# parts of an interval, down to 2^-46
NEAR = 8.0 ** -np.arange(16) / 2
# doublings of an expected radius
REACH = np.array([2, 3, 5, 8, 13, 21, 40])


@np.errstate(under="ignore")  # distances may be smaller than any normal double
def radius_of(pair: Pair, t: int, scheme: Scheme, sigma: float) -> float:
    """Search the largest radius at which a label is shown to stay.

    Its probability is above 1/t of the sum there.
    """
    z_a, z_b = pair.z_a, pair.z_b
    if t == 1:
        return scheme.radius(z_a, sigma, z_b) if z_a > z_b else 0.0
    if scheme.whole:
        return _whole_radius(pair, t, scheme, sigma)
    expected = score_radius(pair, t) * _unit(scheme, sigma)
    if not 0.0 < expected < math.inf:
        expected = sigma
    # noise that shifts scores, as normal noise does, needs this one round
    at = np.append(_around(0.0, expected, 2 * expected), expected * 2.0**REACH)
    while True:
        lead = lead_at(z_a, z_b, t, at, scheme, sigma)
        kept = lead > 0
        if kept.all() or not kept[0]:
            return float(at[-1]) if kept[0] else 0.0
        first = int(np.argmin(kept))
        low, high = float(at[first - 1]), float(at[first])
        if high - low <= 1e-12 * high or not low < (low + high) / 2 < high:
            return low
        share = lead[first - 1] / (lead[first - 1] - lead[first])
        if not 0 < share < 1:
            share = 0.5
        at = _around(low, low + share * (high - low), high)


def _whole_radius(pair: Pair, t: int, scheme: Scheme, sigma: float) -> float:
    """The same where radii count changes."""

    def kept(changes: int) -> bool:
        lead = lead_at(pair.z_a, pair.z_b, t, float(changes), scheme, sigma)
        return bool(lead > 0)

    if not kept(0):
        return 0.0
    most = 1
    while kept(most):  # transport promises nothing beyond some number of changes
        most *= 2
    least = most // 2
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (middle, most) if kept(middle) else (least, middle)
    return float(least)


def _around(low: float, expected: float, high: float) -> Floats:
    """From low to high, closest around the expected; halved on each side at least."""
    below = expected - (expected - low) * NEAR
    above = expected + (high - expected) * NEAR[::-1]
    return np.concatenate([[low], below, above, [high]])


def lead_at(
    z_a: float, z_b: Any, t: Any, radius: Any, scheme: Scheme, sigma: float
) -> Floats:
    """Above 0 only where the label's probability is above 1/t of the sum at a radius.

    The difference of their logarithms, rounded down; NaN where both are infinite.
    """
    share = np.log(np.asarray(t, dtype=np.float64)) * (1 - LOG_NDTR_ERROR)
    low = scheme.transport(z_a, radius, sigma)[0]
    high = scheme.transport(z_b, radius, sigma)[1]
    least = round_down(log_ndtr(low), LOG_NDTR_ERROR)
    most = round_up(log_ndtr(high), LOG_NDTR_ERROR)
    with np.errstate(invalid="ignore", under="ignore"):
        return np.asarray(least - (most - share + LOG_NDTR_ERROR * abs(most)))


def _unit(scheme: Scheme, sigma: float) -> float:
    """The distance that moves a score by about 1."""
    return sigma / abs(float(scheme.transport(0.0, sigma, sigma)[0]))


def score_radius(pair: Pair, t: int) -> float:
    """About where Phi(z_a - r) falls to Phi(z_b + r)/t; below 0 where it starts there.

    It proposes; :func:`lead_at` decides.
    """
    z_a, z_b = pair.z_a, pair.z_b
    if not (abs(z_a) < math.inf and abs(z_b) < math.inf):
        return math.inf if z_a > z_b else -math.inf
    radius = (z_a - z_b) / 2
    if t == 1:
        return radius
    log_t = math.log(t)
    for _ in range(30):
        low, high = z_a - radius, z_b + radius
        log_low, log_high = float(log_ndtr(low)), float(log_ndtr(high))
        slope = math.exp(-low * low / 2 - log_low)
        slope += math.exp(-high * high / 2 - log_high)
        step = (log_low - log_high + log_t) * math.sqrt(2 * math.pi) / slope
        radius += step
        if abs(step) <= 1e-15 * abs(radius):
            break
    return radius
