"""Rounding of the sum over the nodes, and with it what a score is off by in all.

In units of 2^-53; the counts are derived in docs/theory/quadrature-proof.md
("Rounding"). As in contour.py everything is scaled by sqrt(c2); t = tau sqrt(c2), and
far from the pole s = 1/t.
"""

import math
import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from flint import arb, ctx

from .balls import HEADERS, literal, numbers, require
from .contour import (
    KAPPAS,
    PI,
    SIXTEEN,
    TWELVE,
    above_mean,
    beyond,
    guess,
    hull,
    line,
    mix,
    over,
    rising,
    step,
    tail,
)
from .rounding import Rounded, U, constant, half_ulp, horner, pieces

# Relative: the exponent's terms in mu and in beta, T but for the arctangent, E beyond
# its exponent, a far quotient, a near one; absolute: the cosine at 0, and the sine over
# min(1, T).
IN_MU, IN_BETA, ANGLE, POWER, FAR, NEAR, COSINE, SINE = 10, 14, 15, 4, 11, 9, 1.3, 9
# The rule's own: discretisation and last node, and the tables' orders; relative.
QUADRATURE, ORDERS = arb("6.2e-16"), arb("5e-16")


class Part(NamedTuple):
    """A node at q = e x: bounds of E, its relative error, T and its error."""

    x: arb
    v: arb
    size: arb
    power: arb
    angle: arb
    turned: arb
    first: bool  # of the first four
    more: int  # additions of vectors that its term goes through


def node(x: arb, e: arb, share: arb) -> tuple[arb, arb, arb, arb]:
    """v, the exponent's two terms, and T."""
    v = (e * x) ** 2
    curves = []
    for w in (v.upper(), v.lower().max(0)):  # each falls with v
        log = (1 + w).log() / w if w > 1e-9 else arb(1, 1e-9)
        curves.append((log + 1, 1 + (3 + w) / (1 + w) ** 2))
    central, shifted = (a.union(b) for a, b in zip(*curves, strict=True))
    angle = 2 * x**3 * e * mix(share, arb(1) / 3, arb(1))  # at most
    return v, x * x * share * central, x * x * (1 - share) / 2 * shifted, angle.upper()


