# mypy: ignore-errors
"""Scans of one point over N anchors: nearest, k nearest, bisectors between labels.

Every scan starts from dot products made by BLAS, and their least in each block of
anchors. They only choose candidates, and always with ``slack``, twice the bound of
their error, to spare. What is returned is recomputed from differences, in blocks of 64
terms whose sums are added with compensation: such a sum of d terms is within ERROR of
the sum of their sizes, whatever d.

The order of every sum that is returned is written here, and no compiler may change it
or fuse a product with a sum: the same function is compiled into each of its callers,
and which copy runs differs between a process that compiles and one that loads its code
from the cache.

All functions that call each other live in this file: numba's cache does not see an edit
of a callee in another one (nor of BLOCK, which sieve.py takes from here). Blocks are
passed as slices: with a start index the compiler has to allow for negative ones and
does not vectorize.
"""

import numpy as np

from rsbounds._neighbours._compiled import compiled
from rsbounds._numerics.rounding import EPS

BLOCK = 64
# the rivals nearest to x, tried first: nearly always the one that counts is there
SEEDS = 4
ERROR = 40 * EPS  # a block in any order: 64 roundings; terms and outer sum: the rest


# --- lengths of differences, within a relative ERROR


@compiled(fastmath={"nsz", "nnan"})
def _block(a, b, norm, terms):
    """Dual norm of a block of a - b, squared for norm 2.

    The largest term for norm 1, the sum of squares for 2, the sum for inf. ``terms``
    has room for a whole block.
    """
    if norm == 1.0:
        most = 0.0
        for k in range(a.size):
            side = abs(a[k] - b[k])
            most = side if side > most else most
        return most
    for k in range(a.size):
        side = abs(a[k] - b[k])
        terms[k] = side * side if norm == 2.0 else side
    return _sum(terms, a.size)


@compiled()
def _sum(terms, size):
    """The sum of the first terms by halves, which are added to each other in place."""
    width = 1
    while width < size:
        width *= 2
    terms[size:width] = 0.0
    while width > 1:
        width //= 2
        for k in range(width):
            terms[k] += terms[width + k]
    return terms[0]


