"""An envelope given by arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rsbounds._numerics.checks import Floats, as_floats


@dataclass(frozen=True)
class TableEnvelope:
    """An envelope given by arrays: sigma in [low[i], high[i]] within distance[i].

    Between two tabulated distances the wider interval, that of the further one, is used; beyond
    the last distance nothing is known and nothing is certified.

    Parameters
    ----------
    distance : array_like
        Increasing distances, >= 0.
    low, high : array_like
        Smallest sigma (non-increasing, > 0) and largest sigma (non-decreasing) there.

    Raises
    ------
    ValueError
        Arrays of different length, distances that do not increase, an envelope that narrows.

    Examples
    --------
    >>> table = TableEnvelope([0.5, 1.0], [0.24, 0.23], [0.26, 0.27])
    >>> low, high = table.bounds(0.25, 0.7)
    >>> float(low), float(high)
    (0.23, 0.27)
    """

    distance: ArrayLike
    low: ArrayLike
    high: ArrayLike

    def __post_init__(self) -> None:
        arrays = {
            name: np.atleast_1d(as_floats(name, getattr(self, name), 0.0, nan=False, towards=side))
            for name, side in (("distance", -np.inf), ("low", -np.inf), ("high", np.inf))
        }
        if len({a.shape for a in arrays.values()}) != 1 or arrays["low"].ndim != 1:
            shapes = ", ".join(f"{k} {a.shape}" for k, a in arrays.items())
            raise ValueError(f"distance, low and high must be 1-d of one length; got {shapes}")
        distance, low, high = arrays.values()
        if not (
            np.all(np.diff(distance) > 0)
            and np.all(np.diff(low) <= 0)
            and np.all(np.diff(high) >= 0)
        ):
            raise ValueError(
                "distance must increase, low must not increase and high must not decrease: "
                "the envelope is not monotone"
            )
        for name, array in arrays.items():
            object.__setattr__(self, name, array)

    def bounds(self, sigma0: ArrayLike, distance: ArrayLike) -> tuple[Floats, Floats]:
        """Smallest and largest sigma at `distance`; (0, inf) beyond the table."""
        i = np.searchsorted(self.distance, as_floats("distance", distance, 0.0))
        same = 0 * as_floats("sigma0", sigma0, 0.0)
        low, high = np.append(self.low, 0.0)[i] + same, np.append(self.high, np.inf)[i] + same
        return low, high
