"""The rule of contour.hpp against its integral; the lemmas are in
docs/theory/quadrature-proof.md.

Everything is scaled by sqrt(c2): e = 1/sqrt(c2), distances x from the axis are e x, the
step is e k, and mu = share c2. A box is an interval of e and one of `share`.
"""

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from flint import arb, arb_series

from .balls import HEADERS, literal, named, require

PI = arb.pi()
CUT = arb(1, 2.0**-24)  # the step has 26 bits
KAPPAS = [  # Sixteen's, Twelve's
    arb(
        literal(
            "nodes.hpp",
            rf"struct {name} {{\s+static constexpr double kappa = ([\w.-]+);",
        )
    )
    for name in ("Sixteen", "Twelve")
]
SIXTEEN, TWELVE = (kappa * CUT for kappa in KAPPAS)
ALIASING, LINE = (named("contour.hpp", name) for name in ("aliasing", "line"))
SHIFT = literal("contour.hpp", r"std::sqrt\(c2\) \+ ([\d.]+);")
TABLES = literal("contour.hpp", r"if \(c2 < (\d+)\) \{")
TWELVES = literal("contour.hpp", r"twelve = c2 >= ([\de]+);")
LAST = literal("nodes.hpp", r"exponent\[lanes - 2\] < (\d+)\)")


def hull(low: float | arb, high: float | arb) -> arb:
    return arb(low).union(arb(high))


def mix(share: arb, central: arb, shifted: arb) -> arb:
    """What is linear in mu and beta = (1 - share) c2/2, given it at share 1 and 0."""
    return shifted + share * (central - shifted)


def step(e: Any) -> Any:
    """k of quadrature_step."""
    line, root = arb(LINE), 1 / e
    r = root + arb(SHIFT)
    rk = r + line
    size = line * (r + rk) / (r * rk)
    return 2 * PI * line / rk * root / (ALIASING + size**2 / e**2 / 2) * CUT


def boxes() -> Iterator[tuple[arb, arb, arb | None]]:
    """(e, share, k) over c2 >= 1/2, df >= 1 or c2 >= 8; k = None is that of `step`."""
    # the tables' steps from there on, and what they leave out (nodes.hpp)
    require(1 / 0.0535**2 <= TABLES <= 1 / 0.0534**2, "c2 of the tables")
    require(1 / 0.0071**2 <= TWELVES <= 1 / 0.007**2, "c2 of the twelve nodes")
    edges = [2**0.5 * (0.0534 / 2**0.5) ** (i / 200) for i in range(201)]
    rows = [(hull(b, a), None) for a, b in pairwise(edges)]
    rows += [
        (hull(0.007 * 1.06**i, 0.007 * 1.0601 ** (i + 1)), SIXTEEN) for i in range(36)
    ]
    rows += [(hull(0, 0.0071), TWELVE)]
    for e, k in rows:
        ends = [i / 32 for i in range(32)] + [1 - 2.0**-i for i in (6, 7, 8, 10)] + [1]
        if not e > 0.1:
            ends = [i / 8 for i in range(9)]
        for low, high in pairwise(ends):
            if high / e.lower() ** 2 >= 0.5 or e.lower() < 0.354:  # mu >= 1/2, c2 >= 8
                yield e, hull(low, high), k


def place(u: arb, e: Any, k: arb | None) -> tuple[Any, Any]:
    """Scaled and unscaled distance of a line: unscaled ones are given where the step is
    `step`.
    """
    return (u / e, u) if k is None else (u, e * u)


def excess(u: arb, e: Any, share: arb, k: arb | None, sign: int) -> Any:
    """The largest exponent on a line above (1) or below (-1) the axis, and the rule's
    factor.
    """
    x, c = place(u, e, k)
    c = sign * c
    g = (2 * c + c * c - 2 * (1 + c).log()) / (c * c) if c != 0 else arb(2)
    turn = 2 * PI * x / (step(e) if k is None else k)
    return x * x * (share * g + (1 - share) / 2 * ((2 + c) / (1 + c)) ** 2) - turn


