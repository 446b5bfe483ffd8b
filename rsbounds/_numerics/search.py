"""Two searches that only ever return a point found safe."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import Array

Accepted = Callable[[Array], NDArray[np.bool_]]


def outward(start: Array, margin: Array, accepted: Accepted) -> Array:
    """``start`` (1 + margin), the margin doubled wherever that is not accepted.

    The search ends at 0 (negative margin) or 1 (positive), which are always safe; a NaN
    is never accepted, so it ends there too.
    """
    trivial = np.where(margin < 0.0, 0.0, 1.0)
    while True:
        x = np.where(np.abs(margin) < 1.0, start * (1.0 + margin), trivial)
        x = np.minimum(x, 1.0)
        good = accepted(x) | (x == trivial)
        if good.all():
            return x
        margin = np.where(good, margin, 2.0 * margin)


def bisect(safe: Array, other: Array, accepted: Accepted, steps: int = 60) -> Array:
    """The last accepted point on the way from ``safe`` to ``other``."""
    for _ in range(steps):
        middle = 0.5 * (safe + other)
        good = accepted(middle)
        safe = np.where(good, middle, safe)
        other = np.where(good, other, middle)
    return safe
