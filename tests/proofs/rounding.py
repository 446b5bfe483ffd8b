"""Rounding of straight-line code: what it computes in exact arithmetic, and by how much
it is off.

Each operation adds half a unit in the last place of its result.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from flint import arb, arb_series

from .balls import literal, numbers, polynomial

U, ZERO = arb(2) ** -53, arb(0)


def half_ulp(size: arb) -> arb:
    """The largest rounding error of a result of that size, or less."""
    return U * 2.0 ** (math.frexp(float(size.upper()))[1] - 1)


@dataclass(frozen=True)
class Rounded:
    """The exact values in a box, and a bound of the computed value's error."""

    value: arb
    error: arb = ZERO

    def _after(self, value: arb, error: arb) -> Rounded:
        return Rounded(value, (error + half_ulp(abs(value) + error)).upper())

    def __add__(self, other: Rounded) -> Rounded:
        return self._after(self.value + other.value, self.error + other.error)

    def __mul__(self, other: Rounded) -> Rounded:
        a, b = abs(self.value), abs(other.value)
        error = self.error * b + a * other.error + self.error * other.error
        return self._after(self.value * other.value, error)

    def __truediv__(self, other: Rounded) -> Rounded:
        least = abs(other.value) - other.error
        quotient = self.value / other.value
        return self._after(quotient, (self.error + abs(quotient) * other.error) / least)


def library(value: arb, error: arb) -> Rounded:
    """A function of the C library, within 2 units in the last place: assumed."""
    return Rounded(value, (error + 4 * U * (abs(value) + error)).upper())


def constant(c: float | arb) -> Rounded:
    return Rounded(arb(c))


