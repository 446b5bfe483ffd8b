"""What is proved, read from the kernel's headers: approximations as they stand, before
rounding.
"""

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from flint import arb, arb_series

from rsbounds.lipschitz._ratio import RATIO_ERROR
from rsbounds.special._bounds import _LOW_TAIL, _TAIL

from .balls import Claim, Series, Sweep, literal, named, numbers, polynomial
from .binomial import nodes as binomial_nodes
from .central import tails as central
from .constants import constants
from .contour import errors, left_out, orders
from .few import tails as few
from .large_df import near_mills, stirling_share
from .large_df import tails as large_df
from .nodes import bound, densities, entries, functions
from .poisson import tails as poisson
from .ratio import ratio
from .rounding import centre, centre_literals, log_gamma, log_ndtr, tails
from .saddle import lugannani_rice, majorant, median_series


def chebyshev(coefficients: list[float], t: arb_series) -> arb_series:
    b1, b2 = t * 0, t * 0
    for c in reversed(coefficients[1:]):
        b1, b2 = 2 * t * b1 - b2 + arb(c), b1
    return t * b1 - b2 + arb(coefficients[0])


def mills_error(t: arb_series) -> arb_series:
    """Of (1 + 2 x) erfcx(x), relative; x = 3.75 (1 + t)/(1 - t)."""
    [c] = numbers("normal.hpp", "void mills(const V (&z)[N], V (&out)[N])")
    approximation = chebyshev(c, t)
    y = (1 - t) / (1 + t) / arb(3.75) if t[0] > -0.5 else None  # 1/x
    if y is not None and y[0] < arb(1) / 12:  # the series of erfcx envelops it
        square, total = y * y, t * 0
        for k in range(40, 0, -1):
            total = (1 + total) * square * arb(1 - 2 * k) / 2
        total += 1 + arb(0, 1e-36)
        truth = (2 + y) * total / arb.pi().sqrt()
    else:
        x = 3.75 * (1 + t) / (1 - t)
        truth = (1 + 2 * x) * (x * x).exp() * x.erfc()
    return approximation / truth - 1


def tail_error(i: int) -> Series:
    """Of the score at which log Q = -r^2/2, relative to r."""
    p = numbers("normal.hpp", "inline Sum2 ndtri_tail(Sum2 log_q)")[i]
    d = numbers("normal.hpp", "inline Sum2 ndtri_tail(Sum2 log_q)", skip=1)[i]
    text = "inline Sum2 ndtri_tail(Sum2 log_q)"
    start = numbers("normal.hpp", text, skip=2)[0][i]
    less = numbers("normal.hpp", text, skip=3)[0][i]

    def error(r: arb_series) -> arb_series:
        x = r - arb(start)
        z = r - arb(less) + polynomial(p, x) / polynomial([1.0, *d], x)
        tail = (z / arb(2).sqrt()).erfc() / 2
        # the hazard is above z, and below z + 1/z
        return (tail.log() + r * r / 2) / (z * r)

    return error


def cosine_error(v: arb_series) -> arb_series:
    [c] = numbers("simd.hpp", "vec& scale)", skip=1)
    return polynomial(c, v) - sum_of(factorial(2, 0), v)


def sum_of(
    coefficient: Callable[[int], arb], v: arb_series, terms: int = 60
) -> arb_series:
    """A power series, to a remainder that is below 1e-30 for the v in use."""
    total = v * 0
    for k in range(terms - 1, -1, -1):
        total = total * v + coefficient(k)
    return total + arb(0, 1e-30)


def centre_error(v: arb_series) -> arb_series:
    """Of the score of 1/2 + q, relative, v = q^2: that of the probability times q/(z
    phi(z)).
    """
    text = "inline Sum2 ndtri_centre(Sum2 q)"
    [p], [d] = numbers("normal.hpp", text), numbers("normal.hpp", text, skip=1)
    middle, cubic = centre_literals()
    x = arb(middle) - v
    more = v * polynomial(p, x) / polynomial([1.0, *d], x)
    root = (2 * arb.pi()).sqrt()
    slope = root + v * (arb(cubic) + more)  # z/q
    square = v * slope * slope
    mass = sum_of(
        lambda k: arb(-1) ** k / (arb(2) ** k * arb(k).fac() * (2 * k + 1)), square
    )
    return (slope * mass / root - 1) * arb(2.1)


