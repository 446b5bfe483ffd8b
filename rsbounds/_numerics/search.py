"""A search that only ever returns an accepted point."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import Array

Accepted = Callable[[Array], NDArray[np.bool_]]


def mean_power(a: Array, b: Array) -> Array:
    """Halfway between two positive numbers; between their exponents if far apart."""
    far = np.maximum(a, b) / 4 > np.minimum(a, b)
    return np.where(far, np.sqrt(a) * np.sqrt(b), a / 2 + b / 2)


def bisect(
    safe: Array,
    other: Array,
    accepted: Accepted,
    steps: int = 60,
    *,
    within: float = 0.0,
    middle: Callable[[Array, Array], Array] | None = None,
) -> Array:
    """Return the last accepted point on the way from ``safe`` to ``other``.

    Brackets are halved, or cut at ``middle``.

    It ends after ``steps`` halvings, or as soon as every bracket is no wider than
    ``within`` of its safe end or no longer shrinks, as no number lies between its ends.
    """
    for _ in range(steps):
        between = (
            np.asarray(0.5 * (safe + other)) if middle is None else middle(safe, other)
        )
        good = accepted(between)
        bracket = safe, other
        safe = np.where(good, between, safe)
        other = np.where(good, other, between)
        with np.errstate(invalid="ignore"):
            narrow = np.abs(other - safe) <= within * np.abs(safe)
        if np.all(narrow | ((safe == bracket[0]) & (other == bracket[1]))):
            break
    return safe