def largest(u: arb, e: arb, share: arb, k: arb | None, sign: int) -> arb:
    """The same over a box: it is linear in `share`."""
    ends = [share.lower(), share.upper()]
    if k is None:
        sizes = [over(lambda v, s=s: excess(u, v, s, k, sign), e).upper() for s in ends]
    else:  # each term falls with c
        end = e.lower().max(0) if sign > 0 else e.upper()
        sizes = [excess(u, end, s, k, sign).upper() for s in ends]
    return max(sizes, key=float)


def over(f: Callable[[arb_series], arb_series], e: arb) -> arb:
    """f on the box, by the middle and the slope."""
    at, box = f(arb_series([e.mid(), 1], 2)), f(arb_series([e, 1], 2))
    return at[0] + arb(0, 1) * abs(box[1]) * e.rad()


def slope(u: arb, e: Any, share: arb, k: arb | None, sign: int) -> Any:
    """Of `excess`, over a positive factor."""
    x, c = place(u, e, k)
    a = 1 + sign * c
    steep = x * (1 + 1 / a) * mix(share, arb(2), 1 + 1 / (a * a))
    return steep - 2 * PI / (step(e) if k is None else k)


def guess(e: arb, share: arb, k: arb | None, sign: int) -> arb:
    """About where it is least."""
    e, share = e.mid(), share.mid()
    low, high = 0.0, 200.0
    if sign < 0:
        high = 0.9999 if k is None else 0.9999 / float(e)
    for _ in range(50):
        u = (low + high) / 2
        low, high = (u, high) if slope(arb(u), e, share, k, sign) < 0 else (low, u)
    return arb(low)


def least(e: arb, share: arb, k: arb | None, sign: int) -> tuple[arb, arb]:
    """Lines nearer and further than all those at which it is least in the box."""
    u = guess(e, share, k, sign)
    room = u.min(1 - u) if sign < 0 and k is None else u
    for part in (0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32):
        near, far = u - part * room, u + part * room
        if k is None:
            signs = [
                over(lambda v, w=w: slope(w, v, share, k, sign), e) for w in (near, far)
            ]
        else:
            signs = [slope(w, e, share, k, sign) for w in (near, far)]
        if (
            signs[0] < -1e-6 and signs[1] > 1e-6
        ):  # rounding can't reverse the code's test
            return near, far
    raise ArithmeticError(f"no least exponent at {e}, {share}")


def decay(a: arb, share: arb) -> arb:
    """On the line Re w = a the exponent falls by c2 x^2 times this, or more."""
    sizes = []
    for s in (share.lower(), share.upper()):  # concave in it
        beta, root = (1 - s) / 2, arb(0)
        if beta > 0 and not 12 * a * a * s > beta:
            root = (1 - 12 * a * a * s / beta).max(0).sqrt()
        rate = ((1 + root) / (12 * a * a)) ** 2 * (1 - 2 * root) / 3
        sizes.append((s + beta + beta * rate.min(0)).lower())
    return min(sizes, key=float)


def above_mean(e: arb, share: arb) -> arb:
    """A lower bound of P(W > 0) and of P(W < 0): 1/2 less an integral of absolute
    values.
    """
    if e < 0.054:
        return arb(1) / 2 - arb("1.02") * e.upper()
    c2 = 1 / (e * e)
    top, cells, total = 9 * e.upper() + 2 * (e.upper() > 0.5), 120, arb(0)
    for i in range(cells):
        low, high = (top * i / cells) ** 2, (top * (i + 1) / cells) ** 2
        v = low.union(high)
        # by its slope in v, at least 107/108 of share + beta, it rises
        size = mix(
            share, (1 + low).log() + low, low * (1 + (3 + low) / (1 + low) ** 2) / 2
        )
        turn = 2 * c2 * mix(share, arb(1) / 3, arb(1)) * high  # T/q, at most
        sine = turn if turn < 1 / high.sqrt() else 1 / v.sqrt()
        total += (-c2 * size).exp() * (1 + (2 + v) * sine) / (4 + v) * top / cells
    rest = (-c2 * top**2 * (1 + share) / 2 * 107 / 108).exp()
    return arb(1) / 2 - 2 / PI * (total + rest * (1 + 1 / top)).upper()


