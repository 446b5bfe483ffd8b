# mypy: ignore-errors
"""Which anchors of another label can lower a neighbour radius at all: cheap bounds, no digits.

The radius at x is the least margin (rho_j^2 - rho_i^2)/(2 |x_i - x_j|_*) over the rivals j, i
the nearest anchor. Half of rho_j^2 - rho_i^2, rounded down, is at hand from the dot products
(the "gap"); an upper bound of |x_i - x_j|_* tells that j cannot matter. The distances of both
to the middle of the anchors are such a bound and cost nothing. Where the dual norm is l_1 few
rivals fall to it, and the second one reads a byte for each coordinate:

    |x_i - x_j|_1 <= step sum |code_i - code_j| + lost_i + lost_j,

code the nearest multiple of ``step`` above the least coordinate, lost_i = |x_i - decoded|_1.
Pictures of 8 bits lose nothing. Processors have an instruction for the sum, and a block of
codes stays in cache while all rows are held against it.

No function here is called by one in scans.py: numba's cache does not see an edit of a callee
in another file.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import int32, njit, uint8

from rsbounds._neighbours.scans import BLOCK as BLOCK
from rsbounds._numerics.checks import Array
from rsbounds._numerics.rounding import EPS

_TILE = 16 * BLOCK  # codes of 784 coordinates: 800 kB
_SPAN = 2**22  # summed in 32 bits
_LEVELS = 255
_LEAST_STEP = 1e-290  # multiples of it keep their digits


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz", "nnan"})
def _least(dots, squares):
    least = np.inf
    for j in range(dots.size):
        value = squares[j] - 2 * dots[j]
        least = value if value < least else least
    return least


@njit(cache=True, nogil=True)
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
    """Codes of points that lie in the box."""
    width = float((high - low).max())
    step = max(width / _LEVELS, _LEAST_STEP)
    codes = Codes(np.empty(points.shape, np.uint8), np.empty(len(points)), step)
    _encode(points, low, step, codes.values, codes.lost)
    dim = points.shape[1]
    # the sum's own rounding, and that of each of its terms, computed at the box's width
    codes.lost[:] = codes.lost * (1 + 2 * dim * EPS) + 2 * dim * EPS * max(width, step)
    return codes


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz", "nnan"})
def _encode(points, low, step, values, lost):
    for i in range(points.shape[0]):
        total = 0.0
        for k in range(points.shape[1]):
            side = points[i, k] - low[k]
            code = uint8(min(side / step, 255.0) + 0.5)
            values[i, k] = code
            total += abs(side - step * code)
        lost[i] = total


@njit(cache=True, nogil=True)
def _difference(a, b):
    total = int32(0)
    for k in range(a.size):
        total = int32(total + int32(abs(int32(int32(a[k]) - int32(b[k])))))
    return total


@njit(cache=True, nogil=True)
def coded_reach(codes, i, j):
    """Upper bound of |x_i - x_j|_1."""
    a, b, steps = codes.values[i], codes.values[j], 0
    for start in range(0, a.size, _SPAN):
        steps += _difference(a[start : start + _SPAN], b[start : start + _SPAN])
    return (codes.step * steps + codes.lost[i] + codes.lost[j]) * (1 + 8 * EPS)


@njit(cache=True, nogil=True, error_model="numpy")  # the reach of coincident anchors is 0
def sift(dots, squares, labels, spreads, codes, minima, starts, row, rival, ratio):
    """Rivals whose margin may be below starts.best: their rows, indices and gap/reach.

    Returns how many; the last three arguments have room for all and one more.
    """
    kept = 0
    for tile in range(0, squares.size, _TILE):
        for r in range(dots.shape[0]):
            i, best, limit = starts.nearest[r], starts.best[r], starts.limit[r]
            own, floor = labels[i], starts.floor[r]
            found = kept
            for first in range(tile, min(tile + _TILE, squares.size), BLOCK):
                if not minima[r, first // BLOCK] < limit:
                    continue
                for j in range(first, min(first + BLOCK, squares.size)):  # without a branch
                    value = squares[j] - 2 * dots[r, j]
                    reach = spreads[i] + spreads[j]
                    gap = (value - floor) * (0.5 - 1e-14)
                    rival[found] = j
                    found += (value < limit) & (labels[j] != own) & (gap < best * reach)
            for at in range(kept, found):
                j = rival[at]
                reach = spreads[i] + spreads[j]
                gap = (squares[j] - 2 * dots[r, j] - floor) * (0.5 - 1e-14)
                if codes.values.size:
                    reach = min(reach, coded_reach(codes, i, j))
                if gap < best * reach:
                    row[kept], rival[kept], ratio[kept] = r, j, gap / reach * (1 - 4 * EPS)
                    kept += 1
    return kept
