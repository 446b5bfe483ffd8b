"""The largest radius that an answer accepts, where no formula has it.

A distance is returned only if it was accepted, whatever proposed it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rsbounds.schemes import Scheme

Floats = NDArray[np.float64]
#: Above 0 only at radii that hold; of an array of radii.
Lead = Callable[[Floats], Floats]

# parts of an interval, down to 2^-46
NEAR = 8.0 ** -np.arange(16) / 2
# doublings of an expected radius
REACH = np.array([2, 3, 5, 8, 13, 21, 40])


@np.errstate(under="ignore")  # distances may be smaller than any normal double
def largest_radius(lead: Lead, shift: float, scheme: Scheme, sigma: float) -> float:
    """The largest radius at which a lead is above 0, and 0.0 where it isn't at 0.

    Parameters
    ----------
    lead : callable
        Falls with the radius.
    shift : float
        About the change of score that it takes to end the lead.
    scheme, sigma
        The noise.
    """
    if scheme.whole:
        return _whole(lead)
    expected = shift * _unit(scheme, sigma)
    if not 0.0 < expected < math.inf:
        expected = sigma
    # noise that shifts scores, as normal noise does, needs this one round
    at = np.append(_around(0.0, expected, 2 * expected), expected * 2.0**REACH)
    while True:
        leads = lead(at)
        is_ahead = leads > 0
        if is_ahead.all() or not is_ahead[0]:
            return float(at[-1]) if is_ahead[0] else 0.0
        first = int(np.argmin(is_ahead))
        low, high = float(at[first - 1]), float(at[first])
        if high - low <= 1e-12 * high or not low < (low + high) / 2 < high:
            return low
        share = leads[first - 1] / (leads[first - 1] - leads[first])
        if not 0 < share < 1:
            share = 0.5
        at = _around(low, low + share * (high - low), high)


def _whole(lead: Lead) -> float:
    """The largest number of changes at which a lead is above 0, or 0.0 without any."""

    def is_ahead(changes: int) -> bool:
        return bool(lead(np.array(float(changes))) > 0)

    if not is_ahead(0):
        return 0.0
    most = 1
    while is_ahead(most):  # transport promises nothing beyond some number of changes
        most *= 2
    least = most // 2
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (middle, most) if is_ahead(middle) else (least, middle)
    return float(least)


def _around(low: float, expected: float, high: float) -> Floats:
    """From low to high, closest around the expected; halved on each side at least."""
    below = expected - (expected - low) * NEAR
    above = expected + (high - expected) * NEAR[::-1]
    return np.concatenate([[low], below, above, [high]])


def _unit(scheme: Scheme, sigma: float) -> float:
    """The distance that moves a score by about 1."""
    return sigma / abs(float(scheme.transport(0.0, sigma, sigma)[0]))