def nodes(e: arb, share: arb, k: arb, offset: arb, table: bool) -> list[Part]:
    """The nodes, four at a time as the kernel takes them."""
    out: list[Part] = []
    for first in range(0, 16 if table else 400, 4):
        for j in range(first, first + 4):
            x = k * (offset + j)
            v, central, shifted, angle = node(x, e, share)
            turned = ANGLE * angle
            if not table and first and not (e * k * (offset + first + 3)) ** 2 < 0.269:
                turned += (
                    20 * share * x / e
                )  # the general arctangent: 10 units of q, times 2 mu
            size = (-(central + shifted)).exp().upper()
            power = (IN_MU * central + IN_BETA * shifted).upper()
            out.append(
                Part(x, v, size, power, angle, turned.upper(), not first, first // 4)
            )
        if not table and central + shifted > 41:
            break
    return [p._replace(more=len(out) // 4 - p.more + 2) for p in out]


def wrong(p: Part) -> tuple[arb, arb]:
    """The errors of E cos T and of E sin T."""
    turn, power = p.angle.min(1), p.power + POWER
    cosine = COSINE + 2.1 * p.angle.min(arb("1.6")) ** 2
    return p.size * (power + cosine + p.turned * turn), p.size * (
        (power + SINE) * turn + p.turned
    )


def weighed(rows: list[Part]) -> list[tuple[Part, arb, arb, arb]]:
    """With the errors of E cos T and E sin T and with T, which no tau changes."""
    return [(p, *wrong(p), p.angle.min(1)) for p in rows]


def near_sum(rows: list[tuple[Part, arb, arb, arb]], e: arb, k: arb, t: arb) -> arb:
    total = arb(0)
    for p, cosine, sine, turn in rows:
        square = 4 * p.x**2 + (t + e * p.x**2) ** 2
        real, imag = abs(t - e * p.x**2) / square, (2 + t * e + p.v) * p.x / square
        each = 3 if p.first else NEAR + p.more
        v = (
            (1 + p.x * e / 2) * real + e * p.x**2 / square + 2 * imag * turn
        )  # is rounded itself
        total += k * (real * (cosine + (each - 2 * p.first) * p.size) + v * p.size)
        total += k * imag * (sine + each * p.size * turn)
    return (2 / PI * total).upper()


def quotients(x: arb, v: arb, e: arb, s: arb) -> tuple[arb, arb, arb]:
    """t^2 (1 - quotient in E cos T), t^2 that quotient, that in E sin T, over t^2."""
    square = (4 * (x * s) ** 2 + (1 + s * e * x * x) ** 2).max(1)  # as tau > -1
    both = (1 - s * e * x * x) / square
    return (
        both,
        x * x * s * (s * (4 + v) + 3 * e) / square,
        x * (s * (2 + v) + e) / square,
    )


def far_sum(rows: list[tuple[Part, arb, arb, arb]], e: arb, k: arb, s: arb) -> arb:
    """The same far from it, for t times the integral."""
    total = arb(0)
    for p, cosine, sine, turn in rows:
        both, real, imag = (abs(r) for r in quotients(p.x, p.v, e, s))
        v = (1 + p.x * e / 2) * both + real + 2 * imag * turn
        rest = (FAR + p.more) * real if p.first else FAR * real + p.more * both
        total += k * (cosine * both + (rest + v) * p.size)
        total += k * imag * (sine + (FAR + p.more) * p.size * turn)
    return (2 / PI * total).upper()


def cells(e: arb, share: arb) -> list[tuple[arb, arb, arb, arb, arb]]:
    """x, v, E cos T, E sin T and the width, up to where E is below 1e-12."""
    out, top, count = [], 5.3 * (1 + e.upper() / 2), 160
    for i in range(count):
        x = hull(top * i / count, top * (i + 1) / count)
        v, central, shifted, _ = node(x, e, share)
        angles = []
        for q in (e.lower().max(0) * x.lower(), e.upper() * x.upper()):
            turn = (q - q.atan()) / q**3 if q > 1e-4 else arb(1, 1e-8) / 3
            angles.append(mix(share, turn, (2 + q * q) / (1 + q * q) ** 2 / 2))
        angle = 2 * x**3 * e * angles[0].union(angles[1])
        size = (-(central + shifted)).exp()
        out.append((x, v, size * angle.cos(), size * angle.sin(), top / count))
    return out


def integral(rows: list[tuple[arb, arb, arb, arb, arb]], e: arb, s: arb) -> arb:
    """t times the integral."""
    total = arb(0, 1e-9)
    for x, v, cosine, sine, width in rows:
        both, _, imag = quotients(x, v, e, s)
        total += (both * cosine - imag * sine) * width
    return 2 / PI * total


def score(p: arb) -> arb:
    """A lower bound of the z with Q(z) = p."""
    low, high = arb(-1), arb(1000)
    for _ in range(24):
        z = (low + high) / 2
        low, high = (
            (z, high) if ((z / arb(2).sqrt()).erfc() / 2).lower() > p else (low, z)
        )
    return low


def part_of(off: arb, z: arb) -> arb:
    """What a relative error of the tail moves a score of z or more by, and ndtri's,
    over 1 + z.
    """
    mills = (z / arb(2).sqrt()).erfc() * (z * z / 2).exp() * (PI / 2).sqrt()  # falls
    return off * mills / (1 + z) + arb("6.8e-16")


def part_at(off: arb, z: arb) -> arb:
    """The same for an absolute error, at z: it falls, then rises."""
    density = (-z * z / 2).exp() / (2 * PI).sqrt()
    return ((off / density + arb("6.8e-16") * z) / (1 + z)).upper()


def depth(t: float, tau: arb, share: arb) -> arb:
    """-phi0 at t = |tau| sqrt(c2)."""
    if not tau > -1:
        return arb("inf")
    if abs(tau) < 1e-2:
        log = arb(1) / 2 - tau / 3 + tau**2 / 4 + arb(0, 1) * abs(tau) ** 3
    else:
        log = (tau - (1 + tau).log()) / tau**2
    return arb(t) ** 2 * mix(share, log, 1 / (2 * (1 + tau)))


def pole(t: arb, e: arb, k: arb) -> arb:
    """The error of the pole's part, which is 1/2 less (e^x - 1)/(e^x + 1)/2."""
    x = 2 * PI * abs(t) / k / (1 + (1 + t * e).sqrt())
    q = 1 / (1 + x.exp())
    return 6 * x * q * (1 - q) + 4 * q * (1 - q) + 2 * (arb(1) / 2 - q)


def scores(e: arb, share: arb, k: arb | None) -> Iterator[tuple[arb, arb]]:
    """In a box, for every tau: errors of the score, over 1 + |z|, and of the tail,
    relative.
    """
    table = k is not None
    k = over(step, e) if k is None else k
    quad = QUADRATURE + (ORDERS if table else 0)
    above = above_mean(e, share).lower()
    halves = weighed(nodes(e, share, k, arb(1) / 2, table))
    rows = weighed(nodes(e, share, k, arb(1), table)) if table else halves
    grid = cells(e, share)
    edges = [0.04 * i for i in range(16)] + [0.59 * 1.08**i for i in range(1, 26)]
    edges += [5, 8, 12, 24, math.inf]
    for side in (1, -1):
        for low, high in pairwise(edges):
            if side < 0 and low * e >= 1:
                break
            high = high if side > 0 else min(high, float((1 / e).upper()))
            t = side * hull(low, min(high, 99))
            # it grows with t, and falls with tau at the same t
            slow, fast = (e.upper(), e.lower()) if side > 0 else (e.lower(), e.upper())
            deep = depth(low, side * low * slow, share).lower()
            deepest = (
                depth(high, side * high * fast, share).upper() if high < 99 else arb(99)
            )
            most = 1 - above  # of the integral
            if low > 0.3:
                s = side * hull(1 / arb(high) if high < math.inf else 0, 1 / arb(low))
                whole = integral(grid, e, s)
                times = max(
                    whole.lower(), rising(arb(low), e, above, side).lower(), key=float
                )
                most, least = min(most, whole.upper() / low, key=float), times / high
            else:
                least = max(tail(arb(high), e, above, side), key=float).lower()
            if not deep > 0.5:
                factor = (-deep).exp()
                off = U * (near_sum(halves, e, k, t) + most) * factor
                off += U * (pole(t, e, k) + 1).upper() + quad * most * factor
                small = (-deepest.min(arb(1) / 2)).exp() * least
                ends = score(most * factor), score(small) + 1e-4
                # below 0 it is no more than at 0
                worst = (part_at(off, z.max(0)) for z in ends)
                yield max(worst, key=float), (off / small).upper()
            if not deepest < 0.5:
                z = score(most * (-deep.max(arb(1) / 2)).exp())
                off = U * (far_sum(rows, e, k, s) / times + 3) + quad
                log = abs(
                    (times / (low if high > 99 else high)).log()
                )  # falls beside z
                yield part_of((off + 4 * U * log).upper(), z), off.upper()


def boxes(
    low: float, high: float, count: int, shares: int
) -> Iterator[tuple[arb, arb]]:
    for i in range(count):
        e = hull(
            low * (high / low) ** (i / count), low * (high / low) ** ((i + 1) / count)
        )
        for j in range(shares):
            if (
                j + 1
            ) / shares / e.lower() ** 2 >= 0.5:  # df >= 1, or any where c2 >= 8
                yield e, hull(arb(j) / shares, arb(j + 1) / shares)


def rows_of(c2: int) -> Iterator[tuple[arb, arb, arb | None]]:
    """(e, share, k) of 1/2 <= c2 <= 30, or from there on."""
    border = literal("ball.hpp", r"\(c2 < (\d+) \? small_score_error")
    require(1 / 0.1827**2 <= border <= 1 / 0.1825**2, "c2 of small_score_error")
    if c2 < 30:
        yield from ((*box, None) for box in boxes(0.1825, 2**0.5, 34, 14))
        return
    for low, high, count, shares, k in (
        (0.0534, 0.1827, 32, 8, None),
        (0.007, 0.0535, 20, 4, SIXTEEN),
    ):
        yield from ((*box, k) for box in boxes(low, high, count, shares))
    for j in range(4):
        yield hull(0, 0.0071), hull(arb(j) / 4, arb(j + 1) / 4), TWELVE


@cache
def listed(c2: int) -> list[tuple[arb, arb, arb | None]]:
    return list(rows_of(c2))


@cache
def at_box(c2: int, place: int) -> tuple[arb, arb, arb]:
    """The degrees in the box, the errors of a score and of a tail or a density."""
    e, share, k = listed(c2)[place]
    # the boxes are wide: balls of few bits are as narrow, and cheaper
    with ctx.workprec(64):
        score_off, off = worst(scores(e, share, k))
        return degrees(e, share), score_off, max(off, density(e, share, k), key=float)


def bounds(c2: int) -> Iterator[tuple[arb, arb, arb]]:
    """One box at a time: a claim that fails at the first is refuted by it alone."""
    return (at_box(c2, place) for place in range(len(listed(c2))))


def degrees(e: arb, share: arb) -> arb:
    """The largest df in the box; where it has c2 >= 8, none counts as small."""
    if e.lower() < 0.354:
        return arb("inf")
    return (2 * share / e.lower() ** 2).upper()


def bound(which: int, c2: int, df: float = 0) -> Iterator[arb]:
    return (row[which] for row in bounds(c2) if row[0] >= df)


def at_saddle(e: arb, share: arb) -> arb:
    """A lower bound of the density there, times sqrt(c2)."""
    total = arb(0, 1e-9)
    for x, _, cosine, sine, width in cells(e, share):
        total += (cosine - e * x * sine) * width
    return (2 / PI * total).lower()


def density(e: arb, share: arb, k: arb | None) -> arb:
    """The error of the density, relative: quadrature and rounding."""
    table = k is not None
    wrong_by = sum(
        (line(guess(e, share, k, s), e, share, k, s)[2] for s in (1, -1)), arb(0)
    )
    size, _, _, reach = beyond(e, share, k)
    wrong_by += size * (1 + reach)
    step_of = over(step, e) if k is None else k
    rounded = arb(0)
    for first in (arb(1) / 2, arb(1)) if table else (arb(1) / 2,):
        total = arb(0)
        for p in nodes(e, share, step_of, first, table):
            (cosine, sine), turn, q = wrong(p), p.angle.min(1), e * p.x
            total += cosine + q * sine + (1 + p.more) * p.size * (1 + q * turn)
        rounded = max(rounded, (2 / PI * step_of * total).upper(), key=float)
    error = (
        (wrong_by + U * rounded) / at_saddle(e, share)
        + 3 * U
        + (ORDERS if table else 0)
    )
    if not error.is_finite():
        raise ArithmeticError(f"nodes: no density at {e}, {share}")
    return error.upper()


def densities() -> Iterator[arb]:
    """What rounding makes the sums for the densities of N and of N + 2 degrees be off
    by,
    relative where they are at least 0.3/sqrt(c2)."""
    for e, share, k in (*rows_of(0), *rows_of(30)):
        size = over(step, e) if k is None else k
        for offset in (arb(1) / 2, arb(1))[: 1 if k is None else 2]:
            first = second = arb(0)
            for p in nodes(e, share, size, offset, k is not None):
                (cosine, sine), q, each = wrong(p), e * p.x, p.more + 4
                sine = q * (sine + each * p.size * p.angle.min(1))
                first += cosine + each * p.size + sine
                # with ((2 + v) E q sin T - v E cos T)/(1 + v) added
                second += 2 * sine + p.v / (1 + p.v) * (cosine + each * p.size)
            yield 2 / PI * size * U * (first + second + 1) / arb("0.3")


def worst(errors: Iterator[tuple[arb, arb]]) -> tuple[arb, arb]:
    first, second = zip(*errors, strict=True)
    if not all(v.is_finite() for v in first + second):
        raise ArithmeticError("nodes: no bound at a box")
    return max(first, key=float), max(second, key=float)


def functions() -> Iterator[arb]:
    """Rounding of the functions of simd.hpp, over what the counts above allow."""
    names = ("RSB_INLINE vec exp_neg(vec x)", "vec& scale)", "LogAtan log1p_atan(vec q")
    (exp,), (sin,), (log,) = (numbers("simd.hpp", name) for name in names)
    (cos,), (atan,) = (numbers("simd.hpp", name, skip=1) for name in names[1:])
    general = "log1p_atan_general"
    (odd,), (arc,) = numbers("simd.hpp", general), numbers("simd.hpp", general, skip=1)
    for r in pieces(-0.3467, 0.3467, 100):  # 1 of POWER is the product with the cosine
        power = horner(exp, Rounded(r, half_ulp(arb("0.3467"))))
        yield (power.error / r.exp() + arb("2e-17")) / (3 * U)
    for r in pieces(0, 1.571, 200):
        for off in (
            0,
            2,
        ):  # the reduction of angles beyond pi/2, which are counted as that
            angle = Rounded(r, off * U)
            square = angle * angle
            size = r.lower() if off == 0 else arb("1.5707")
            cosine = horner(cos, square).error + arb("2e-17")
            yield cosine / ((COSINE + 2.1 * size**2) * U)
            sine = horner(sin, square)
            if off:
                yield ((angle * sine).error + arb("4e-17")) / ((SINE - 2) * U)
            else:  # over r, relative to min(1, r)
                each = sine.error + U * sine.value + arb("4e-17")
                yield each * max(1, r.upper(), key=float) / ((SINE - 2) * U)
    # of the count 10: the near logarithm 2.6, the general 1.1; of the arctangent's 10
    # units of q 1.6; of the near arctangent's 15 less 6
    for row, high, count in ((log, 0.27, 1.1), (atan, 0.27, 1.2)):
        for v in pieces(0, high, 100):
            total = horner(row, constant(v))
            yield total.error / abs(total.value).lower() / (count * U)
    for row, high, off, count in ((odd, 0.0295, 7, 1.1), (arc, 0.1716, 15, 1.6)):
        for v in pieces(0, high, 100):
            total = horner(row, Rounded(v, off * U * v.upper()))
            yield total.error / abs(total.value).lower() / (count * U)


def entries() -> Iterator[arb]:
    """The tables of nodes.hpp: relative errors of entries, and of two doubles times
    1e16.
    """
    text = (HEADERS / "nodes.hpp").read_text(encoding="utf-8")
    for name, kappa in zip(("Sixteen", "Twelve"), KAPPAS, strict=True):
        body = text.split(f"struct {name} {{", 1)[1].split("\n};", 1)[0]

        def row(key: str, body: str = body) -> list[arb]:
            part = re.sub(r"//.*", "", body.split(f" {key}", 1)[1].split(";", 1)[0])
            return [arb(float(v)) for v in re.findall(r"-?\d[\d.]*(?:e[-+]\d+)?", part)]

        low = row("halves_low")
        for key, first in (("at_integers", arb(1)), ("at_halves", arb(1) / 2)):
            for j, entry in enumerate(row(key)):
                truth = (-2 * (kappa * (first + j)) ** 2).exp()
                yield abs(entry / truth - 1)
                if key == "at_halves" and j < 4:
                    yield abs((entry + low[j]) / truth - 1) * 1e16
        high, rest = row("total")
        exact = arb(1) / 2 + sum(
            ((-2 * (kappa * j) ** 2).exp() for j in range(1, 5)), arb(0)
        )
        yield abs((high + rest) / exact - 1) * 1e16
