"""How far one event stays above a threshold where the level follows the input.

The worst set of each pair of levels is a ball or the outside of one. For a set that is
kept as it is the least probability over levels above that of the input lies at the
lowest or the highest of them; over levels below it at the lowest, as long as the event
keeps at most a half. So three levels decide, where the threshold is at most a half.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import Array, as_floats
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.rounding import SMALLEST
from rsbounds._numerics.search import bisect
from rsbounds.envelope._shapes import Envelope
from rsbounds_ext import kernels

_ROUNDING = 1e-14  # of a level, as a share of itself and of the input's


def event_radius(
    z: float, least: float, sigma: float, envelope: Envelope, dim: float
) -> float:
    """Distance within which an event's normal score stays above ``least``.

    Parameters
    ----------
    z : float
        Score of a lower bound of its probability under N(x0, sigma^2 I).
    least : float
        At most 0: beyond a half the extremes of the level don't decide.
    sigma : float
        The level at the input.
    envelope : Envelope
        How far the level can move.
    dim : float
        Dimension of the input.

    Returns
    -------
    float
        Never above the true one, and within 1e-10 of it, relative.
    """
    if not least <= 0:
        raise ArgumentError(
            "threshold",
            "must be at most 1/2, for the side that is asked, where the level of the "
            "noise follows the input: beyond it the worst level may lie between the "
            f"ends of its range; got the score {least}",
        )
    if not z > least:
        return 0.0
    if z == np.inf:
        return np.inf

    def stays(distance: Array) -> NDArray[np.bool_]:
        ends = envelope.bounds(np.asarray(sigma), distance)
        low, high = (as_floats("level", end) for end in ends)
        is_kept = np.ones(np.shape(distance), dtype=np.bool_)
        for level in (
            _outward(low, sigma, -1),
            np.asarray(sigma),
            _outward(high, sigma, 1),
        ):
            is_kept &= _stays(distance, z, least, sigma, level, dim)
        return is_kept

    top = np.array(sigma * (z - least))  # where the level never changes
    near = np.array(float(top) * (1 - 1e-12))
    if stays(near):
        return float(near)
    return float(bisect(np.array(0.0), near, stays, steps=120, within=1e-12))


def _outward(level: Array, sigma: float, side: int) -> Array:
    """A level with its rounding, away from that of the input.

    An exponential loses digits in proportion to its argument, a difference those of
    what it is taken from.
    """
    with np.errstate(divide="ignore", over="ignore"):
        turns = np.abs(np.log(np.maximum(level, SMALLEST)) - np.log(sigma))
        error = _ROUNDING * (sigma + level * (1 + turns))
        moved = level + side * error
    return np.asarray(np.maximum(moved, 0.0))


def _stays(
    distance: Array, z: float, least: float, sigma: float, level: Array, dim: float
) -> NDArray[np.bool_]:
    with np.errstate(all="ignore"):
        is_kept = kernels.event_kept(distance, z, least, sigma, level, dim)
    return np.asarray(is_kept > 0)
