"""How near one certificate comes to the best of several at each radius."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rsbounds._numerics.checks import Array, as_floats, number
from rsbounds._numerics.errors import ArgumentError


class WorstRatio(NamedTuple):
    """The least ratio, the radius where it starts, and both certified accuracies."""

    ratio: float
    radius: float
    accuracy: float
    union: float


def worst_ratio(radii: Any, constants: Any, *, least: float = 0.05) -> WorstRatio:
    """Least certified accuracy relative to the best of the constants, and its radius.

    Both curves are steps, so no grid of radii is needed.

    Parameters
    ----------
    radii : array_like of float, shape (N,)
        Certified radii of the inputs, >= 0; 0 where the class is wrong or there is
        none.
    constants : array_like of float, shape (K, N)
        Those of each constant for the same inputs.
    least : float
        In (0, 1]: radii count at which the best constant certifies this share of the
        inputs.

    Raises
    ------
    ValueError
        If the shapes do not fit, or no constant certifies ``least`` of the inputs.

    Examples
    --------
    >>> from rsbounds.composite.internal import worst_ratio
    >>> worst_ratio([0.4, 0.4, 2.0, 0.0], [[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 2.0, 2.0]])
    WorstRatio(ratio=0.5, radius=0.4, accuracy=0.25, union=0.5)
    """
    certified = as_floats("radii", radii, 0.0, nan=False)
    single = as_floats("constants", constants, 0.0, nan=False)
    fits = certified.ndim == 1 and single.ndim == 2 and single.size > 0
    if not fits or single.shape[1] != len(certified):
        shapes = f"{certified.shape} and {single.shape}"
        raise ValueError(
            f"radii and constants must have shapes (N,) and (K, N); got {shapes}"
        )
    share = number("least", least, 0.0, 1.0, closed="right")
    # the ratio falls where a radius of its numerator is passed
    places = np.unique(np.append(certified, 0.0))
    union = np.max([_beyond(radii_of_one, places) for radii_of_one in single], axis=0)
    counted = union >= share
    if not counted.any():
        raise ArgumentError(
            "constants", f"must certify at least {share:g} of the inputs; got less"
        )
    accuracy = _beyond(certified, places)
    ratio = np.where(counted, accuracy / np.where(counted, union, 1.0), np.inf)
    k = int(ratio.argmin())
    return WorstRatio(
        ratio=float(ratio[k]),
        radius=float(places[k]),
        accuracy=float(accuracy[k]),
        union=float(union[k]),
    )


def _beyond(radii: Array, places: Array) -> Array:
    """The share of the radii above each place."""
    below = np.searchsorted(np.sort(radii), places, side="right")
    return (len(radii) - below) / len(radii)
