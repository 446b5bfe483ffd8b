# mypy: ignore-errors
"""Scans over N anchors: the nearest, the k nearest, the radius of the nearest one's label.

Dot products made by BLAS, and the least squares - 2 dots (squared distance less |x|^2) in each
block of anchors, choose candidates, with ``slack``, twice the bound of their error, to spare. What
is returned is recomputed from differences: sums of 64 terms, added with compensation. Such a sum
is within ERROR of the sum of its terms' sizes, whatever their number.

Kernels that call each other live in one file: numba's cache does not notice an edit of a callee
in another. Blocks are slices: with a start index the compiler has to allow for negative ones and
does not vectorize.
"""

from __future__ import annotations

import numpy as np
from numba import int32, njit

from rsbounds._numerics.rounding import EPS

BLOCK = 64
ERROR = 40 * EPS  # a block in any order: 64 roundings; terms and outer sum: the rest
_TILE = 16 * BLOCK
_SEEDS = 4  # the rivals nearest to x, tried first: nearly always the one that counts is there
_HALF = 0.5 - 1e-14  # rounded down
_SUMS = {"reassoc", "contract", "nsz", "nnan"}  # for sums and minima of finite numbers only


@njit(cache=True, nogil=True, fastmath=_SUMS)
def block_minima(dots, squares, minima):
    """The least squares - 2 dots in each block."""
    for row in range(dots.shape[0]):
        for block in range(minima.shape[1]):
            at = slice(block * BLOCK, (block + 1) * BLOCK)
            least, part, products = np.inf, squares[at], dots[row, at]
            for j in range(part.size):
                value = part[j] - 2 * products[j]
                least = value if value < least else least
            minima[row, block] = least


@njit(cache=True, nogil=True, fastmath=_SUMS)
def _square_block(a, b):
    total = 0.0
    for k in range(a.size):
        total += (a[k] - b[k]) * (a[k] - b[k])
    return total


@njit(cache=True, nogil=True, fastmath=_SUMS)
def _absolute_block(a, b):
    total = 0.0
    for k in range(a.size):
        total += abs(a[k] - b[k])
    return total


@njit(cache=True, nogil=True, fastmath=_SUMS)
def _largest(a, b):
    largest = 0.0
    for k in range(a.size):
        size = abs(a[k] - b[k])
        largest = size if size > largest else largest
    return largest


@njit(cache=True, nogil=True)
def _block(a, b, order):
    # a kernel for each: in branches of one the compiler adds in another order
    if order == 2.0:
        return _square_block(a, b)
    return _absolute_block(a, b) if order == 1.0 else _largest(a, b)


@njit(cache=True, nogil=True, fastmath=_SUMS)
def _sum(terms):
    total = 0.0
    for term in terms:
        total += term
    return total


@njit(cache=True, nogil=True)
def _two_sum(a, b):
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


@njit(cache=True, nogil=True)
def _added(a, b, order, limit=np.inf):
    """|a - b| of order 1, or |a - b|^2 of order 2, within a relative ERROR; or >= limit."""
    total, lost = 0.0, 0.0
    for start in range(0, a.size, BLOCK):
        term = _block(a[start : start + BLOCK], b[start : start + BLOCK], order)
        total, error = _two_sum(total, term)
        lost += error
        if total >= limit:  # a few terms often tell
            break
    return total + lost


@njit(cache=True, nogil=True)
def _length(a, b, order, limit=np.inf):
    """|a - b| of order 1, 2 or inf within a relative ERROR; or about ``limit`` or more."""
    if order == 2.0:
        return np.sqrt(_added(a, b, order, limit * limit))
    return _added(a, b, order, limit) if order == 1.0 else _block(a, b, order)


@njit(cache=True, nogil=True)
def _bisector_terms(x, p, q, terms):
    for k in range(x.size):  # as written: 2 x - (p + q) would round at the size of x
        terms[k] = (p[k] - q[k]) * ((x[k] - p[k]) + (x[k] - q[k]))


@njit(cache=True, nogil=True)
def _bisector(x, p, q):
    """|x - q|^2 - |x - p|^2 within ERROR |p - q| (|x - p| + |x - q|)."""
    total, lost = 0.0, 0.0
    terms = np.empty(min(x.size, BLOCK))
    for start in range(0, x.size, BLOCK):
        part = x[start : start + BLOCK]
        terms = terms[: part.size]
        _bisector_terms(part, p[start : start + BLOCK], q[start : start + BLOCK], terms)
        total, error = _two_sum(total, _sum(terms))
        lost += error
    return total + lost


