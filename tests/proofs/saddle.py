"""The remainders of Lugannani and Rice's formula and of the median's series.

Derived in docs/theory/saddle.md. On the circle |lambda| = 2 the map w^2/2 = k(lambda)
is bounded in balls; what is analytic inside is then bounded by Cauchy's integrals of
absolute values.
"""

import math
from collections.abc import Iterable, Iterator

from flint import acb, arb, arb_poly, fmpq, fmpq_poly
from median_series import coefficients

from .balls import literal, named, numbers, require

ARCS, RADIUS = 128, 2  # boxes of a half circle
SADDLES = -0.36, 0.7  # lambda_0 = log(1 + tau)


def box(low: float | arb, high: float | arb) -> arb:
    return arb((arb(low) + high) / 2, (arb(high) - low) / 2 * (1 + arb(2) ** -40))


def boxes(low: float, high: float, count: int) -> Iterator[arb]:
    for i in range(count):
        yield box(low + (high - low) * i / count, low + (high - low) * (i + 1) / count)


def exponent(x: acb, t: arb) -> acb:
    """K(lambda): w^2/2."""
    first = (-x).exp() - 1 + x
    return first + 2 * t * (x.cosh() - 1 - first)


def circle(t: arb) -> list[tuple[acb, arb]]:
    """lambda and the least |w| on arcs of the half circle; w proves to be one to one
    inside.
    """
    out = []
    for phi in boxes(0, 1, ARCS):
        x = RADIUS * (acb(0, 1) * phi * arb.pi()).exp()
        square = 2 * exponent(x, t)
        if not ((square / x**2).real > 0 and abs(square) > 2):
            raise ArithmeticError(f"saddle: the map at {x}, {t}")
        out.append((x, abs(square).lower().sqrt()))
    return out


def integral(weights: Iterable[arb]) -> arb:
    """Of weight |d lambda|/2 pi over the circle, an upper bound from the weights on the
    arcs.
    """
    return sum((weight.upper() for weight in weights), arb(0)) * RADIUS / ARCS


def end(t: arb, height: arb) -> arb:
    """The contour beyond w = i height, both sides, over e^(phi_0 - c_2 height^2/2)."""
    x = acb(0, height.mid())
    for _ in range(30):  # Newton's steps, then Krawczyk's test
        slope = (1 - 2 * t.mid()) * (1 - (-x).exp()) + 2 * t.mid() * x.sinh()
        x = x - (exponent(x, t.mid()) + height**2 / 2) / slope
        x = acb(x.real.mid(), x.imag.mid())
    around = acb(arb(x.real, 0.1), arb(x.imag, 0.1))
    there = (1 - 2 * t) * (1 - (-around).exp()) + 2 * t * around.sinh()
    image = (
        x
        - (exponent(x, t) + height**2 / 2) / slope
        + (1 - there / slope) * (around - x)
    )
    if not (around.contains(image) and around.imag > 0 and around.imag < arb.pi() / 2):
        raise ArithmeticError(f"saddle: the end at {t}")
    return 2 / arb.pi() / around.imag.sin().sqrt()


def ratio() -> tuple[arb, arb]:
    """Bounds of |log(tau/omega)| over |lambda_0| and |omega|, omega = r/sqrt(c_2)."""
    first, second = arb(0), arb(0)
    for t in boxes(0, 0.5, 8):
        for a in boxes(*SADDLES, 32):
            square = [
                2 * ((1 - 2 * t) * (-1) ** n + (n % 2 == 0) * 2 * t) / math.factorial(n)
                for n in range(2, 30)
            ]
            rise = [arb(1) / math.factorial(n) for n in range(1, 30)]
            (s, ds), (e, de) = taylor(square, -a), taylor(rise, a)
            slope = abs(
                de / e + ds / s / 2
            ).upper()  # of the logarithm, which is 0 at 0
            first, second = larger(first, slope), larger(second, slope / s.sqrt())
    return first, second


