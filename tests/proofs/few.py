"""The series of small_df.hpp, fewer than one degree of freedom; derived in
docs/theory/small-df.md.

Errors are relative, in units of 2^-53: every rounding counts in full.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise

from flint import arb

from .balls import numbers, polynomial
from .contour import hull
from .rounding import U, constant, horner, pieces

# y^mu; e^-(h + y), in two parts where it underflows; a function of the C library
POWER, OUTER, LIBRARY = 9, 27, 4


def index(growth: Callable[[int], arb], first: int) -> tuple[arb, int]:
    """Of positive terms whose ratios are at most that: the mean index, the additions
    that count.
    """
    term, total, weighted, k, small, count = (
        arb(1),
        arb(0),
        arb(0),
        first,
        arb(1),
        first,
    )
    while k < 200:
        total, weighted = total + term, weighted + k * term
        if growth(k) > 1 or small > U / 10:
            small, count = small * growth(k).min(1), k + 1
        term, k = term * growth(k), k + 1
    return (weighted / total).upper() + arb("1e-9"), count


def near(mu: arb, g: arb, y: arb) -> arb:
    """Q(mu, y) e^y/mu for y < 3/4, by the sum of three terms of which the first is the
    largest.
    """
    [c] = numbers("small_df.hpp", "inline double rgamma_defect(double a)")
    s, short = arb(1), -y.upper().log()
    # y^mu over (1 - y^mu)/mu, which falls with mu and with -log y
    rise = mu.lower().max(0) * short
    least = (rise / rise.expm1() if rise > 1e-9 else arb(1)) / short
    most = hull(0, least)
    if y > 0:
        long = mu.upper() * -y.lower().log()
        most = hull(long / long.expm1() / -y.lower().log(), least)
    rgamma, t, wrong, partial = 1 + mu * g, arb(0), arb(0), arb(0)
    for n in range(1, 26):
        s = -s * y / n
        size = abs(s / (mu + n)).upper()
        t += s / (mu + n)
        partial = max(partial, abs(t).upper(), key=float)
        wrong += (2 * n + 2) * size + min(partial, size / U, key=float)
    t += arb(0, 1) * size
    off = horner(c, constant(mu)).error / U
    both = g + rgamma * t
    wrong = (
        off
        + abs(rgamma) * wrong
        + abs(rgamma * t) * (mu * off + 3)
        + abs(both) * (2 + POWER)
    )
    return (9.5 + most * wrong) / (1 - most * both) + 2 + LIBRARY


def fraction(mu: arb, y: arb) -> arb:
    """The same for y >= 3/4, by the continued fraction: its rounding, and what is cut
    off.
    """
    top, least = y.upper(), y.lower()
    last = 6 + int(float(104 / top) * (1 - 1e-12)) if top < 1e9 else 6
    begin = last + 2  # it may have one more
    f = hull(begin - 1 + least, top - 1 - mu + 2 * begin) if top < 1e9 else None
    wrong, cut = arb(2), arb(1)
    for k in range(begin - 1, 0, -1):
        if f is None:  # y from there on: k - 1 + y is less than it, and its terms fall
            rho = k * k / ((least + k - 1) * (least + k))
            wrong = 3 + 2 + 5 * rho + rho * wrong
        else:
            b, before = y - 1 - mu + 2 * k, f
            less = k * (k - mu) / before
            low = (b - less).lower().max((k - 1 + least).lower())
            f = hull(low, (b - less).upper())
            rho = (k * (k - mu) / (low * before.lower())).upper()
            wrong = (
                (abs(y - 1) + abs(b - 2 * k) + abs(b) + 3 * less) / low
                + 1
                + rho * wrong
            )
        if k <= last:
            cut *= rho
        wrong = wrong.upper()
    return wrong + 2 * cut / U + POWER + 6


def gamma() -> Iterator[arb]:
    """Q(mu, y) e^y/mu by small_gamma_q."""
    [c] = numbers("small_df.hpp", "inline double rgamma_defect(double a)")
    ends = [0.75 * 1.15**-i for i in range(100)] + [0]
    for mu in pieces(0, 0.5, 10):
        middle = mu.mid()
        steep = abs(polynomial([k * v for k, v in enumerate(c)][1:], mu))
        g = polynomial(c, middle) + arb(0, 1) * steep * mu.rad()
        for high, low in pairwise(ends):
            yield near(mu, g, hull(low, high))
        y = arb("0.75")
        while y < 104:
            yield fraction(mu, hull(y, y * 1.02))
            y = (y * 1.02).mid()
        yield fraction(mu, hull(104, 1e9 + 1))


def tails() -> Iterator[arb]:
    """Of a tail and of the density."""
    each = [value.upper() for value in gamma()]
    base = max(each, key=float)
    # y at most 6, or h at most 7, where a tail is above 1/2 on that side of h
    # (Cantelli); hy < 16
    mean, adds = index(lambda k: (6 + arb(16) / (k + 1)) / (k + 1), 0)
    yield U * (8 * mean + 3 + adds + POWER + 8 + OUTER)
    mean, adds = index(lambda k: (7 + arb(16) / k) / (k + 1), 1)
    yield U * (8 * mean + 3 + adds + base + 7 + OUTER)
    mean, adds = index(lambda k: arb(16) / (k * (k + 1)), 1)
    yield U * (5 * mean + 3 + adds + POWER + 8 + OUTER)