@njit(cache=True, nogil=True)
def _margin(x, p, q, order):
    """Bounds of r = (|x - q|^2 - |x - p|^2)/(2 |p - q|_*), the lower one not below 0."""
    square = _added(p, q, 2.0)
    if not square > 1e-280:  # coincident, or too close for squares to keep their digits
        return 0.0, 0.0
    reach = _length(x, p, 2.0) + _length(x, q, 2.0)
    gap, error = _bisector(x, p, q), 2 * ERROR * np.sqrt(square) * reach
    side = 2 * (np.sqrt(square) if order == 2.0 else _length(p, q, order))
    return max((gap - error) / side * (1 - 2 * ERROR), 0.0), (gap + error) / side


@njit(cache=True, nogil=True)
def _two_product(a, b):
    scaled = 134217729.0 * a
    a_high = scaled - (scaled - a)
    scaled = 134217729.0 * b
    b_high = scaled - (scaled - b)
    a_low, b_low = a - a_high, b - b_high
    product = a * b
    return product, a_low * b_low - (
        ((product - a_high * b_high) - a_low * b_high) - a_high * b_low
    )


@njit(cache=True, nogil=True)
def _sharp_bisector(x, p, q):
    """|x - q|^2 - |x - p|^2 in doubled precision, for near ties, and a bound of its error."""
    total, rest = 0.0, 0.0
    for k in range(x.size):
        side, side_low = _two_sum(p[k], -q[k])
        to_p, to_p_low = _two_sum(x[k], -p[k])
        to_q, to_q_low = _two_sum(x[k], -q[k])
        both, both_low = _two_sum(to_p, to_q)
        both_low += to_p_low + to_q_low
        term, term_low = _two_product(side, both)
        total, lost = _two_sum(total, term)
        rest += lost + (term_low + (side * both_low + side_low * both))
    reach = _length(x, p, 2.0) + _length(x, q, 2.0)
    error = 4 * ((x.size + 8) * EPS / 2) ** 2 * _length(p, q, 2.0) * reach
    return total + rest, error


@njit(cache=True, nogil=True)
def _best_margin(x, points, q, guards, values, above, limit, order):
    """Largest margin against the rival q over the guards nearer than it, or one of ``limit``.

    ``above - values`` is an upper bound of what squared distances gain from guard to rival. The
    best guard moves to the front, as it is often best against the next rival too. Leaving out a
    guard because of rounding only makes the radius smaller, by as much.
    """
    best, winner = 0.0, 0
    for i in range(guards.size):
        p, gain = guards[i], above - values[i]
        if best >= limit:
            break
        apart = gain / (2 * best) if best > 0 else np.inf
        if gain < 0 or _length(points[p], points[q], order, apart) >= apart:
            continue
        lower, upper = _margin(x, points[p], points[q], order)
        if lower < limit and upper > best and upper - lower > 5e-12 * upper:
            gap, error = _sharp_bisector(x, points[p], points[q])
            side = 2 * _length(points[p], points[q], order)
            lower = max((gap - error) / side * (1 - 2 * ERROR), 0.0)
        if lower > best:
            best, winner = lower, i
    guards[0], guards[winner] = guards[winner], guards[0]
    values[0], values[winner] = values[winner], values[0]
    return best


@njit(cache=True, nogil=True)
def _below(dots, squares, minima, limit, room):
    """Indices of the anchors with squares - 2 dots <= limit."""
    count = 0
    for block in range(minima.size):
        if minima[block] <= limit:
            for j in range(block * BLOCK, min((block + 1) * BLOCK, dots.size)):
                if squares[j] - 2 * dots[j] <= limit:
                    room[count] = j
                    count += 1
    return room[:count]


@njit(cache=True, nogil=True)
def _nearest(x, dots, minima, slack, points, squares, room):
    """Index of the nearest anchor (the first of equals) and its squared distance."""
    index, best = 0, np.inf
    for j in _below(dots, squares, minima, minima.min() + slack, room):
        square = _added(x, points[j], 2.0)
        nearer = square < best * (1 - 4 * ERROR)
        if not nearer and square <= best * (1 + 4 * ERROR):
            nearer = _sharp_bisector(x, points[index], points[j])[0] < 0
        if nearer:
            index, best = j, square
    return index, best


