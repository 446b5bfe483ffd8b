"""How far an event keeps a probability above a threshold."""

from __future__ import annotations

from typing import Any

import numpy as np

from rsbounds._numerics.checks import number
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.rounding import round_down, round_up
from rsbounds._numerics.scores import NDTRI_ERROR, ndtri
from rsbounds.answers._answer import require_fixed
from rsbounds.answers._search import Floats, largest_radius
from rsbounds.schemes import Scheme


def checked_threshold(threshold: Any) -> float:
    """The threshold of an alarm, in (0, 1)."""
    return number("threshold", threshold, 0.0, 1.0, closed="neither")


def scores_of(threshold: float) -> tuple[float, float]:
    """What the event's opposite, and the event, must stay above: rounded up."""
    z = ndtri(np.asarray(threshold))
    return -float(round_down(z, NDTRI_ERROR)), float(round_up(z, NDTRI_ERROR))


def event_radius(z: float, least: float, scheme: Scheme, sigma: float) -> float:
    """The largest radius within which a score above ``least`` stays above it."""
    if not z > least:
        return 0.0
    if follows(scheme):
        # beyond a half nothing is known but at the input itself
        return scheme.event_radius(z, least, sigma) if least <= 0 else 0.0

    def lead(radius: Floats) -> Floats:
        moved = scheme.transport(z, radius, sigma)[0]
        return np.asarray(moved - least)

    return largest_radius(lead, z - least, scheme, sigma)


def follows(scheme: Scheme) -> bool:
    """Whether the scheme bounds the levels of noise that follows the input."""
    return type(scheme).event_radius is not Scheme.event_radius


def require_scheme(scheme: Scheme) -> None:
    """ValueError unless it bounds one event: by its transport, or by its levels."""
    if isinstance(scheme, Scheme) and not scheme.bound:
        if follows(scheme):
            return
        _require_transport(scheme)
    require_fixed(scheme)


def _require_transport(scheme: Scheme) -> None:
    if type(scheme).transport is Scheme.transport:
        raise ArgumentError(
            "scheme",
            "must bound one event alone, by its transport or by its levels; got one of "
            f"method {scheme.name!r}, which bounds a class against the others",
        )