def horner(coefficients: list[float], x: Rounded) -> Rounded:
    total = constant(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        total = total * x + constant(c)
    return total


def rational(p: list[float], d: list[float], x: Rounded) -> Rounded:
    return horner(p, x) / horner([1.0, *d], x)


def pieces(low: float, high: float, count: int) -> Iterator[arb]:
    for i in range(count):
        yield arb(low + (high - low) * i / count).union(
            arb(low + (high - low) * (i + 1) / count)
        )


def centre_literals() -> tuple[float, float]:
    """The middle of the rational function, and the cubic term, of ndtri_centre."""
    middle = literal("normal.hpp", r"rational\(p, d, ([\d.]+) - v\)")
    return middle, literal("normal.hpp", r"v \* \(([\d.]+) \+ v \* rational")


def centre() -> Iterator[arb]:
    """ndtri_centre relative to the score, with its formula's 3e-17 (claim
    ndtri_centre).
    """
    text = "inline Sum2 ndtri_centre(Sum2 q)"
    [p], [d] = numbers("normal.hpp", text), numbers("normal.hpp", text, skip=1)
    root = (2 * arb.pi()).sqrt()
    middle, cubic = centre_literals()
    for box in pieces(0, 0.425**2, 100):
        v = Rounded(box, box.upper() * U)
        x = constant(middle) + Rounded(-v.value, v.error)
        c = v * (constant(cubic) + v * rational(p, d, x))
        # z/q: four roundings relative to c or z, as q may be anything; low parts are
        # below 1e-15
        z = root + c.value
        error = c.error + U * (3 * c.value + arb("1e-14") + z)
        # 3 c for the slope that the low part of q is multiplied by: z' = root e^(z^2/2)
        slope = root * (z * z * box / 2).exp()
        missed = abs(slope - root - 3 * c.value) * U
        yield (error + missed) / z + arb("3e-17")


def tails() -> Iterator[arb]:
    """ndtri_tail at log_two, relative to the score, with its formulas' 2e-17 r
    (ndtri_tail[i]).
    """
    text = "inline Sum2 ndtri_tail(Sum2 log_q)"
    rows = zip(
        numbers("normal.hpp", text),
        numbers("normal.hpp", text, skip=1),
        numbers("normal.hpp", text, skip=2)[0],
        numbers("normal.hpp", text, skip=3)[0],
        (2.27, 4, 8, 17),
        (4, 8, 17, 39),
        strict=True,
    )
    for p, d, start, less, low, high in rows:
        for r in pieces(low, high, 300):
            x = constant(r) + constant(-start)
            more = rational(p, d, x)
            at = arb_series([r - start, 1], 2)
            # r_low, of at most 3/2 roundings of r, is left out of x
            steep = abs((polynomial(p, at) / polynomial([1.0, *d], at))[1])
            # and has three roundings; the logarithm is within 1e-18
            small = Rounded(arb(0, 1) * 2 * U * r, 8 * U * U * r + arb("1e-18") * r)
            z = constant(r - less) + (Rounded(arb(0, 1) * U * r) + (small + more))
            error = z.error + steep * 3 / 2 * U * r + arb("2e-17") * r
            yield error / (r - less + more.value)


def mills(z: arb) -> Rounded:
    """Q/phi, with its formula's 7e-17 (claim mills)."""
    [c] = numbers("normal.hpp", "void mills(const V (&z)[N], V (&out)[N])")
    x = constant(z) * Rounded(1 / arb(2).sqrt(), U)
    above = x.value + 3.75
    below = abs(x.value - 3.75)
    # the error of x moves t by its slope in x; three roundings, each with room for the
    # others
    t_error = (
        7.5 * x.error / above**2
        + (half_ulp(below) + half_ulp(above) * below / above) / above
    )
    t_error = (t_error + half_ulp(below / above)) * (1 + 1e-12)
    ends = [v.erfc() * (v * v).exp() for v in (x.value.lower().max(0), x.value.upper())]
    value = (1 + 2 * x.value) * ends[0].union(ends[1])
    low, high = ((v - 3.75) / (v + 3.75) for v in (x.value.lower(), x.value.upper()))
    t, reach = (low + high) / 2, (high - low) / 2
    error, b1, b2 = ZERO, ZERO, ZERO
    moved = sum(
        (abs(arb(v)) * (j + 1) ** 3 / 3 for j, v in enumerate(c)), ZERO
    )  # |U_n'| is less
    for k in range(27, -1, -1):
        product = (2 * t if k else t) * b1
        rest = product - b2
        b1, b2 = rest + arb(c[k]), b1
        # a rounding in Clenshaw's step k moves c[k], and |T_k| <= 1
        error += sum(
            (
                half_ulp(abs(v) + reach * (6 * moved + 4 * abs(b2)))
                for v in (product, rest, b1)
            ),
            ZERO,
        )
    error += t_error * sum((abs(arb(v)) * k * k for k, v in enumerate(c)), ZERO)
    total = Rounded(value, error + arb("7e-17") * value)
    half = Rounded((arb.pi() / 2).sqrt(), U)
    return half * (total / (constant(1) + constant(2) * x))


def log_ndtr() -> Iterator[arb]:
    """log_ndtr relative to itself, given the C library's functions."""
    for z in chain(pieces(0, 2, 400), pieces(2, 40, 800)):
        square = z * z
        m = mills(z)
        power = library((-square / 2).exp(), U * U * square * (-square / 2).exp())
        q = power * constant(1) / Rounded((2 * arb.pi()).sqrt(), U) * m
        if z < 1.01:
            log = library(q.value.log(), q.error / (q.value - q.error))
            yield log.error / abs(log.value)
            log = library(-(-q.value).log1p(), q.error / (1 - q.value - q.error))
            yield log.error / log.value
        elif (
            z < 37.5
        ):  # beyond it the result is subnormal; 8 roundings on top of those of m
            yield (m.error / m.value + 9 * U) / (1 - q.value.upper()) * (
                1 + 4 * U
            ) + 4 * U
        if z > 0.99:
            scaled = m / Rounded((2 * arb.pi()).sqrt(), U)
            log = library(
                scaled.value.log(), scaled.error / (scaled.value - scaled.error)
            )
            total = constant(-0.5) * constant(z) * constant(z) + log
            yield total.error / abs(total.value)


def log_gamma() -> Iterator[arb]:
    """log_gamma over 9 more than its size."""
    [c] = numbers("gain.hpp", "inline double log_gamma(double z)")
    exact = [
        arb.bernoulli(2 * k + 2) / ((2 * k + 1) * (2 * k + 2)) for k in range(len(c))
    ]
    large = (arb(10) * (1.05**i) for i in range(320))
    for box in chain(pieces(1.5, 10, 340), (z.union(z * arb("1.0501")) for z in large)):
        z, product = constant(box), constant(1)
        for _ in range(max(0, 10 - math.floor(float(box.lower()) + 1e-9))):
            product, z = product * z, z + constant(1)
        w = 1 / (z.value * z.value)
        series = horner(c, constant(1) / (z * z)) / z
        missed = sum((abs(arb(a) - b) for a, b in zip(c, exact, strict=True)), ZERO)
        missed += arb("0.03") * w ** len(c)  # the first term left out
        log = library(z.value.log(), z.error / z.value)
        less = library(product.value.log(), product.error / product.value)
        half = Rounded((2 * arb.pi()).log() / 2, U)
        minus = [Rounded(-v.value, v.error) for v in (z, less)]
        total = ((z + constant(-0.5)) * log + minus[0]) + ((half + series) + minus[1])
        yield (total.error + missed) / (
            box.lower().max(2).lgamma() + 9
        )  # which rises from 2 on
