"""Constants that formulas rest on, against what they stand for: the nearest doubles, or
two and three doubles together.
"""

import math
from collections.abc import Iterator

from flint import arb

from .balls import literal, named, numbers

NEAREST, ROUND = arb(2) ** -53, r"([-+\w.]+)"


def whole() -> Iterator[tuple[float, arb]]:
    """One double each: the nearest."""
    pi = arb.pi()
    yield named("normal.hpp", "sqrt_2pi"), (2 * pi).sqrt()
    yield named("normal.hpp", "log_sqrt_2pi"), (2 * pi).log() / 2
    yield named("contour.hpp", "pi"), pi
    yield named("normal.hpp", "log_central"), arb("0.075").log()
    yield named("twofold.hpp", "ln2"), arb(2).log()
    border = named("normal.hpp", "log_upper")
    yield border, arb("0.925").log()
    yield literal("normal.hpp", rf"= z\[i\] \* {ROUND};"), 1 / arb(2).sqrt()
    yield literal("normal.hpp", rf"= {ROUND} \*\s+\(\(t\[i\] \* b1"), (pi / 2).sqrt()
    cubic = literal("normal.hpp", rf"v \* \({ROUND} \+ v \* rational")
    yield cubic, (2 * pi) ** arb("1.5") / 6


def pairs() -> Iterator[tuple[list[float], arb, arb]]:
    """Several doubles, what their sum is, and how near it must be, relative."""
    pi, ln2 = arb.pi(), arb(2).log()
    low = literal("normal.hpp", rf"q\.hi \* {ROUND} \+ q\.lo")
    yield [named("normal.hpp", "sqrt_2pi"), low], (2 * pi).sqrt(), arb(2) ** -105
    low = named("twofold.hpp", "ln2_low")
    yield [named("twofold.hpp", "ln2"), low], ln2, arb(2) ** -105
    third = literal("twofold.hpp", rf"third = {{0\.3333333333333333, {ROUND}}}")
    yield [0.3333333333333333, third], arb(1) / 3, arb(2) ** -105
    fifth = literal("twofold.hpp", rf"polynomial<11>\(c \+ 1, v\), {ROUND}\)")
    yield [0.2, fifth], arb(1) / 5, arb(2) ** -105
    two = [literal("contour.hpp", rf"{name} = {ROUND} \*") for name in ("high", "low")]
    yield two, 2 / pi, arb(2) ** -78
    # Reductions: their last part is what remains to be wrong, times at most 1e5 or 2^11
    parts = [
        literal("simd.hpp", rf"r = \(\(x - n \* {ROUND}\) - n"),
        literal("simd.hpp", rf"r = \(\(x - [^)]+\) - n \* {ROUND}\) -\s+n"),
        literal("simd.hpp", rf"r = \(\(x - [^)]+\) - [^)]+\) -\s+n \* {ROUND};"),
    ]
    yield parts, pi, arb(2) ** -119
    yield (
        [
            literal("simd.hpp", rf"r = \(x - n \* {ROUND}\) - n"),
            literal("simd.hpp", r"r = \(x - n \* [-+\w.]+\) - n \* ([-+\w.]+);"),
        ],
        ln2,
        arb(2) ** -97,
    )
    yield (
        [
            literal("twofold.hpp", rf"two_sum\(k \* {ROUND}, k"),
            literal("twofold.hpp", rf"p-1, k \* {ROUND}\)"),
        ],
        ln2,
        arb(2) ** -97,
    )


def constants() -> Iterator[arb]:
    """Errors over what is claimed; 1/2 ulp for a single double."""
    for value, exact in whole():
        yield abs(arb(value) - exact) / (math.ulp(value) / 2)
    for values, exact, within in pairs():
        yield abs(sum(map(arb, values), arb(0)) / exact - 1) / within
    # Gauss-Legendre: three nodes and nine on [0, 1], eight on [-1, 1]
    node, weight = (
        numbers("gain.hpp", "double mean_of(F f, bool nine)", skip=k)[0] for k in (0, 1)
    )
    middle = literal("gain.hpp", rf"double mean = {ROUND} \* f\(0\.5\);")
    ends = [
        literal("gain.hpp", rf"5 \* f\({ROUND}\) \+ 8"),
        literal("gain.hpp", rf"\+ 5 \* f\({ROUND}\)"),
    ]
    exact = [arb.legendre_p_root(3, k, weight=True)[0] for k in (0, 2)]
    for x, at in zip(sorted(ends, reverse=True), exact, strict=True):
        yield abs((1 + at) / 2 - x) / NEAREST
    for k, (x, w) in enumerate(zip(node, weight, strict=True)):
        at, size = arb.legendre_p_root(9, 8 - k, weight=True)
        yield abs((1 + at) / 2 - x) / NEAREST
        yield abs(size / 2 / w - 1) / (2 * NEAREST)
    yield abs(arb.legendre_p_root(9, 4, weight=True)[1] / 2 / middle - 1) / (
        2 * NEAREST
    )
    for name, size in (("Masses affine_masses", 20), ("rough_affine_masses", 12)):
        node, weight = (numbers("affine.hpp", name, skip=k)[0] for k in (0, 1))
        for k, (x, w) in enumerate(zip(node, weight, strict=True)):
            at, share = arb.legendre_p_root(size, size - 1 - k, weight=True)
            yield abs(at - x) / (4 * NEAREST)
            yield abs(share / w - 1) / (4 * NEAREST)
    node, weight = (
        numbers("scores.hpp", "inline double mean_density", skip=k)[0] for k in (0, 1)
    )
    for k, (x, w) in enumerate(zip(node, weight, strict=True)):
        at, size = arb.legendre_p_root(8, 3 - k, weight=True)
        yield abs(at - x) / (4 * NEAREST)
        yield abs(size / w - 1) / (4 * NEAREST)
