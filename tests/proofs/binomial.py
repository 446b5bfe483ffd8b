"""Rounding of a node of the binomial tail, over what `node_error` allows for it.

In units of 2^-53; the counts are derived in docs/theory/confidence.md ("The binomial
tail"). What a node has that does not grow with j theta is itemised here, and so is the
number of additions that its term goes through, as few counts have few nodes.
"""

import math
from collections.abc import Iterator
from itertools import pairwise

from flint import arb

from .balls import literal, named, require
from .contour import hull
from .rounding import U

# Of the quotients of w, relative to their parts: 1 - 1/r has 4 and 1/r 4; the
# numerators with their product 10, the denominator 10, the quotient 1
QUOTIENTS = 21
# theta, and the sine and the cosine of its half
THETA, LIBRARY = arb("2.4"), 4
# The sum with v, the two products, their sum; cosine, exponential and the last product
PRODUCTS = 12
# Over j theta: the angle's 16, with 9 for the nodes' own place. Of the exponent: 24
ANGLE, EXPONENT = 25, 24


def nodes() -> Iterator[arb]:
    """Counts over what is allowed, for j >= 1, whole or above 60, and all theta."""
    allowed = arb(named("binomial.hpp", "node_error")) / U
    room = literal("binomial.hpp", r"constexpr int most_binomial_nodes = (\d+);")
    for j, share in cases():
        rule, count = half(j, share)
        require(count <= room, f"{room:g} nodes")
        first = (arb.pi() / (2 * rule)).lower()
        cells = 6 * math.ceil(math.log(math.pi / float(first)))
        edges = [
            first * (arb.pi() / first) ** (arb(i) / cells) for i in range(cells + 1)
        ]
        for low, high in pairwise(edges):
            theta = hull(low.lower(), high.upper().min(arb.pi()))
            before = (theta.lower() * rule / arb.pi()).floor()
            additions = (count - 1 - before).max(arb(1))
            used = QUOTIENTS + sines(theta) + PRODUCTS + additions
            # both grow with j theta/(1 - a), and a = 0 leaves the least room
            angle = j * theta.lower() * (allowed - ANGLE)
            exponent = j * EXPONENT * (1 - theta.upper().cos())
            yield (used / (allowed + angle - exponent)).upper()


def sines(theta: arb) -> arb:
    """What the error of theta, and those of its functions, are worth in w."""
    end = theta.upper()
    # |theta dw/dtheta| over |w| is theta over |1 - 1/z|
    steep = end / end.sin() if end < arb("1.5") else end
    tangent = (end / 2).tan()
    if not end < arb("1.5"):
        return steep * THETA + 4 * LIBRARY  # twice a square, in both parts
    as_angle = steep * LIBRARY * 2 * tangent / end + LIBRARY * tangent**2
    return steep * THETA + as_angle.min(arb(4 * LIBRARY))


def cases() -> Iterator[tuple[arb, arb]]:
    """(j, p): the smaller count, and its share of n."""
    for i in range(4):
        share = hull(arb(i) / 8, arb(i + 1) / 8)
        for j in range(1, 60):
            yield arb(j), share
        for k in range(625):
            yield hull(60 * 1.05**k, 60 * 1.05 ** (k + 1)), share


def half(j: arb, p: arb) -> tuple[arb, arb]:
    """The number of nodes of the rule, and of those that the sum goes through."""
    aim = arb(named("binomial.hpp", "alias_exponent"))
    steep = arb(literal("binomial.hpp", r"delta = ([\d.]+) / \(std::sqrt"))
    flat = arb(literal("binomial.hpp", r"\(1 - p\)\) \+ ([\d.]+)\);"))
    delta = steep / ((j * (1 - p)).sqrt() + flat)
    # n log(1 + p (e^d - 1)) <= j (e^d - 1), for either sign of d
    # and both rise with d
    end = delta.upper()
    above = j * (end.exp() - 1 - end)
    below = j * ((-end).exp() - 1 + end)
    rule = (aim + max(above.upper(), below.upper(), key=float)) / (2 * delta) + 1
    # the exponent is at least 2 j (1 - p) sin^2(theta/2) >= 2 j (1 - p) (theta/pi)^2
    last = aim + (2 * rule).log()
    end = (last / (2 * j * (1 - p))).sqrt() * rule + 2
    return rule.upper(), min(rule.upper(), end.upper(), key=float)
