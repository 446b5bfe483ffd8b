"""Oracles that see the labels: what no list over some networks, and nothing else, can
exceed.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching
from scipy.spatial.distance import cdist

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]


def best_stage(r: Floats, y: Labels) -> Floats:
    """The largest margin of the true class over the stages: no list certifies an image
    further.

    ``r`` has sigma times the normal scores, shape (images, stages, classes).
    """
    own = np.eye(r.shape[-1], dtype=bool)[y][:, None]
    true, other = (np.where(mask, r, -np.inf).max(-1) for mask in (own, ~own))
    return np.maximum((true - other).max(1) / 2, 0.0)


def distances(points: Floats, y: Labels) -> Floats:
    """Between images, infinite between those of one class."""
    apart = cdist(points, points)
    apart[y[:, None] == y] = np.inf
    return apart


def packed(able: NDArray[np.bool_], apart: Floats, radius: float) -> float:
    """At most so many of the images can have disjoint balls of one radius where classes
    differ.

    The number of vertices less half of a largest matching of the bipartite double: the
    value of the linear program whose whole solutions are the sets without a conflict.
    """
    rows = np.flatnonzero(able)
    conflict = csr_array(apart[np.ix_(rows, rows)] < 2 * radius)
    if not conflict.nnz:
        return float(len(rows))
    return len(rows) - float((maximum_bipartite_matching(conflict) >= 0).sum()) / 2


def oracles(r: Floats, points: Floats, y: Labels, radii: Floats) -> list[list[float]]:
    """Shares of the images, at each radius: of any list, and of any classifier."""
    stage, apart = best_stage(r, y), distances(points, y)
    sure = [np.full(len(y), True)] * len(radii)
    return [
        [
            packed(able, apart, radius) / len(y)
            for able, radius in zip(each, radii, strict=True)
        ]
        for each in ([stage > radius for radius in radii], sure)
    ]
