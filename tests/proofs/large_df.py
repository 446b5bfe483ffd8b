"""The central law of large_df.hpp; derived in docs/theory/large-df.md.

G, the header's approximation of S/sqrt(2 pi), misses S's differential equation

    h S' - eta S = 1 - f/Gamma*,  h = 1/a,  f = eta/tau,

by its defect D. That is a polynomial in h, but for a remainder, whose coefficients are
functions of tau. Beyond the header's reach the formal solution takes its place.
"""

from collections.abc import Iterator
from functools import cache
from itertools import zip_longest

from flint import arb, arb_series

from .balls import DEEPEST, literal, named, numbers, polynomial, require
from .rounding import Rounded, U, constant, pieces

Table = list[list[arb]]  # a row for each power of h: coefficients of powers of eta

TERMS = 24  # of Taylor's polynomials on a box
ORDERS = 12  # of 1/Gamma*, one more than of the formal solution
POWERS = 90  # of eta in that
BEYOND = 2.1  # |eta| where it ends: e^(-a (eta^2 - reach^2)/2) is left there
GOOD = 4e-17  # a defect that need not be bounded better
# Of the exponent, 2e-18, and of its exponential, 7e-17; the last rounding
EXPONENTIAL, LAST = arb("7.2e-17"), U
# Products of two errors, and the roundings of low parts
FINE = arb("1e-29")
ROOT, SHARE = 4 * U, 5 * U  # relative errors of eta and of h


def root_2pi() -> arb:
    return (2 * arb.pi()).sqrt()


def least_a() -> arb:
    return arb(named("central.hpp", "central_most")) / 2


def reach() -> arb:
    return arb(named("large_df.hpp", "uniform_reach")) / least_a().sqrt()


@cache
def stirling() -> tuple[list[arb], arb]:
    """ORDERS coefficients of 1/Gamma* in h, and the most that the rest is."""

    def series(h: arb) -> arb_series:
        x, total = arb_series([h, 1], ORDERS + 1), arb_series([0], ORDERS + 1)
        for k in range(ORDERS, 0, -1):
            total = total * x * x + arb.bernoulli(2 * k) / (2 * k * (2 * k - 1))
        return (-total * x).exp()

    first, box, k = series(arb(0)), series(arb(0).union(1 / least_a())), ORDERS + 1
    # the logarithm's series: the first term left out is more than all of the rest
    left_out = abs(arb.bernoulli(2 * k)) / (2 * k * (2 * k - 1))
    rest = abs(box[ORDERS]) / least_a() ** ORDERS
    rest += 2 * left_out / least_a() ** (2 * k - 1)
    return [first[j] for j in range(ORDERS)], rest


@cache
def chebyshev_rows(count: int) -> Table:
    """x^j on [0, 1] in shifted Chebyshev polynomials, a row for each j: x T_k is
    (T_(k+1) + 2 T_k + T_(k-1))/4.
    """
    rows = [[arb(1)]]
    for _ in range(count - 1):
        more = [arb(0)] * (len(rows[-1]) + 1)
        for k, c in enumerate(rows[-1]):
            more[k] += c / 2
            more[k + 1] += c / (4 if k else 2)
            if k:
                more[k - 1] += c / 4
        rows.append(more)
    return rows


def size_in_h(coefficients: list[arb_series], radius: arb) -> arb:
    """The most that a polynomial in h of these coefficients is for 0 <= h <= 1/a, by
    TERMS terms of the coefficients about a middle.
    """
    count, top = len(coefficients), 1 / least_a()
    sums = [coefficients[0] * 0 for _ in range(count)]
    for j, row in enumerate(chebyshev_rows(count)):
        for k, share in enumerate(row):
            sums[k] += coefficients[j] * (share * top**j)
    return sum((abs(s[n]) * radius**n for s in sums for n in range(TERMS)), arb(0))


def slope(tau: arb_series) -> arb_series:
    """f, below sqrt(2 pi) for |eta| <= BEYOND."""
    if not abs(tau[0]) < 0.25:
        return (2 * (tau - (1 + tau).log()) / (tau * tau)).sqrt()
    total = tau * 0
    for n in range(60, -1, -1):
        total = total * -tau + arb(2) / (n + 2)
    return (total + arb(0, 1e-30)).sqrt()