def of_series(
    header: str, after: str, exact: Callable[[int], arb], *, skip: int = 0
) -> Series:
    """Relative error of coefficients against an exact power series."""
    [c] = numbers(header, after, skip=skip)
    return lambda v: polynomial(c, v) / sum_of(exact, v) - 1


def logarithm(terms: int) -> Series:
    """Of w/(2 v) = 1/3 + v/5 + v^2/7 + ... in twofold.hpp, relative."""
    [c] = numbers("twofold.hpp", "LogSeries log_series(double f)")

    def error(v: arb_series) -> arb_series:
        rest = (
            polynomial(c[1:terms], v) * v + arb(1) / 5
            if terms > 8
            else polynomial(c[:terms], v)
        )
        return (arb(1) / 3 + v * rest) / sum_of(lambda k: arb(1) / (2 * k + 3), v) - 1

    return error


def gamma_error(a: arb_series) -> arb_series:
    """Of 1/Gamma(1 + a)."""
    [c] = numbers("small_df.hpp", "inline double rgamma_defect(double a)")
    return a * polynomial(c, a) + 1 - (1 + a).rgamma()


def alternating(odd: int, first: int = 1) -> Callable[[int], arb]:
    return lambda k: arb(-1) ** k / (odd * k + first)


def factorial(step: int, first: int) -> Callable[[int], arb]:
    return lambda k: arb(-1) ** (k * (step > 1)) / arb(step * k + first).fac()


INF, SCORE, TAIL = math.inf, 1, 2
# Borders and bounds, from the code
SERIES_FROM = named("median.hpp", "series_from")
FOUR_FROM = 1 / literal("median.hpp", r"w > ([\de.-]+) \? median_series<7>")
CENTRE = literal("normal.hpp", r"fabs\(p - 0\.5\) <= ([\d.]+)\)")
FIRST, SECOND, THIRD = (
    literal("normal.hpp", pattern)
    for pattern in (
        r"i = \(r >= (\d+)\)",
        r"\) \+ \(r >= (\d+)\) \+",
        r"\(r >= (\d+)\);",
    )
)
NEWTON = literal("normal.hpp", r"if \(r <= (\d+)\)")
CLEAR = literal("simd.hpp", r"v\[lanes - 1\] <= ([\d.]+)\)")
FEW_TERMS = literal("twofold.hpp", r"if \(v < ([\de.-]+)\)")
SMALL_C2 = literal("ball.hpp", r"\(c2 < (\d+) \? small_score_error")
LOW_C2 = literal("gain.hpp", r"\(c2 < (\d+) \? \d+ : \d+\) \* half")
GROWTH = literal("gain.hpp", r"\(c2 < \d+ \? \d+ : (\d+)\) \* half")
LOW_GROWTH = literal("gain.hpp", r"\(c2 < \d+ \? (\d+) : \d+\) \* half")
TABLES_FROM = literal("contour.hpp", r"if \(c2 < (\d+)\)")
SIMD, EXP, SINCOS = "simd.hpp", "RSB_INLINE vec exp_neg(vec x)", "vec& scale)"
HALF = math.log(2) / 2 + 1e-9
ODD = "log1p_atan_general"  # in simd.hpp
NEAR = "LogAtan log1p_atan(vec q"


def reciprocal(first: int) -> Callable[[int], arb]:
    return lambda k: arb(1) / (2 * k + first)