@compiled()
def _two_sum(a, b):
    """The sum and its rounding error (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


@compiled()
def _length(a, b, norm):
    """|a - b|_* within a relative ERROR, for the l_2 norm its square."""
    total, lost = 0.0, 0.0
    terms = np.empty(BLOCK)
    for start in range(0, a.size, BLOCK):
        term = _block(a[start : start + BLOCK], b[start : start + BLOCK], norm, terms)
        if norm == 1.0:
            total = max(total, term)
        else:
            total, error = _two_sum(total, term)
            lost += error
    return total + lost


@compiled()
def squared_distance(a, b):
    """|a - b|^2 within a relative ERROR."""
    return _length(a, b, 2.0)


@compiled()
def _dual(p, q, norm):
    """|p - q|_* within a relative ERROR, the dual of the l_1, l_2 or l_inf norm."""
    length = _length(p, q, norm)
    return np.sqrt(length) if norm == 2.0 else length


# --- margins: the distance to a bisector


@compiled()
def _bisector(x, p, q):
    """|x - q|^2 - |x - p|^2 within ERROR |p - q| (|x - p| + |x - q|)."""
    total, lost = 0.0, 0.0
    terms = np.empty(BLOCK)
    for start in range(0, x.size, BLOCK):
        u = x[start : start + BLOCK]
        v = p[start : start + BLOCK]
        w = q[start : start + BLOCK]
        for k in range(u.size):
            # from differences: 2 x - (p + q) would round at the size of x
            terms[k] = (v[k] - w[k]) * ((u[k] - v[k]) + (u[k] - w[k]))
        total, error = _two_sum(total, _sum(terms, u.size))
        lost += error
    return total + lost


@compiled()
def _two_product(a, b):
    """The product and its rounding error (Dekker), without a fused operation."""
    # 2^27 + 1 splits a double into halves whose products are exact
    scaled = 134217729.0 * a
    a_high = scaled - (scaled - a)
    scaled = 134217729.0 * b
    b_high = scaled - (scaled - b)
    a_low, b_low = a - a_high, b - b_high
    product = a * b
    rest = ((product - a_high * b_high) - a_low * b_high) - a_high * b_low
    return product, a_low * b_low - rest


@compiled()
def _sharp_bisector(x, p, q):
    """The same in doubled precision, for near ties: within 4 ((d + 8) EPS/2)^2."""
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
    return total + rest


@compiled()
def _margin(x, p, q, norm, sharp):
    """Bounds of r = (|x - q|^2 - |x - p|^2)/(2 |p - q|_*), the lower not below 0."""
    square = squared_distance(p, q)
    if not square > 1e-280:  # coincident, or too close for squares to keep their digits
        return 0.0, 0.0
    length = np.sqrt(square)
    reach = np.sqrt(squared_distance(x, p)) + np.sqrt(squared_distance(x, q))
    if sharp:
        gap, share = _sharp_bisector(x, p, q), 4 * ((x.size + 8) * EPS / 2) ** 2
    else:
        gap, share = _bisector(x, p, q), 2 * ERROR
    error = share * length * reach
    length = 2 * (length if norm == 2.0 else _dual(p, q, norm))
    return max((gap - error) / length * (1 - 2 * ERROR), 0.0), (gap + error) / length


@compiled()
def _reaches(p, q, norm, length):
    """Return whether |p - q|_* is at least ``length``, up to rounding.

    A few terms often decide it.
    """
    limit = length * length if norm == 2.0 else length
    reached = 0.0
    terms = np.empty(BLOCK)
    for start in range(0, p.size, BLOCK):
        part = _block(p[start : start + BLOCK], q[start : start + BLOCK], norm, terms)
        reached = max(reached, part) if norm == 1.0 else reached + part
        if reached >= limit:
            return True
    return False


@compiled()
def spreads(points, centre, norm, out):
    """Upper bounds of |p - centre|_* for each point.

    Two points are at most the sum of their bounds apart.
    """
    for i in range(points.shape[0]):
        out[i] = _dual(points[i], centre, norm) * (1 + 4 * ERROR)


# --- the anchors that may count, by their dot products


@compiled()
def _nearest(x, dots, points, squares, minima, slack):
    """Index of the nearest anchor (the first of equals) and its squared distance."""
    # twice the dot products' error above the least: every anchor that may be nearest
    limit = minima.min() + slack
    index, best = 0, np.inf
    for block in range(minima.size):
        if minima[block] <= limit:
            for j in range(block * BLOCK, min((block + 1) * BLOCK, dots.size)):
                if squares[j] - 2 * dots[j] <= limit:
                    square = squared_distance(x, points[j])
                    nearer = square < best * (1 - 4 * ERROR)
                    # a tie up to rounding: the first anchor stays, unless it is further
                    if not nearer and square <= best * (1 + 4 * ERROR):
                        nearer = _sharp_bisector(x, points[index], points[j]) < 0
                    if nearer:
                        index, best = j, square
    return index, best


@compiled()
def _nearest_rivals(dots, squares, minima, labels, own, rivals, values):
    """The anchors of another label with the least squares - 2 dots, and these values.

    Both are sorted by value.

    ``rivals`` is -1 and ``values`` inf where there are fewer.
    """
    rivals[:], values[:] = -1, np.inf
    for block in range(minima.size):
        if minima[block] < values[-1]:
            for j in range(block * BLOCK, min((block + 1) * BLOCK, dots.size)):
                value = squares[j] - 2 * dots[j]
                if value < values[-1] and labels[j] != own:
                    # insert: there are four, and most of them never move
                    at = values.size - 1
                    while at > 0 and values[at - 1] > value:
                        rivals[at], values[at] = rivals[at - 1], values[at - 1]
                        at -= 1
                    rivals[at], values[at] = j, value


@compiled()
def _guards(dots, squares, minima, labels, first, limit, guards, values):
    """Collect ``first`` and anchors of its label that are near, and their values.

    Near means squares - 2 dots < limit.
    """
    guards[0], values[0], count = first, squares[first] - 2 * dots[first], 1
    for block in range(minima.size):
        if minima[block] < limit:
            for j in range(block * BLOCK, min((block + 1) * BLOCK, dots.size)):
                value = squares[j] - 2 * dots[j]
                if value < limit and labels[j] == labels[first] and j != first:
                    guards[count], values[count] = j, value
                    count += 1
    return guards[:count], values[:count]


@compiled()
def _threshold(square, reach, stretch, best):
    """Squared distance from which no rival can have a margin below ``best``.

    (rho_j^2 - rho_i^2)/(2 |x_i - x_j|_*) is at least (rho_j^2 - rho_i^2)/(2 reach) and,
    as |x_i - x_j|_* <= stretch (rho_i + rho_j), at least (rho_j - rho_i)/(2 stretch).
    """
    by_box = square + 2 * reach * best
    by_triangle = (np.sqrt(square) + 2 * stretch * best) ** 2
    return min(by_box, by_triangle) * (1 + 1e-12)


@compiled()
def _best_margin(x, points, q, guards, values, above, limit, norm):
    """Largest margin against the rival q over the guards nearer than it.

    ``above - values`` is an upper bound of what squared distances gain from guard to
    rival, above 0 for the nearer guards. Stops once the margin reaches ``limit``. The
    guard that gives it moves to the front: it is often the best one against the next
    rival too. A guard left out because of rounding can only make the radius smaller, by
    as much.
    """
    best = 0.0
    winner = 0
    for i in range(guards.size):
        if best >= limit:
            break
        p = guards[i]
        gain = above - values[i]
        if gain < 0:
            continue  # no guard: it is further than the rival
        if best > 0 and _reaches(points[p], points[q], norm, gain / (2 * best)):
            continue  # so far from the rival that its margin is not above the best
        lower, upper = _margin(x, points[p], points[q], norm, False)
        # near a bisector most digits of the margin cancel: only then is it worth twice
        # the precision, and only where it can still change the best
        if lower < limit and upper > best and upper - lower > 5e-12 * upper:
            lower = _margin(x, points[p], points[q], norm, True)[0]
        if lower > best:
            best = lower
            winner = i
    guards[0], guards[winner] = guards[winner], guards[0]
    values[0], values[winner] = values[winner], values[0]
    return best


# --- what anchors.py calls


@compiled()
def begin(x, products, anchors, box, norm, tight, starts):
    """Fill ``starts``; see the tuples of these names in anchors.py.

    ``best`` is NaN where x has NaN; without a rival it is inf and the limit -inf.
    """
    points, squares, labels = anchors
    low, high = box
    stretch = np.sqrt(x.shape[1]) if norm not in (1.0, 2.0) else 1.0
    rivals, values = np.empty(SEEDS, np.int64), np.empty(SEEDS)
    room = np.empty(squares.size, np.int64), np.empty(squares.size)
    for row in range(x.shape[0]):
        starts.best[row] = np.nan
        starts.limit[row] = -np.inf
        if not products.slacks[row] < np.inf:
            continue  # x has NaN
        slack = products.slacks[row]
        dots = products.dots[row]
        least = products.minima[row]
        nearest, square = _nearest(x[row], dots, points, squares, least, slack)
        starts.nearest[row] = nearest
        starts.guard[row] = nearest
        best = np.inf
        _nearest_rivals(dots, squares, least, labels, labels[nearest], rivals, values)
        # Every anchor of the label that is nearer than a rival guards against it, and
        # the largest of their margins counts; the nearest anchor alone is a bound too.
        furthest = -np.inf
        if tight and rivals[0] >= 0:
            furthest = values[values < np.inf].max() + slack
        guards, near = _guards(dots, squares, least, labels, nearest, furthest, *room)
        for rival, value in zip(rivals, values):  # noqa: B905
            if rival >= 0:
                above = value + slack
                margin = _best_margin(
                    x[row], points, rival, guards, near, above, best, norm
                )
                if margin < best:
                    best, starts.guard[row] = margin, guards[0]
        starts.best[row] = best
        if rivals[0] >= 0:
            # less than |x|^2, so that products give less than distances
            shift = (x[row] * x[row]).sum() - slack
            own = points[nearest]
            # the corner of the box that is furthest from the nearest anchor
            corner = np.where(high - own > own - low, high, low)
            reach = _dual(own, corner, norm) * (1 + 4 * ERROR)
            starts.floor[row] = square * (1 + 2 * ERROR) - shift
            starts.limit[row] = _threshold(square, reach, stretch, best) - shift


@compiled()
def refine(x, products, anchors, norm, tight, starts, rivals):
    """Lower starts.best to the least margin, over rivals in the order of their rows."""
    points, squares, labels = anchors
    room = np.empty(squares.size, np.int64), np.empty(squares.size)
    guards, values = room
    last = -1
    for row, j, ratio in zip(rivals.row, rivals.anchor, rivals.ratio):  # noqa: B905
        best = starts.best[row]
        dots = products.dots[row]
        # cheapest first: the sieve's ratio was kept under an older, larger best
        if ratio >= best:
            continue
        value = squares[j] - 2 * dots[j]
        gap = (value - starts.floor[row]) / 2 * (1 - 4 * ERROR)
        # the margin against the nearest anchor is not below the best
        if gap >= best * _dual(points[starts.nearest[row]], points[j], norm):
            continue
        slack = products.slacks[row]
        if last != row:  # the guards are the same for all rivals of a row
            last = row
            limit = starts.limit[row] + slack if tight else -np.inf
            least = products.minima[row]
            guards, values = _guards(
                dots, squares, least, labels, starts.guard[row], limit, *room
            )
        margin = _best_margin(
            x[row], points, j, guards, values, value + slack, best, norm
        )
        starts.best[row] = min(margin, best)


@compiled()
def knn_means(x, products, points, squares, k, skip, out):
    """Fill ``out`` with each row's mean distance to its k nearest anchors.

    Row r leaves out anchor skip + r, unless skip is -1.
    """
    rough, exact = np.empty(k), np.empty(k)
    for row in range(x.shape[0]):
        if not products.slacks[row] < np.inf:
            continue
        dots = products.dots[row]
        least = products.minima[row]
        left_out = skip + row if skip >= 0 else -1
        _rough_least(dots, squares, least, left_out, rough)
        limit = rough[0] + products.slacks[row]
        _exact_least(x[row], points, dots, squares, least, left_out, limit, exact)
        total = 0.0
        for square in exact:
            total += np.sqrt(square)
        out[row] = total / k


@compiled()
def _rough_least(dots, squares, minima, left_out, rough):
    """Fill ``rough``, a heap, with the least squares - 2 dots."""
    rough[:] = np.inf
    for block in range(minima.size):
        if minima[block] < rough[0]:
            for j in range(block * BLOCK, min((block + 1) * BLOCK, squares.size)):
                if j != left_out:
                    _keep_least(rough, squares[j] - 2 * dots[j])


@compiled()
def _exact_least(x, points, dots, squares, minima, left_out, limit, exact):
    """Fill ``exact``, a heap, with the least squared distances of the near anchors.

    Near are those whose squares - 2 dots are at most ``limit``.
    """
    exact[:] = np.inf
    for block in range(minima.size):
        if minima[block] <= limit:
            for j in range(block * BLOCK, min((block + 1) * BLOCK, squares.size)):
                if squares[j] - 2 * dots[j] <= limit and j != left_out:
                    _keep_least(exact, squared_distance(x, points[j]))


@compiled()
def _keep_least(heap, value):
    """Put ``value`` in the place of the largest, heap[0], if it is smaller."""
    if not value < heap[0]:
        return
    hole = 0
    while True:
        child = 2 * hole + 1
        if child + 1 < heap.size and heap[child + 1] > heap[child]:
            child += 1
        if child >= heap.size or heap[child] <= value:
            break
        heap[hole] = heap[child]
        hole = child
    heap[hole] = value