def defect(table: Table, tau: arb_series) -> list[arb_series]:
    f = slope(tau)
    eta = tau * f
    out = [tau * 0 for _ in range(max(len(table) + 1, ORDERS))]
    for j, row in enumerate(table):
        out[j] -= eta * polynomial(row, eta)
        out[j + 1] += polynomial([n * c for n, c in enumerate(row)][1:], eta)
    for j, share in enumerate(stirling()[0]):
        out[j] += (f * share - (0 if j else 1)) / root_2pi()
    return out


def about(middle: arb) -> arb_series:
    return arb_series([middle, 1], TERMS + 1)


def last_term(table: Table, box: arb) -> arb:
    """The size of the coefficients that bound Taylor's remainder on the box."""
    try:
        found = defect(table, about(box))
    except ValueError:  # a division by a ball that holds 0
        return arb("inf")
    return sum((abs(d[TERMS]) / least_a() ** j for j, d in enumerate(found)), arb(0))


def largest_defect(table: Table, low: arb, high: arb) -> arb:
    """Over all h, and tau in an interval that is halved until GOOD is enough."""
    _, rest = stirling()
    largest, todo = arb(0), [(low, high, 0)]
    while todo:
        start, end, depth = todo.pop()
        middle, radius = ((start + end) / 2).mid(), ((end - start) / 2).upper()
        size = rest + size_in_h(defect(table, about(middle)), radius)
        size += last_term(table, arb(middle, radius)) * radius**TERMS
        if size < GOOD:
            largest = largest.max(size.upper())
            continue
        require(depth < DEEPEST, f"a defect below {GOOD} at tau = {middle}")
        todo += [(start, middle, depth + 1), (middle, end, depth + 1)]
    return largest


def tau_of(eta: arb) -> arb:
    if eta == 0:
        return eta
    up = eta > 0
    low, high = (arb(0), arb(40)) if up else (arb("-0.999999"), arb(0))
    for _ in range(150):
        middle = ((low + high) / 2).mid()
        far = 2 * (middle - (1 + middle).log()) > eta * eta
        low, high = (low, middle) if far == up else (middle, high)
    return low.union(high)


def between(one: arb, other: arb) -> tuple[arb, arb]:
    """The interval of tau between two values of eta, or a little more."""
    low, high = sorted((one, other), key=float)
    return tau_of(low).lower(), tau_of(high).upper()


@cache
def formal() -> Table:
    """S/sqrt(2 pi) order by order: tau tau' = eta (1 + tau) gives tau and f as power
    series of eta, and each order divides by eta.
    """
    count = POWERS + ORDERS
    t = [arb(0), arb(1)]
    for n in range(2, count + 2):
        known = sum((t[i] * (n + 1 - i) * t[n + 1 - i] for i in range(2, n)), arb(0))
        t.append((t[n - 1] - known) / (n + 1))
    f = [arb(1)]
    for n in range(1, count + 1):
        f.append(-sum((t[i + 1] * f[n - i] for i in range(1, n + 1)), arb(0)))
    table: Table = []
    for j, share in enumerate(stirling()[0][:-1]):
        before = table[-1] if j else []
        rest = [n * c for n, c in enumerate(before)][1:] or [arb(0)] * count
        rest = [r + f[n] * share / root_2pi() for n, r in enumerate(rest)]
        rest[0] -= 0 if j else 1 / root_2pi()
        table.append(rest[1:])
    return table


def columns() -> Table:
    text = "inline double uniform_rest(double eta, double h)"
    both = (numbers("large_df.hpp", text, skip=skip) for skip in (0, 1))
    return [[arb(c) for c in row] for part in both for row in zip(*part, strict=True)]


def size_at(table: Table, eta: arb, other: Table | None = None) -> arb:
    """The most that G is there, for all h, or its difference from another's."""
    pairs = zip_longest(table, other or [], fillvalue=[0])
    values = [polynomial(a, eta) - polynomial(b, eta) for a, b in pairs]
    return size_in_h([arb_series([v], TERMS + 1) for v in values], arb(0))


@cache
def approximation() -> tuple[arb, arb]:
    """|G - S|/sqrt(2 pi a) is at most the first of M/sqrt(2 pi) and the second."""
    own, outer = columns(), formal()
    share, rest = arb(0), arb(0)
    for side in (-1, 1):
        edge, beyond = side * reach(), arb(side * BEYOND)
        inside = largest_defect(own, *between(arb(0), edge))
        after = largest_defect(outer, *between(edge, beyond))
        share = share.max(((inside + after) * root_2pi()).upper())
        jump = size_at(own, edge, outer) / least_a().sqrt()
        # tails are below e^phi0, and so is |S|/sqrt(2 pi a) below 1
        end = 1 + size_at(outer, beyond) / least_a().sqrt()
        end *= (-(beyond**2 - edge**2) * least_a() / 2).exp()
        rest = rest.max((jump + end).upper())
    return share, rest