def gauss() -> Iterator[tuple[arb, arb]]:
    """NumPy's 40 weights and their errors."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    for k, (x, w) in enumerate(zip(nodes[::-1], weights[::-1], strict=True)):
        node, weight = arb.legendre_p_root(40, k, weight=True)
        if not abs(node - arb(float(x))) < 1e-16:
            raise ArithmeticError(f"gauss: the node at {x}")
        yield weight, abs(arb(float(w)) - weight)


def weights() -> Iterator[arb]:
    return (error / weight for weight, error in gauss())


def rule() -> Iterator[arb]:
    yield sum((error for _, error in gauss()), arb(0)) / 2


NEAR_ATAN = of_series(SIMD, NEAR, alternating(2, 3), skip=1)
EXP_TWO = of_series("twofold.hpp", "Scaled2 exp_two", factorial(1, 2))
DEFECT = of_series("ball.hpp", "inline double log1p_defect", reciprocal(3))
CLAIMS: list[Claim | Sweep] = [
    Claim("mills", "M(z), z >= 0, as its Chebyshev sum", mills_error, -1, 1, 7e-17),
    Claim(
        "ndtri_centre", "the score's relative error", centre_error, 0, CENTRE**2, 3e-17
    ),
    Claim(
        "ndtri_tail[0]", "the score's error over r", tail_error(0), 2.27, FIRST, 1e-17
    ),
    Claim(
        "ndtri_tail[1]", "the score's error over r", tail_error(1), FIRST, SECOND, 2e-17
    ),
    Claim(
        "ndtri_tail[2]", "the score's error over r", tail_error(2), SECOND, THIRD, 1e-17
    ),
    Claim(
        "ndtri_tail[3]", "the score's error over r", tail_error(3), THIRD, NEWTON, 1e-17
    ),
    Claim("exp_neg", "e^r", of_series(SIMD, EXP, factorial(1, 0)), -HALF, HALF, 2e-17),
    Claim(
        "sin",
        "sin(r)/r in r^2",
        of_series(SIMD, SINCOS, factorial(2, 1)),
        0,
        2.4675,
        4e-17,
    ),
    Claim("cos", "cos(r) in r^2", cosine_error, 0, 2.4675, 2e-17),
    Claim(
        "log1p (near)",
        "log1p(v)/v",
        of_series(SIMD, NEAR, alternating(1)),
        0,
        CLEAR,
        6e-17,
    ),
    Claim(
        "atan (near)",
        "(q - atan q)/q^3",
        of_series(SIMD, NEAR, alternating(2, 3), skip=1),
        0,
        CLEAR,
        1e-16,
    ),
    Claim("atanh", "atanh(f)/f", of_series(SIMD, ODD, reciprocal(1)), 0, 0.0295, 4e-18),
    Claim(
        "atan",
        "atan(t)/t",
        of_series(SIMD, ODD, alternating(2), skip=1),
        0,
        0.1716,
        5e-18,
    ),
    Claim("log_series", "w/2v, 12 terms", logarithm(12), 0, 0.0401, 1.2e-19),
    Claim(
        "log_series (near)",
        "w/2v, 8 terms",
        logarithm(8),
        0,
        1.0003 * FEW_TERMS,
        1.4e-19,
    ),
    Claim(
        "exp_two",
        "(e^r - 1 - r)/r^2",
        of_series("twofold.hpp", "Scaled2 exp_two", factorial(1, 2)),
        -HALF,
        HALF,
        1e-16,
    ),
    Claim("log1p_defect", "(atanh(s)/s - 1)/s^2", DEFECT, 0, 0.0845, 1e-16),
    Claim("rgamma", "1/Gamma(1 + a)", gamma_error, 0, 0.5, 2e-18),
    Sweep("gauss (weight)", "40 nodes' weight", weights, -1, 1, 7.5e-13),
    Sweep("gauss (rule)", "40 nodes' weights", rule, -1, 1, 1.2e-14),
    Sweep(
        "saddle",
        "|z - z^| c_2^1.5 over tau",
        lugannani_rice,
        -0.3,
        1,
        named("median.hpp", "saddle_room"),
    ),
    Sweep(
        "median[7]",
        "|D - median|/sqrt v over v",
        partial(median_series, 7, SERIES_FROM),
        SERIES_FROM,
        INF,
        named("median.hpp", "series_room"),
    ),
    Sweep(
        "median[4]",
        "by four terms",
        partial(median_series, 4, FOUR_FROM),
        FOUR_FROM,
        INF,
        1.5e-17,
    ),
    Sweep(
        "majorant",
        "|F'| over F'(0) by c_2",
        partial(majorant, LOW_C2),
        LOW_C2,
        INF,
        GROWTH,
    ),
    Sweep("majorant (small)", "the same", partial(majorant, 0.5), 0.5, INF, LOW_GROWTH),
    Sweep(
        "discretisation",
        "the contour's rule, over its integral in c2,",
        errors,
        0.5,
        INF,
        3e-16,
    ),
    Sweep(
        "last node",
        "what lies beyond it, over the integral in c2,",
        left_out,
        0.5,
        INF,
        3.2e-16,
    ),
    Sweep(
        "orders",
        "what the tables' polynomials lack, likewise,",
        orders,
        TABLES_FROM,
        INF,
        5e-16,
    ),
    Sweep(
        "ndtri (centre)",
        "the score with its rounding, in p",
        centre,
        0.075,
        0.925,
        6.8e-16,
    ),
    Sweep(
        "ndtri (tails)",
        "the score with its rounding, relative, in r",
        tails,
        2.27,
        39,
        2.2e-16,
    ),
    Sweep(
        "log_gamma",
        "log Gamma over 9 more than its size,",
        log_gamma,
        1.5,
        5.1e7,
        named("gain.hpp", "tiny_error"),
    ),
    Sweep(
        "log_ndtr",
        "log Phi with its rounding, relative, in |z|,",
        log_ndtr,
        0,
        40,
        3.8e-15,
    ),
    Sweep(
        "simd",
        "rounding of simd.hpp over its counts, in arguments,",
        functions,
        0,
        700,
        1,
    ),
    Sweep(
        "tables",
        "the entries of nodes.hpp, relative, at nodes",
        entries,
        0.5,
        16,
        1.2e-16,
    ),
    Sweep(
        "densities", "sums for densities, relative, in c2,", densities, 0.5, INF, 8e-14
    ),
    Sweep(
        "score",
        "a score over 1 + |z|, in c2,",
        partial(bound, SCORE, 30),
        SMALL_C2,
        INF,
        named("ball.hpp", "score_error"),
    ),
    Sweep(
        "score (small)",
        "the same",
        partial(bound, SCORE, 0),
        0.5,
        SMALL_C2,
        named("ball.hpp", "small_score_error"),
    ),
    Sweep(
        "tail",
        "a tail or density with its rounding,",
        partial(bound, TAIL, 30),
        30,
        INF,
        8e-15,
    ),
    Sweep(
        "tail (small)", "the same", partial(bound, TAIL, 0), 0.5, SMALL_C2, _LOW_TAIL[1]
    ),
    Sweep(
        "tail (df 4)",
        "the same from 4 degrees on",
        partial(bound, TAIL, 0, 4),
        2,
        SMALL_C2,
        _TAIL[1],
    ),
    Sweep(
        "ratio", "R_d with its rounding, relative, in d,", ratio, 1, INF, RATIO_ERROR
    ),
    Sweep("constants", "constants of formulas, over their claims,", constants, 0, 1, 1),
    Sweep(
        "binomial nodes",
        "rounding of a node over node_error's, at n p(1 - p),",
        binomial_nodes,
        0.5,
        INF,
        1,
    ),
    Sweep(
        "central", "tails at nc = 0, with rounding, in whole df,", central, 1, 60, 4e-15
    ),
    Claim(
        "mills (near)",
        "M(z) as a polynomial in x = 1/(5 + z) - middle, relative,",
        near_mills,
        -0.0545,
        0.0547,
        3e-17,
    ),
    Sweep("stirling", "1/Gamma*, relative, in df,", stirling_share, 60, INF, 1e-16),
    Sweep(
        "large_df",
        "tails at nc = 0 within reach, with rounding, in df,",
        large_df,
        60,
        INF,
        1.7e-15,
    ),
    Sweep("few", "tails below one degree, with rounding, in df,", few, 0, 1, 3.2e-14),
    Sweep(
        "poisson",
        "tails at a small nc, with rounding, in whole df,",
        poisson,
        1,
        60,
        3.5e-15,
    ),
]
