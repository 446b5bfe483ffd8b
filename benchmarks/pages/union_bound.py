"""Oracles that see the labels: what no rule over the networks of a list can exceed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

Floats = NDArray[np.float64]


def coordinates(r: Floats) -> Floats:
    """Scores and margins of all stages and classes, which move no faster than the input."""
    second, first = np.moveaxis(np.sort(r, axis=-1)[..., -2:, None], -2, 0)
    margins = (r - np.where(r == first, second, first)) / 2
    return np.concatenate([r, margins], axis=-1).reshape(len(r), -1)


def best_stage(r: Floats, y: NDArray[np.int64]) -> Floats:
    """The largest margin of the true class: no list certifies an image further."""
    margins = coordinates(r).reshape(len(r), r.shape[1], -1)[..., r.shape[2] :]
    return np.maximum(margins[np.arange(len(y)), :, y].max(1), 0.0)


def distances(r: Floats, y: NDArray[np.int64]) -> Floats:
    """Largest change of a coordinate between two images; infinite between those of one class."""
    v = coordinates(r).astype(np.float32)
    apart = np.stack([np.abs(v - row).max(1) for row in v])
    apart[y[:, None] == y] = np.inf
    return apart


def packed(able: NDArray[np.bool_], apart: Floats, radius: float) -> float:
    """At most so many of the images can have disjoint balls of one radius where classes differ.

    The number of vertices less half of a largest matching of the bipartite double: the value of
    the linear program whose whole solutions are the sets without a conflict.
    """
    rows = np.flatnonzero(able)
    conflict = csr_array(apart[np.ix_(rows, rows)] < 2 * radius)
    if not conflict.nnz:
        return float(len(rows))
    return len(rows) - float((maximum_bipartite_matching(conflict) >= 0).sum()) / 2
