"""How far the computed noise level of the nearest anchors may lie from the real function."""

from __future__ import annotations

import numpy as np

from rsbounds._numerics.checks import Array
from rsbounds._numerics.rounding import EPS

_ROWS = 2**24  # numbers of the anchors looked at together


def level_error(points: Array, k: int, rate: float, shift: float) -> float:
    """A bound of |log computed - log sigma| at the points of the grid of 1/255 in [0, 1]^d.

    ``computed`` is that of float64 numbers each within 2^-53 of the point's. Four errors: of
    these numbers; of the mean distance (``ERROR`` and k + 1 roundings, relative to the distance,
    which is at most the k-th least of the anchors' largest distances from the box); of two
    operations up to the exponential's argument; of the exponential and a product.
    """
    from rsbounds._neighbours.scans import ERROR

    root = np.sqrt(points.shape[1]) * (1 + EPS)
    furthest = np.partition(_reaches(points), k - 1)[k - 1] + EPS * root
    argument = EPS / 2 * root + (ERROR + k * EPS) * furthest + EPS * (furthest + abs(shift))
    return float(rate * argument + 16 * EPS) * (1 + 1e-6)


def _reaches(points: Array) -> Array:
    """The largest distance of each anchor from a point of [0, 1]^d, rounded up."""
    step = max(_ROWS // points.shape[1], 1)
    squares = [
        np.square(np.maximum(np.abs(part), np.abs(1 - part))).sum(1)
        for part in (points[a : a + step] for a in range(0, len(points), step))
    ]
    reaches: Array = np.sqrt(np.concatenate(squares)) * (1 + (points.shape[1] + 8) * EPS)
    return reaches