@njit(cache=True, nogil=True)
def nearest_anchors(x, dots, minima, slacks, points, squares, nearest):
    """Nearest anchor of each row of x; 0 where it has NaN."""
    room = np.empty(squares.size, np.int64)
    for r in range(x.shape[0]):
        if slacks[r] < np.inf:
            nearest[r] = _nearest(x[r], dots[r], minima[r], slacks[r], points, squares, room)[0]


@njit(cache=True, nogil=True)
def _keep_least(values, indices, value, index):
    """Put ``value`` in the place of the largest of the heap ``values``."""
    hole = 0
    while True:
        child = 2 * hole + 1
        if child + 1 < values.size and values[child + 1] > values[child]:
            child += 1
        if child >= values.size or values[child] <= value:
            break
        values[hole], indices[hole] = values[child], indices[child]
        hole = child
    values[hole], indices[hole] = value, index


@njit(cache=True, nogil=True)
def _least_of_others(dots, squares, minima, labels, own, values, indices):
    """The least squares - 2 dots of other labels, as a heap, and where; inf if there are fewer."""
    values[:] = np.inf
    for block in range(minima.size):
        if minima[block] < values[0]:
            for j in range(block * BLOCK, min((block + 1) * BLOCK, dots.size)):
                value = squares[j] - 2 * dots[j]
                if value < values[0] and labels[j] != own:
                    _keep_least(values, indices, value, j)


@njit(cache=True, nogil=True)
def _guards(dots, squares, minima, labels, first, limit, room, values):
    """``first`` and the anchors of its label with squares - 2 dots <= limit; all these values."""
    count = 1
    for j in _below(dots, squares, minima, limit, room[1:]):
        if labels[j] == labels[first] and j != first:
            room[count], values[count] = j, squares[j] - 2 * dots[j]
            count += 1
    room[0], values[0] = first, squares[first] - 2 * dots[first]
    return room[:count], values[:count]


@njit(cache=True, nogil=True)
def coded_reach(codes, lost, step, i, j):
    """Upper bound of |x_i - x_j|_1."""
    a, b, total = codes[i], codes[j], int32(0)
    for k in range(a.size):
        total = int32(total + int32(abs(int32(int32(a[k]) - int32(b[k])))))
    return (step * total + lost[i] + lost[j]) * (1 + 8 * EPS)