def tail(t: arb, e: arb, p: arb, sign: int) -> list[arb]:
    """Lower bounds of the integral at t = |tau| sqrt(c2)."""
    if sign > 0:  # a density that falls
        return [p * p * (1 - (-t / p).exp()) / t]
    reach = 1 / (4 * e).upper().max(0.06)
    rise = (t * t / 4).exp() * PI.sqrt() / 2 * ((t / 2).erfc() - (reach + t / 2).erfc())
    return [p * (-t / (2 * p)).exp(), p * p * rise]


def rising(t: arb, e: arb, p: arb, sign: int) -> arb:
    """A lower bound of t times the integral, from that t on."""
    ends = [t, (1 / e).upper()] if sign < 0 and e > 0.05 else [t]
    rows = zip(*(tail(v, e, p, sign)[-len(ends) :] for v in ends), strict=True)
    # t times the first bound falls once it has begun to, that of the others rises
    least = (
        min((v * b for v, b in zip(ends, row, strict=True)), key=float) for row in rows
    )
    return max(least, key=float)


def line(u: arb, e: arb, share: arb, k: arb | None, sign: int) -> tuple[arb, arb, arb]:
    """a, and the integrals of |e^psi| and |w e^psi| on the line, with the rule's
    factor.
    """
    x, c = place(u, e, k)
    a = 1 + sign * c
    d = decay(a, share)
    turn = 2 * PI * x / (over(step, e) if k is None else k)
    size = largest(u, e, share, k, sign).exp() / (1 - (-turn).exp()) / PI
    return a, size * (PI / d).sqrt(), size * (a * (PI / d).sqrt() + e / d)


def error(e: arb, share: arb, k: arb | None, side: int, p: arb) -> arb:
    """What the rule is wrong by, over the integral, for sign(tau) = side."""
    near, far = least(e, share, k, side)
    (x_near, c_near), (x_far, c_far) = (place(u, e, k) for u in (near, far))
    a = 1 + side * c_far
    bent = mix(share, 2 + 2 / (a * a), 1 + 3 / a**4)  # the second derivative
    t_near, t_far = (
        (x_near * (2 + side * c_near)).lower(),
        (x_far * (2 + side * c_far)).upper(),
    )
    small, large = max(tail(t_far, e, p, side), key=float), rising(t_near, e, p, side)
    u = guess(e, share, k, -side)
    x, c = place(u, e, k)
    a, plain, weighted = line(u, e, share, k, -side)
    c = c if side > 0 else c.min(0.5)
    t = c / e * (2 + side * c) if k is None else x * (2 + side * c)
    near_pole = plain / 2 * (1 / x + e / (a + (1 if side > 0 else 1 - c)))
    near_pole /= max(tail(t.upper(), e, p, side), key=float)
    far_pole = (
        weighted * (2 / (1 + a) if side > 0 else 1) / rising(t.lower(), e, p, side)
    )
    other = max(near_pole.upper(), far_pole.upper(), key=float)
    rho, best = 1 + side * c_far, [arb("inf"), arb("inf")]
    for part in (0.7, 2, 5) if side > 0 and e > 0.3 else (0.7,):
        move = (part / bent.sqrt()).mid()
        move = (move * e).mid() if k is None else move
        if not move < near:
            break
        a, plain, _ = line(far + move, e, share, k, side)  # the pole is taken out
        more = plain / 2 * (1 / place(move, e, k)[0] + e / (rho + a)) / small
        a, _, weighted = line(
            near - move, e, share, k, side
        )  # the pole stays beyond the line
        less = weighted * near / move * (1 if side > 0 else 1 / a) / large
        best = [
            min(new.upper(), old, key=float)
            for new, old in zip((more, less), best, strict=True)
        ]
    return (max(best, key=float) + other).upper()


def errors() -> Iterator[arb]:
    for e, share, k in boxes():
        p = above_mean(e, share).lower()
        yield max((error(e, share, k, side, p) for side in (1, -1)), key=float)


