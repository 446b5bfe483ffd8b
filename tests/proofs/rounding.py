"""Rounding of straight-line code: what it computes in exact arithmetic, and by how much it is off.

Each operation adds 2^-53 of its result. A term that is scaled by a power of the argument is taken
without it, as relative errors don't change.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flint import arb, arb_series

from .balls import numbers, polynomial

U = arb(2) ** -53


@dataclass(frozen=True)
class Rounded:
    """The exact values in a box, and a bound of the computed value's error."""

    value: arb
    error: arb = arb(0)

    def _after(self, value: arb, error: arb) -> Rounded:
        return Rounded(value, (error + U * (abs(value) + error)).upper())

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
        yield arb(low + (high - low) * i / count).union(arb(low + (high - low) * (i + 1) / count))


def centre() -> Iterator[arb]:
    """ndtri_centre relative to the score, with its formula's 3e-17 (claim ndtri_centre)."""
    text = "inline Sum2 ndtri_centre(Sum2 q)"
    [p], [d] = numbers("normal.hpp", text), numbers("normal.hpp", text, skip=1)
    root = (2 * arb.pi()).sqrt()
    for box in pieces(0, 0.425**2, 100):
        v = Rounded(box, box.upper() * U)
        x = constant(0.180625) + Rounded(-v.value, v.error)
        c = v * (constant(2.6249349909537365) + v * rational(p, d, x))
        # the low parts are 1e-15 of q at most, and have an error of 1e-30
        low = Rounded(arb(0, 1e-15), arb(1e-30))
        z = constant(root) + (low + (low + constant(1) * c))
        # 3 c for the slope that the low part of q is multiplied by: z' = root e^(z^2/2)
        slope = root * ((root + c.value) ** 2 * box / 2).exp()
        missed = abs(slope - root - 3 * c.value) * U
        yield (z.error + missed) / (root + c.value) + arb("3e-17")


def tails() -> Iterator[arb]:
    """ndtri_tail at log_two, relative to the score, with its formulas' 2e-17 r (ndtri_tail[i])."""
    text = "inline Sum2 ndtri_tail(Sum2 log_q)"
    rows = zip(
        numbers("normal.hpp", text),
        numbers("normal.hpp", text, skip=1),
        (2.25, 4, 8, 17),
        (0.84375, 0.59375, 0.375, 0.21875),
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