def sums(rows: list[list[float]], x: Rounded, step: Rounded) -> list[Rounded]:
    """Each column's polynomial in `step`, one after the other from the last row."""
    out = [constant(c) for c in rows[-1]]
    for row in reversed(rows[:-1]):
        out = [s * step + constant(c) for s, c in zip(out, row, strict=True)]
    return out


def mills(z: arb) -> Rounded:
    """near_mills, M(z)/sqrt(2 pi), with its formula's 3e-17 (claim mills (near))."""
    rows = numbers("large_df.hpp", "inline Sum2 near_mills(Sum2 z)")
    r = 1 / (5 + z)
    x = constant(r - arb(literal("large_df.hpp", r"r - ([\d.]+);  // exact")))
    square = x * x
    c = sums(rows, x, square * square)
    slow, fast = c[1] * x + c[0], c[3] * x + c[2]
    rest = x * (fast * square + slow)
    ends = [v / arb(2).sqrt() for v in (z.lower(), z.upper())]
    low, high = (v.erfc() * (v * v).exp() / 2 for v in ends)
    value = low.union(high)
    return Rounded(value, r * rest.error + arb("3e-17") * value + FINE)


def uniform_rest(eta: arb) -> Rounded:
    text = "inline double uniform_rest(double eta, double h)"
    low, high = (numbers("large_df.hpp", text, skip=skip) for skip in (0, 1))
    x = Rounded(eta, ROOT * abs(eta))
    box = arb(0).union(1 / least_a())
    h = Rounded(box, SHARE * box)
    powers = [constant(1), h, h * h, h * h * h]
    square, parts = x * x, []
    for rows in (low, high):
        last = len(rows) - 1
        even = sums(rows[: last + 1 - last % 2 : 2], x, square)
        odd = sums(rows[1 : last + last % 2 : 2], x, square)
        parts.append([o * x + e for o, e in zip(odd, even, strict=True)])
    fourth = h * h * (h * h)
    both = [(b * fourth + a) * p for a, b, p in zip(*parts, powers, strict=True)]
    return (both[0] + both[2]) + (both[1] + both[3])


def tails() -> Iterator[arb]:
    """The error of the small tail, for boxes of z and 1/sqrt a, and both sides."""
    for pattern, end in ((r"> (-[\d.]+) &&", -1), (r"tau.hi < ([\d.]+)\)\)", 1)):
        tau = literal("large_df.hpp", rf"tau.hi {pattern}" if end < 0 else pattern)
        require(end * tau > end * tau_of(end * reach()), "what is far by tau alone")
    share, rest = approximation()
    most = named("large_df.hpp", "uniform_reach")
    widest = float((1 / least_a().sqrt()).upper())
    for z in pieces(0, most, 60):
        m = mills(z)
        for v in pieces(0, widest, 6):
            for side in (-1, 1):
                s = Rounded(v, 3 * U * v) * uniform_rest(side * z * v)
                require(abs(s.value) < m.value, "the order of a fast sum")
                total = (m.value + side * s.value).lower()
                error = m.error + s.error + share * m.value + rest
                yield error / total + EXPONENTIAL + LAST + FINE


def stirling_share() -> Iterator[arb]:
    """The polynomial for 1/Gamma*, which is above .997."""
    [c] = numbers("large_df.hpp", "inline double stirling_share(double h)")
    shares, rest = stirling()
    missed = [
        arb_series([share - root_2pi() * arb(own)], TERMS + 1)
        for share, own in zip_longest(shares, c, fillvalue=0.0)
    ]
    yield (size_in_h(missed, arb(0)) + rest) / arb("0.997")


def near_mills(x: arb_series) -> arb_series:
    """The formula's relative error, r = x + the middle."""
    text = "inline Sum2 near_mills(Sum2 z)"
    rows = numbers("large_df.hpp", text)
    [middle] = numbers("large_df.hpp", text, skip=1)
    r = x + arb(literal("large_df.hpp", r"r - ([\d.]+);  // exact"))
    v = (1 / r - 5) / arb(2).sqrt()
    rest = polynomial([c for row in rows for c in row], x)
    own = r * (x * rest + arb(middle[0]) + arb(middle[1]))
    return own / ((v * v).exp() * v.erfc() / 2) - 1
