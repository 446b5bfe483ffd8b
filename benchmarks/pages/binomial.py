"""Exact binomial intervals of this package, SciPy and statsmodels.

    python benchmarks/pages/binomial.py

writes docs/benchmarks/binomial.md (a minute). Ends are compared with those of the
incomplete beta function in ball arithmetic of 400 bits.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from time import process_time
from typing import NamedTuple

import flint
import numpy as np
from machine import machine
from scipy.stats import binomtest
from statsmodels.stats.proportion import proportion_confint

from rsbounds import confidence

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks" / "binomial.md"
BITS = 200
ROUNDS = 15
Ends = tuple[float, float]

CASES = (
    (9, 10, 0.05),
    (990, 1_000, 0.001),
    (99_500, 100_000, 0.001),
    (3, 100_000, 0.001),
    (999_999, 1_000_000, 1e-6),
    (500_000, 1_000_000, 1e-12),
    (1, 10_000_000, 1e-12),
    (50, 100, 1e-100),
)


def ours(count: int, n: int, alpha: float) -> Ends:
    lower, upper = confidence.interval(count, n, alpha)
    return float(lower), float(upper)


def by_scipy(count: int, n: int, alpha: float) -> Ends:
    found = binomtest(count, n).proportion_ci(1 - alpha, "exact")
    return float(found.low), float(found.high)


def by_statsmodels(count: int, n: int, alpha: float) -> Ends:
    lower, upper = proportion_confint(count, n, alpha, "beta")
    return float(lower), float(upper)


PROGRAMS: dict[str, Callable[[int, int, float], Ends]] = {
    "rsbounds": ours,
    "SciPy": by_scipy,
    "statsmodels": by_statsmodels,
}


class Found(NamedTuple):
    """What a program is off by at an interval's ends, relative, > 0 if too narrow."""

    lower: float
    upper: float


def bisected(successes: int, failures: int, alpha: float, near: float) -> flint.arb:
    """The p at which a beta variable of these two parameters is below with alpha/2.

    ``near`` is within a millionth of it, or of its distance from 1.
    """
    level = flint.arb(alpha) / 2
    room = flint.arb(min(near, 1 - near)) / 10**6
    least, most = near - room, near + room
    if not share(least, successes, failures) < level < share(most, successes, failures):
        raise ArithmeticError(f"{near} is far from the end")
    for _ in range(60):
        middle = ((least + most) / 2).mid()
        if share(middle, successes, failures) < level:
            least = middle
        else:
            most = middle
    return (least + most) / 2


def share(p: flint.arb, successes: int, failures: int) -> flint.arb:
    return p.beta_lower(successes, failures, True)


def truth(count: int, n: int, alpha: float) -> tuple[flint.arb, flint.arb]:
    """Both ends, to far more digits than a double has."""
    lower, rest = (
        float(confidence.lower_bound(k, n, alpha / 2)) for k in (count, n - count)
    )
    return (
        bisected(count, n - count + 1, alpha, lower),
        1 - bisected(n - count, count + 1, alpha, rest),
    )


def off_by(program: str, case: tuple[int, int, float]) -> Found:
    with flint.ctx.workprec(BITS):
        lower, upper = truth(*case)
        low, high = PROGRAMS[program](*case)
        return Found(float((low - lower) / lower), float((upper - high) / upper))


def seconds(program: str, case: tuple[int, int, float]) -> float:
    """Processor time of a call, the least of fifty."""
    call = PROGRAMS[program]
    times = []
    for _ in range(50):
        start = process_time()
        call(*case)
        times.append(process_time() - start)
    return min(times)


def shown(value: float) -> str:
    return f"{value:+.0e}".replace("e-0", "e-") if value else "0"


def lines() -> Iterator[str]:
    yield " | ".join(["| count", "n", "alpha", *PROGRAMS]) + " |"
    yield "|" + " ---: |" * (3 + len(PROGRAMS))
    for case in CASES:
        found = [", ".join(map(shown, off_by(name, case))) for name in PROGRAMS]
        count, n, alpha = case
        yield " | ".join([f"| {count:,}", f"{n:,}", f"{alpha:g}", *found]) + " |"


def times() -> str:
    """The microseconds of a call, program by program, in turns."""
    rounds = [[seconds(name, CASES[2]) for name in PROGRAMS] for _ in range(ROUNDS)]
    each = [1e6 * median(column) for column in zip(*rounds, strict=True)]
    parts = [f"{name} {time:.0f}" for name, time in zip(PROGRAMS, each, strict=True)]
    return ", ".join(parts)


def per_element(many: int = 10_000) -> str:
    """The microseconds of an element of an array, of those that take one."""
    counts = np.arange(1, many + 1)
    calls: dict[str, Callable[[], object]] = {
        "rsbounds": lambda: confidence.interval(counts, 2 * many, 0.001),
        "statsmodels": lambda: proportion_confint(counts, 2 * many, 0.001, "beta"),
    }
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(5):
        for name, call in calls.items():
            start = process_time()
            call()
            found[name].append(process_time() - start)
    parts = [f"{name} {1e6 * median(t) / many:.2f}" for name, t in found.items()]
    return ", ".join(parts)


def page() -> str:
    table = "\n".join(lines())
    return f"""# Binomial intervals

Clopper and Pearson's interval, by three functions:
`rsbounds.confidence.interval(count, n, alpha)`, SciPy's
`binomtest(count, n).proportion_ci(1 - alpha, "exact")` and statsmodels'
`proportion_confint(count, n, alpha, "beta")`. Written by
`benchmarks/pages/binomial.py` on {machine("statsmodels")}.

The relative error of the lower and the upper end against ball arithmetic of
{BITS} bits. A positive one is too narrow: the interval then misses more often than
alpha. rsbounds rounds each end outwards.

{table}

statsmodels is within a unit in the last place, on either side. SciPy takes
1 - alpha, which is 1 in float64 for alpha = 1e-100. Where an end is near 1,
`interval(..., scores=True)` returns its normal score, which keeps the digits of 1 - p.

Microseconds of a call with one count ({CASES[2][0]:,} of {CASES[2][1]:,}): {times()}.
Of an element of an array of 10,000: {per_element()}; SciPy's takes no arrays.
"""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
