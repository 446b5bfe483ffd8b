"""Top-k: the radius of two scores, of which one is a sum's.

The largest distance at which a probability is shown to be above 1/t of a sum, searched
by the transport of the scheme.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rsbounds._numerics.rounding import round_down, round_up
from rsbounds._numerics.scores import LOG_NDTR_ERROR
from rsbounds.answers._search import Floats, largest_radius
from rsbounds.confidence.internal import Pair
from rsbounds.schemes import Scheme
from rsbounds.special import log_ndtr


def radius_of(pair: Pair, t: int, scheme: Scheme, sigma: float) -> float:
    """Search the largest radius at which a label is shown to stay.

    Its probability is above 1/t of the sum there.
    """
    z_a, z_b = pair.z_a, pair.z_b
    if t == 1:
        return scheme.radius(z_a, sigma, z_b) if z_a > z_b else 0.0

    def lead(radius: Floats) -> Floats:
        return lead_at(z_a, z_b, t, radius, scheme, sigma)

    return largest_radius(lead, score_radius(pair, t), scheme, sigma)


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