def beyond(e: arb, share: arb, k: arb | None) -> tuple[arb, arb, arb, arb]:
    """The nodes left out: their sum of |e^psi|, half integers and integers, the first,
    and |q|.
    """
    if k is None:  # the next exponent is 39.99 or more
        k = over(step, e)
        least, first, half = arb(LAST) - arb("0.01"), arb("4.47") / k, False
        reach = (40.4 * 2 / (1 + share)).sqrt() * e
    else:
        half = e < 0.00711
        first = arb("12.5") if half else arb("16.5")
        least = min((_exponent(first, e, s, k) for s in ends(share)), key=float)
        reach = first * k * e
    # the exponents grow by 0.99 (1 + share)/2 (first k)^2 (2/first) and more
    size = 2 / PI * (-least).exp() * (k + 1 / (arb("0.93") * first * k))
    far = size
    if half:  # half integers are used for |tau| sqrt(c2) <= 1.01 alone
        last = min((_exponent(arb(13), e, s, k) for s in ends(share)), key=float)
        far = size * (least - last).exp()
    return size, far, first * k, reach


def left_out() -> Iterator[arb]:
    """What lies beyond the last node, over the integral."""
    for e, share, k in boxes():
        p = above_mean(e, share).lower()
        size, far, first, reach = beyond(e, share, k)
        for side in (1, -1):
            near = size / 2 * (1 / first + e)
            yield near / max(tail(arb("1.01"), e, p, side), key=float)
            yield far * (1 + reach) / rising(arb(1), e, p, side)


def _exponent(j: arb, e: arb, share: arb, k: arb) -> arb:
    """A lower bound of -log E at the node j of a table."""
    v = (k * j * e).upper() ** 2
    return (k * j) ** 2 * (
        share * (2 - v / 2) + (1 - share) / 2 * (1 + 3 / (1 + v) ** 2)
    )


def ends(share: arb) -> tuple[arb, arb]:
    return share.lower(), share.upper()


def table_borders() -> list[tuple[str, int]]:
    """The tables by name, and the c2 from which the code takes them."""
    text = (HEADERS / "contour.hpp").read_text(encoding="utf-8")
    upper = re.findall(r"c2 < ([\de]+) +\? over<far>\(TableNodes<From(\w+), far>", text)
    names = [*(name for _, name in upper), "6e4"]
    return [
        (name, int(border))
        for name, border in zip(
            names, [TABLES, *(float(end) for end, _ in upper)], strict=True
        )
    ]


def orders() -> Iterator[arb]:
    """What the short polynomials of the tables leave out, over the integral."""
    text = (HEADERS / "nodes.hpp").read_text(encoding="utf-8")
    require(dict(table_borders())["2e4"] == TWELVES, "c2 of the twelve nodes' tables")
    for name, border in table_borders():
        body = text.split(f"struct From{name} : ", 1)[1].split("}};", 1)[0]
        k = SIXTEEN if body.startswith("Sixteen") else TWELVE
        rows = [
            [int(n) for n in row.split(",")] for row in re.findall(r"\{([\d, ]+)", body)
        ]
        for offset in (arb(1), arb(1) / 2):
            near = far = arb(0)
            for i in range(4 * len(rows)):
                j, (p, s, exp, sin, cos) = i + offset, rows[i // 4]
                v, q = (k * j) ** 2 / border, k * j / arb(border).sqrt()
                x, turn = border * v * v * 5 / 2, 2 * border * q * v
                wrong = border * v ** (2 + p) * (2 * p + 5) / 2
                wrong += border * q * v ** (1 + s) * (s + 2)
                wrong += turn ** (2 * sin + 1) / arb(2 * sin + 1).fac()
                wrong += turn ** (2 * cos) / arb(2 * cos).fac()
                wrong = x.exp() * (wrong + x**exp / arb(exp).fac())
                wrong *= (-2 * (k * j) ** 2).exp() * 2 / PI
                near += wrong * (1 / j + q / j) / 2
                far += wrong * k * (1 + q)
            e, above = 1 / arb(border).sqrt(), arb("0.445")
            yield far / above**2  # of the density
            for side in (1, -1):
                yield near / max(tail(arb("1.01"), e, above, side), key=float)
                if offset == 1:  # half integers: |tau| sqrt(c2) <= 1.01
                    yield far / rising(arb(1), e, above, side)