def taylor(c: list[arb], x: arb) -> tuple[arb, arb]:
    """The sum of a series and its derivative; what is left out is below 1e-25 for |x| <
    1.
    """
    value = sum((a * x**n for n, a in enumerate(c)), arb(0, 1e-25))
    return value, sum(
        (n * a * x ** (n - 1) for n, a in enumerate(c) if n), arb(0, 1e-25)
    )


def lugannani_rice() -> Iterator[arb]:
    """|z - r - log(tau sqrt(c_2)/r)/r| c_2^(3/2)."""
    height, c = arb(0.8), arb(150)
    # tau > -.2 and c2 >= .8 v follow from D > -.2 (N + s^2)
    require(
        literal("median.hpp", r"d > (-[\d.]+) \* \(dim \+ nc\)\)") >= -0.2,
        "D of the sign",
    )
    require(0.8 * named("median.hpp", "series_from") >= 150, "v of the sign")
    most = literal("median.hpp", r"if \(!\(tau <= ([\d.]+)\)\)")
    require(math.log1p(most) <= SADDLES[1], "tau of the sign")
    per_lambda, per_omega = ratio()
    log = SADDLES[1] * per_lambda
    small = (-c * height**2 / 2).exp() * c * c.sqrt() * (2 * arb.pi()).sqrt()
    for t in boxes(0, 0.5, 8):
        arcs, ends = circle(t), end(t, height)
        for at in boxes(*SADDLES, 16):
            size = [abs(1 / ((x + at).exp() - 1)) for x, _ in arcs]
            rest = integral(
                a / w / (w * w - height**2)
                for a, (_, w) in zip(size, arcs, strict=True)
            )
            g0 = integral(a / w for a, (_, w) in zip(size, arcs, strict=True))
            gauss = (1 / height + g0) / (c * height) / arb.pi()
            delta = rest + small * (ends + gauss)
            yield (delta + per_omega**3 * log.exp() / 6) * (log + arb(0.03)).exp()


ORDER = 13  # terms g_0, g_2, ... of the median's integrand
DELTA = -0.6, -0.3  # of half the median less the mean


def moments() -> list[list[fmpq_poly]]:
    """[j][m]: (-1)^(j + m) (2j - 1)!!/m! times the coefficient of lambda^(2j + 1) in
    theta^m lambda/(e^lambda - 1) (2 k/lambda^2)^-(j + 1/2), polynomials in t."""
    size, t = 2 * ORDER, fmpq_poly([0, 1])
    square = [
        (2 if n % 2 == 0 else 4 * t - 2) * fmpq(1, math.factorial(n))
        for n in range(2, size + 2)
    ]
    theta = fmpq_poly(
        [0] + [fmpq((-1) ** (n + 1), math.factorial(n)) for n in range(1, size)]
    )
    over = inverse(
        fmpq_poly([fmpq(1, math.factorial(n + 1)) for n in range(size)]), size
    )
    out, double = [], 1
    for j in range(ORDER):
        power, alpha = [fmpq_poly([1])], fmpq(-2 * j - 1, 2)
        for n in range(1, 2 * j + 2):
            terms = (
                (alpha * k - (n - k)) * square[k] * power[n - k]
                for k in range(1, n + 1)
            )
            power.append(sum(terms, fmpq_poly([])) / n)
        row, weight = [], over
        for m in range(2 * j + 2):
            at = sum(
                (power[i] * weight[2 * j + 1 - i] for i in range(2 * j + 2)),
                fmpq_poly([]),
            )
            row.append(at * fmpq((-1) ** (j + m) * double, math.factorial(m)))
            weight = (weight * theta).truncate(size)
        out.append(row)
        double *= 2 * j + 1
    return out


def inverse(p: fmpq_poly, size: int) -> fmpq_poly:
    out = fmpq_poly([1 / p[0]])
    for _ in range(5):
        out = (out * (2 - (p * out).truncate(size))).truncate(size)
    return out


def on(p: fmpq_poly, t: arb) -> arb:
    """The range of a polynomial on a box, about its middle."""
    mantissa, power = t.mid().man_exp()
    shifted = p(fmpq_poly([fmpq(mantissa) * fmpq(2) ** int(power), 1]))
    return arb_poly(shifted)(t - t.mid())


