"""The two polynomials of poisson.hpp, few whole degrees and a small noncentrality;
derived in docs/theory/off-centre-ball.md.

Errors are relative, in units of 2^-53: every rounding counts in full.
"""

from collections.abc import Callable, Iterator

from flint import arb

from .balls import literal, named, require
from .central import EXPONENTIAL, finished, start, upper
from .few import index

Growth = Callable[[int], arb]

# Of a coefficient, beside the e^-h in it; of a step of Horner's scheme, where no
# instruction rounds its product and its sum once
COEFFICIENT, STEP = 1, 2


def ends(growth: Growth, most: int, least: float) -> None:
    """The terms are below `least` before there are too many; as their ratios fall,
    the last ratio is then below 3/4, and so is what is left, less than thrice that.
    """
    term = arb(1)
    for k in range(most - 1):
        term *= growth(k)
    require(term < least, "the polynomial's length")
    require(least ** (1 / most) < 0.75, "its last ratio")


def below(a: arb, most: arb, length: int) -> arb:
    """The lower tail: y is at most (a + sqrt(a^2 + 4 most))/2, and E_(k + 1)/E_k at
    most 1 + h/(k + 1).
    """
    y = (a + (a * a + 4 * most).sqrt()) / 2

    def growth(k: int) -> arb:
        return (y + most / (k + 1)) / (a + k + 1)

    ends(growth, length, 1e-19)
    mean, _ = index(growth, 0)
    error = STEP * mean + COEFFICIENT + EXPONENTIAL
    return finished(arb(1), error, 3 * arb("1e-19"))


def terms(a: float, most: float) -> int:
    """How many the kernel takes of the upper tail's, as it counts them."""
    k, size = 0, 1.0
    while size > 1e-20:
        k += 1
        size *= most / ((k + 1) * (a + k))
    return k


def lacking(a: arb, most: arb, terms: int, first: int) -> arb:
    """What all T_k without the weights from `first` on lack, over the first term: at
    y >= a + h, so that h(a + h) <= most.
    """
    h = ((a * a + 4 * most).sqrt() - a) / 2
    total, share = arb(0), arb(1)
    for k in range(terms):
        total += share * h ** (first - 1 - k)
        share *= most / (a + k + 1)
    return total / arb(first).fac() / (1 - h / (first + 1))


def beyond(a: arb, most: arb, length: int, half: arb | None) -> arb:
    """The upper tail: H_a, and a polynomial with T_(k + 1)/T_k at most h/(k + 2)."""

    def growth(k: int) -> arb:
        return most / ((k + 2) * (a + k + 1))

    more = int(literal("poisson.hpp", r"poisson_beyond = (\d+);"))
    ends(growth, length - more, 1e-20)
    count = terms(float(a), float(most))
    mean, _ = index(growth, 0)
    rough = lacking(a, most, count, count + 1) * (more + 2)
    error = STEP * (mean + 1) + COEFFICIENT + EXPONENTIAL + rough
    cut = 3 * arb("1e-20") + lacking(a, most, count, count + more + 1)
    central = upper(a, int(float(a) - 0.5), half)
    return central.max(finished(arb(1), error, cut))


def tails() -> Iterator[arb]:
    """Of both tails, for each number of degrees."""
    most = arb(named("poisson.hpp", "poisson_most"))
    length = int(literal("poisson.hpp", r"most_poisson_terms = (\d+);"))
    half = start()
    for df in range(1, int(named("central.hpp", "central_most")) + 1):
        a = arb(df) / 2
        yield below(a, most, length)
        yield beyond(a, most, length, half if df % 2 else None)
