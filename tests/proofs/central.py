"""The central law of central.hpp, a whole number of degrees of freedom; derived in
docs/theory/off-centre-ball.md, "The central law".

Errors are relative, in units of 2^-53: every rounding counts in full.
"""

import math
from collections.abc import Iterator
from itertools import pairwise

from flint import arb

from .balls import literal, named, numbers, require
from .rounding import U, mills

# The exponential of twofold.hpp, 7e-17, and 2e-19 of the exponent or of the product of
# powers; the last rounding
EXPONENTIAL, LAST = arb("7.02e-17") / U, 1
# Of a factor: y lacks its low part (Marcum's), and there is a division. Of a product,
# of a sum. The outermost factor, product and sum are in two doubles.
LOW, DIVISION, PRODUCT, SUM = 1, 1, 1, 1


def table(most: int) -> None:
    """1/Gamma(k/2) in two doubles, for all k that are asked for."""
    entries = numbers("central.hpp", "inline Sum2 rgamma_half(int k)")
    require(len(entries) >= most + 2, "1/Gamma of so many halves")
    for k, (high, low) in enumerate(entries[: most + 2], 1):
        exact = (arb(k) / 2).rgamma()
        require(abs(arb(high) + arb(low) - exact) < exact * 2.0**-104, f"entry {k}")


def start() -> arb:
    """H_(1/2) = z M(z), z >= 1: z has a rounding and lacks a low part, its product one,
    and the logarithm of z M(z) rises with that of z by less than 1.
    """
    ends = [1.02**i for i in range(190)]
    ends += [ends[-1] * 1.1**i for i in range(1, 1420)]  # to 1e60
    errors = []
    for low, high in pairwise(ends):
        m = mills(arb(low).union(arb(high)))
        # M falls with z
        errors.append((m.error / mills(arb(high)).value.lower()).upper())
    return max(errors, key=float) / U + 3


def nested(factors: list[arb], last: arb, wrong: arb) -> tuple[arb, arb]:
    """1 + c_0 (1 + c_1 (... (1 + c_n last))) and its error, where `last` has that
    one.
    """
    value, error = last, wrong
    for k, factor in reversed(list(enumerate(factors))):
        share = factor * value / (1 + factor * value)
        value = 1 + factor * value
        inner = LOW + error
        error = share * inner if k == 0 else share * (inner + DIVISION + PRODUCT) + SUM
    return value, error


def finished(value: arb, error: arb, cut: arb) -> arb:
    """The error of e^exponent times such a sum, of which `cut` is left out."""
    products = 1 + arb("1e-12")  # of two errors
    return U * (error * products + cut / (value * U) + EXPONENTIAL + LAST)


def product_of(factors: list[arb]) -> arb:
    product = arb(1)
    for factor in factors:
        product *= factor
    return product


def lower(a: arb, terms: int) -> arb:
    """S at y = a."""
    factors = [a / (a + k) for k in range(1, terms + 1)]
    value, error = nested(factors, arb(1), arb(0))
    after = a / (a + terms + 1)
    cut = product_of(factors) * after / (1 - after)
    require(cut < 1e-17 * value, f"{terms} terms of S")
    return finished(value, error, cut)


def upper(a: arb, steps: int, half: arb | None) -> arb:
    """H_a at y = a: so many steps down to H_1, or to H_(1/2), which has the error
    `half`.
    """
    factors = [(a - k) / a for k in range(1, steps + 1)]
    if half is None:
        return finished(*nested(factors, arb(1), arb(0)), arb(0))
    first = a.sqrt().erfc() * a.exp() * (arb.pi() * a).sqrt()
    return finished(*nested(factors, first, half), arb(0))


def tails() -> Iterator[arb]:
    """Of both tails. The share of a sum's later terms is greatest at y = a: it rises
    with y in S, and falls in H.
    """
    most = int(named("central.hpp", "central_most"))
    constant = literal("central.hpp", r"return int\((\d+) \+ std::sqrt\(\d+ \* a\)")
    slope = literal("central.hpp", r"return int\(\d+ \+ std::sqrt\((\d+) \* a\)")
    table(most)
    half = start()
    for df in range(1, most + 1):
        a = arb(df) / 2
        terms = int(constant + math.sqrt(slope * df / 2))
        yield lower(a, terms)
        yield upper(a, (df - 1) // 2, half if df % 2 else None)
