# mypy: ignore-errors
"""Find the rivals that can lower a neighbour radius, by bounds that lose no digits.

The radius at x is the least margin (rho_j^2 - rho_i^2)/(2 |x_i - x_j|_*) over the
rivals j, i the nearest anchor. Half of rho_j^2 - rho_i^2, rounded down, is at hand from
the dot products (the "gap"); an upper bound of |x_i - x_j|_* tells that j cannot
matter. The distances of both to one centre are such a bound and cost nothing. Where the
dual norm is l_1 many rivals stay, and the second one reads a byte for each coordinate:

    |x_i - x_j|_1 <= step sum |code_i - code_j| + lost_i + lost_j,

code the nearest multiple of ``step`` above the least coordinate, lost_i = |x_i -
decoded|_1. Processors have an instruction for the sum, and a block of codes stays in
cache while all rows are held against it.

No function here is called by one in scans.py: numba's cache does not see an edit of a
callee in another file.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import int32, uint8

from rsbounds._neighbours._compiled import compiled
from rsbounds._neighbours.scans import BLOCK as BLOCK
from rsbounds._numerics.checks import Array
from rsbounds._numerics.rounding import EPS

_TILE = 16 * BLOCK  # codes of 256 coordinates: 256 KiB
_MOST = 2**23  # coordinates: the sum of differences has 32 bits
_HALF = 0.5 - 1e-14  # rounded down
_LEAST_STEP = 1e-290  # multiples of it keep their digits


@compiled(fastmath={"reassoc", "contract", "nsz", "nnan"})
def _least(dots, squares):
    least = np.inf
    for j in range(dots.size):
        value = squares[j] - 2 * dots[j]
        least = value if value < least else least
    return least


@compiled()
def block_minima(dots, squares, minima):
    """The least of squares - 2 dots (the squared distance less |x|^2) in each block."""
    for row in range(dots.shape[0]):
        for block in range(minima.shape[1]):
            start, stop = block * BLOCK, (block + 1) * BLOCK
            minima[row, block] = _least(dots[row, start:stop], squares[start:stop])


class Codes(NamedTuple):
    """A byte for each coordinate, (N, d), and what they lose of each anchor, (N,)."""

    values: np.ndarray
    lost: np.ndarray
    step: float


NONE = Codes(np.empty((0, 0), np.uint8), np.empty(0), 1.0)


def encode(points: Array, low: Array, high: Array) -> Codes:
    """Codes for points that lie in the box.

    There are none for more coordinates than can be summed.
    """
    dim, width = len(low), float((high - low).max())
    if dim > _MOST:
        return NONE
    step = max(width / 255, _LEAST_STEP)
    codes = Codes(np.empty(points.shape, np.uint8), np.empty(len(points)), step)
    _encode(points, low, *codes)
    # the sum's own rounding, and that of each of its terms, computed at the box's width
    codes.lost[:] = codes.lost * (1 + 2 * dim * EPS) + 2 * dim * EPS * max(width, step)
    return codes


@compiled(fastmath={"reassoc", "nsz", "nnan"})
def _encode_row(point, low, step, row):
    total = 0.0
    for k in range(point.size):
        side = point[k] - low[k]
        row[k] = uint8(min(side / step, 255.0) + 0.5)
        total += abs(side - step * row[k])
    return total


@compiled()
def _encode(points, low, values, lost, step):
    for i in range(points.shape[0]):
        lost[i] = _encode_row(points[i], low, step, values[i])


@compiled()
def _difference(a, b):
    total = int32(0)
    for k in range(a.size):
        total = int32(total + int32(abs(int32(int32(a[k]) - int32(b[k])))))
    return total


@compiled()
def coded_reach(codes, i, j):
    """Upper bound of |x_i - x_j|_1."""
    steps = _difference(codes.values[i], codes.values[j])
    return (codes.step * steps + codes.lost[i] + codes.lost[j]) * (1 + 8 * EPS)


@compiled()
def _mark(dots, squares, labels, spreads, own, spread, best, floor, limit, marks):
    """Which are of another label and not excluded by the bounds that cost nothing."""
    for j in range(dots.size):
        value = squares[j] - 2 * dots[j]
        near = (value < limit) & (
            (value - floor) * _HALF < best * (spread + spreads[j])
        )
        marks[j] = near & (labels[j] != own)


# error_model: the reach of coincident anchors is 0
@compiled(error_model="numpy")
def _keep(row, start, marks, products, anchors, bounds, starts, found, kept):
    """Add the marked anchors of a tile that the closer bound doesn't rule out either.

    ``kept`` counts what ``found`` holds; returns how many it holds now.
    """
    dots = products.dots[row]
    nearest = starts.nearest[row]
    best = starts.best[row]
    words = marks.view(np.uint64)
    # eight marks at a time: nearly all of them are 0
    for word in range(words.size):
        if words[word] == 0:
            continue
        for at in range(8 * word, 8 * word + 8):
            if marks[at] == 0:
                continue
            j = start + at
            gap = (anchors.squares[j] - 2 * dots[j] - starts.floor[row]) * _HALF
            reach = bounds.spreads[nearest] + bounds.spreads[j]
            if bounds.codes.values.size:
                reach = min(reach, coded_reach(bounds.codes, nearest, j))
            if gap < best * reach:
                found.row[kept] = row
                found.anchor[kept] = j
                found.ratio[kept] = gap / reach * (1 - 4 * EPS)
                kept += 1
    return kept


@compiled(error_model="numpy")
def sift(products, anchors, bounds, starts, found):
    """Find the rivals whose margin may be below starts.best.

    See the tuples of these names in anchors.py. Returns how many there are; ``found``
    has room for all.
    """
    squares, labels = anchors.squares, anchors.labels
    kept, marks = 0, np.zeros(_TILE, np.uint8)
    # tile by tile, so that its codes stay in cache while all rows are held against it
    for start in range(0, squares.size, _TILE):
        stop = min(start + _TILE, squares.size)
        marks[stop - start :] = 0
        for row in range(products.dots.shape[0]):
            minima = products.minima[row]
            least = minima[start // BLOCK : (stop - 1) // BLOCK + 1].min()
            if not least < starts.limit[row]:
                continue  # no anchor of the tile can be a rival
            nearest = starts.nearest[row]
            _mark(
                products.dots[row, start:stop],
                squares[start:stop],
                labels[start:stop],
                bounds.spreads[start:stop],
                labels[nearest],
                bounds.spreads[nearest],
                starts.best[row],
                starts.floor[row],
                starts.limit[row],
                marks,
            )
            kept = _keep(
                row, start, marks, products, anchors, bounds, starts, found, kept
            )
    return kept