@njit(cache=True, nogil=True, error_model="numpy")  # the reach of coincident anchors is 0
def _sift(dots, start, stop, memory, i, best, floor, limit, marks, rivals, ratios, count):
    """Add the rivals whose margin may be below ``best``, and lower bounds of it; how many now."""
    _, squares, labels, _, spreads, codes, lost, step = memory
    words, spread, at = marks.view(np.uint64), spreads[i], slice(start, stop)
    part, products, wide = squares[at], dots[at], spreads[at]
    for j in range(part.size):
        value = part[j] - 2 * products[j]
        marks[j] = (value < limit) & ((value - floor) * _HALF < best * (spread + wide[j]))
    for word in range((stop - start + 7) // 8):
        if words[word]:
            for j in range(start + 8 * word, min(start + 8 * word + 8, stop)):
                if marks[j - start] and labels[j] != labels[i]:
                    gap = (squares[j] - 2 * dots[j] - floor) * _HALF
                    reach = spread + spreads[j]
                    if codes.size:
                        reach = min(reach, coded_reach(codes, lost, step, i, j))
                    if gap < best * reach:
                        rivals[count], ratios[count] = j, gap / reach * (1 - 4 * EPS)
                        count += 1
    return count


@njit(cache=True, nogil=True)
def _begin(x, dots, minima, slack, memory, tight, widest, room, values):
    """The nearest anchor, the best guard, the least margin of a few rivals; ``floor``, ``limit``.

    The squared distance of a rival exceeds the nearest anchor's by squares - 2 dots - floor at
    least, and its margin is no smaller than that margin where squares - 2 dots >= limit.
    """
    points, squares, labels, order = memory.points, memory.squares, memory.labels, memory.order
    i, square = _nearest(x, dots, minima, slack, points, squares, room)
    guard, best = i, np.inf
    least, rivals = np.empty(_SEEDS), np.empty(_SEEDS, np.int64)
    _least_of_others(dots, squares, minima, labels, labels[i], least, rivals)
    seeds = np.argsort(least)[: (least < np.inf).sum()]
    if seeds.size == 0:
        return i, i, np.inf, -np.inf, -np.inf
    furthest = least[seeds[-1]] + slack if tight else -np.inf
    guards, near = _guards(dots, squares, minima, labels, i, furthest, room, values)
    for at in seeds:
        above = least[at] + slack
        margin = _best_margin(x, points, rivals[at], guards, near, above, best, order)
        if margin < best:
            best, guard = margin, guards[0]
    # margin >= (rho_j^2 - rho_i^2)/(2 |x_i - x_j|_*), |x_i - x_j|_* <= stretch (rho_i + rho_j)
    stretch = np.sqrt(x.size) if order == 1.0 else 1.0
    by_spread = square + 2 * (memory.spreads[i] + widest) * best
    by_triangle = (np.sqrt(square) + 2 * stretch * best) ** 2
    shift = (x * x).sum() - slack  # with it products give less than distances
    limit = min(by_spread, by_triangle) * (1 + 1e-12) - shift
    return i, guard, best, square * (1 + 2 * ERROR) - shift, limit


@njit(cache=True, nogil=True)
def neighbour_radii(x, dots, minima, slacks, memory, tight, nearest, radii):
    """Nearest anchor and neighbour radius of each row of x; NaN where it has NaN.

    The radius is the least margin over the rivals. A few near ones give a first value, cheap
    bounds exclude most others (by tiles, whose codes stay in cache for all rows), and the rest are
    tried in the order of these bounds.
    """
    points, squares, labels, order = memory.points, memory.squares, memory.labels, memory.order
    size, widest, marks = squares.size, memory.spreads.max(), np.zeros(_TILE, np.uint8)
    room, values = np.empty(size + 1, np.int64), np.empty(size)
    guard, count = np.zeros((2, x.shape[0]), np.int64)
    floor, limit = np.full((2, x.shape[0]), -np.inf)
    # what is not written to takes no memory
    rivals, ratios = np.empty((x.shape[0], size), np.int64), np.empty((x.shape[0], size))
    for r in range(x.shape[0]):
        radii[r] = np.nan
        if slacks[r] < np.inf:
            nearest[r], guard[r], radii[r], floor[r], limit[r] = _begin(
                x[r], dots[r], minima[r], slacks[r], memory, tight, widest, room, values
            )
    for start in range(0, size, _TILE):
        stop = min(start + _TILE, size)
        for r in range(x.shape[0]):
            count[r] = _sift(
                dots[r], start, stop, memory, nearest[r], radii[r], floor[r], limit[r],
                marks, rivals[r], ratios[r], count[r],
            )  # fmt: skip
    for r in np.flatnonzero(count):
        i, products, least, slack = nearest[r], dots[r], minima[r], slacks[r]
        furthest = limit[r] + slack if tight else -np.inf
        guards, near = _guards(products, squares, least, labels, guard[r], furthest, room, values)
        for at in np.argsort(ratios[r, : count[r]]):
            j, best = rivals[r, at], radii[r]
            value = squares[j] - 2 * products[j]
            gap = (value - floor[r]) / 2 * (1 - 4 * ERROR)
            if ratios[r, at] < best and gap < best * _length(points[i], points[j], order):
                above = value + slack
                margin = _best_margin(x[r], points, j, guards, near, above, best, order)
                radii[r] = min(margin, best)


@njit(cache=True, nogil=True)
def knn_means(x, dots, minima, slacks, points, squares, k, skip, means):
    """Mean distance to the k nearest anchors for each row; row r leaves out anchor skip + r."""
    heap, indices = np.empty(k), np.empty(k, np.int64)
    everyone, room = np.arange(squares.size), np.empty(squares.size, np.int64)
    for r in range(x.shape[0]):
        if not slacks[r] < np.inf:
            continue
        left_out = skip + r if skip >= 0 else -1
        _least_of_others(dots[r], squares, minima[r], everyone, left_out, heap, indices)
        limit = heap[0] + slacks[r]
        heap[:] = np.inf
        for j in _below(dots[r], squares, minima[r], limit, room):
            if j != left_out:
                square = _added(x[r], points[j], 2.0)
                if square < heap[0]:
                    _keep_least(heap, indices, square, j)
        means[r] = np.sqrt(heap).sum() / k