def larger(a: arb, b: arb) -> arb:
    if not b.is_finite():
        raise ArithmeticError(f"saddle: {b}")
    return max(a, b.upper())


def median_series(terms: int, least: int) -> Iterator[arb]:
    """|D - median|/sqrt(v) of the series of so many terms from v = `least` on."""
    x = arb(1) / least
    p = [
        fmpq_poly([fmpq(c.numerator, c.denominator) for c in row])
        for row in coefficients(terms)
    ]
    # what the header has are these numbers, rounded
    for j, row in enumerate(p[1:7], 1):
        [written] = numbers("median.hpp", f"double c{j}[]", skip=-1)
        if [float(fmpq(c)) for c in row] != written:
            raise ArithmeticError(f"saddle: c{j} of the median's series")
    a, top = moments(), terms + 3
    exact = [fmpq_poly([])] * top  # of x^k
    power = [fmpq_poly([1]), *exact[1:]]
    for m in range(2 * top):
        for j in range(top):
            for k in range(top - j if m < len(a[j]) else 0):
                exact[j + k] = exact[j + k] + a[j][m] * power[k]
        power = [
            sum((p[i] * power[k - i] for i in range(min(k + 1, terms))), fmpq_poly([]))
            for k in range(top)
        ]
    if any(exact[:terms]):
        raise ArithmeticError("saddle: the median's terms")
    height, gauss = arb(1), (-arb(least) / 2).exp()
    for t in boxes(0, 0.5, 64):
        arcs, delta = circle(t), box(*DELTA)
        theta = [1 - (-x).exp() for x, _ in arcs]
        size = [
            abs((-delta * th).exp() / (x.exp() - 1))
            for th, (x, _) in zip(theta, arcs, strict=True)
        ]
        law = [
            abs((-delta * th - x).exp()) for th, (x, _) in zip(theta, arcs, strict=True)
        ]
        series = arb_poly([on(row, t) for row in p])
        if not delta.contains(series(box(0, x))):
            raise ArithmeticError("saddle: the median itself")
        rest, powers = arb_poly([]), [arb_poly([1])]
        for _ in range(2 * ORDER):
            powers.append(powers[-1] * series)
        for j, row in enumerate(a):
            here = sum((powers[m] * on(c, t) for m, c in enumerate(row)), arb_poly([]))
            rest += here * arb_poly([0, 1]) ** j
        total = sum((abs(on(exact[k], t)) * x**k for k in range(terms, top)), arb(0))
        total += sum((abs(rest[k]) * x**k for k in range(top, rest.length())), arb(0))
        odd = arb(math.prod(range(1, 2 * ORDER, 2)))
        total += (
            odd
            * x**ORDER
            * integral(
                s / w ** (2 * ORDER - 1) / (w * w - height**2)
                for s, (_, w) in zip(size, arcs, strict=True)
            )
        )
        tails = end(t, height) * arb(0.6).exp() + integral(s * 3 for s in size) / (
            least - 24
        )
        total += (2 * arb.pi() * least).sqrt() * gauss * tails
        slope = 1 - x * integral(
            f / w / (w * w - height**2) for f, (_, w) in zip(law, arcs, strict=True)
        )
        slope -= (2 * arb.pi() * least).sqrt() * gauss * 99
        yield 2 * total * x.sqrt() / slope


def majorant(least: float) -> Iterator[arb]:
    """The most that |F'| grows about a panel of short segments, c_2 >= least."""
    for t in (arb(0), arb(0.5)):

        def weight(x: acb, analytic: bool, t: arb = t) -> acb:
            v = x * x / arb(least)
            first, second = (1 + v).log(analytic=analytic) / v, (3 + v) / (1 + v) ** 2
            psi = arb(79) / 100 + (1 - 2 * t) * first + t * (second - arb(79) / 100)
            return (x / 2 - x * x * psi).exp() * (1 + v).sqrt(analytic=analytic)

        # what is left out is below 2e-6 near 0 and 1e-90 beyond 40
        total = acb.integral(weight, acb(1e-6), acb(40)).real + arb(1e-6, 1.001e-6)
        yield arb(11) / 3 * arb(0.5).exp() * 2 / arb.pi() * total
