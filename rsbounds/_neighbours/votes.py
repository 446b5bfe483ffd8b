"""Radii within which a vote of the k nearest anchors keeps its winner."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rsbounds._neighbours.norms import DualNorm
from rsbounds._numerics.checks import Array
from rsbounds._numerics.rounding import EPS, SMALLEST, TINY, round_down

Labels = NDArray[np.int64]


def distances(points: Array, norm: DualNorm) -> Array:
    """Dual distances between all anchors, rounded up; N^2 numbers."""
    count = len(points)
    result = np.empty((count, count))
    for i, point in enumerate(points):
        result[i] = norm.dual(points - point)
    grown: Array = result * (1 + norm.error + 2 * EPS) + SMALLEST
    return grown


def squares(x: Array, points: Array) -> tuple[Array, Array, Array]:
    """Squared distances from x, and numbers that are at most and at least the truth."""
    apart = points - x
    found: Array = np.einsum("nd,nd->n", apart, apart)
    dim = len(x)
    error = (dim + 8) * EPS
    lost = dim * TINY  # of squares that underflow
    return found, found * (1 - error), found * (1 + error) + lost


def vote(found: Array, labels: Labels, majority: int) -> int:
    """The label of which ``majority`` anchors are nearest; one of two labels."""
    names = np.unique(labels)
    reach = [
        np.partition(found[labels == name], majority - 1)[majority - 1]
        if (labels == name).sum() >= majority
        else np.inf
        for name in names
    ]
    return int(names[int(np.argmin(reach))])


def nearest_vote(
    x: Array, points: Array, labels: Labels, apart: Array, majority: int, tight: bool
) -> tuple[float, int]:
    """The radius of the vote at one x without NaN, and its label.

    The label has the vote as long as ``majority`` anchors of it are nearer than all but
    ``majority - 1`` of the others: at most that many rivals then come before them.
    """
    found, least, most = squares(x, points)
    label = vote(found, labels, majority)
    of_label = np.flatnonzero(labels == label)
    rivals = np.flatnonzero(labels != label)
    if len(rivals) < majority:
        return np.inf, label
    if not tight:
        of_label = of_label[np.argsort(found[of_label], kind="stable")[:majority]]
    gaps = np.maximum(least[rivals] - most[of_label][:, None], 0.0)
    with np.errstate(under="ignore"):
        margins = gaps / (2 * apart[np.ix_(of_label, rivals)])
    # a rival stays behind a majority of the anchors of the label up to here
    behind = np.partition(margins, len(of_label) - majority, axis=0)[
        len(of_label) - majority
    ]
    return float(np.partition(behind, majority - 1)[majority - 1]), label


def radii(
    rows: Array, points: Array, labels: Labels, apart: Array, k: int, tight: bool
) -> tuple[Array, Labels]:
    """Radius and label of the vote of the k nearest at each row; NaN for NaN."""
    result = np.full(len(rows), np.nan)
    names = np.full(len(rows), labels[0])
    majority = (k + 1) // 2
    for i in np.flatnonzero(~np.isnan(rows).any(axis=1)):
        result[i], names[i] = nearest_vote(
            rows[i], points, labels, apart, majority, tight
        )
    return np.asarray(round_down(result, 8 * EPS)), names
