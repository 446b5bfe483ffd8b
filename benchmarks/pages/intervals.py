"""docs/benchmarks/intervals.md: how often printed intervals and values of p are wrong,
and intervals.csv beside it with more numbers of pairs.

    python benchmarks/pages/intervals.py docs/benchmarks/intervals.md

Exact levels are sums over all outcomes; the others are simulated, with a fixed seed.
Takes some minutes.
"""

import csv
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from machine import machine
from numpy.typing import NDArray
from scipy.special import ndtr
from scipy.stats import binom

from rsbounds.certify._forecast import (
    _PilotCounts,
    _run,
    _Simulated,
    _simulated,
    _summary,
)
from rsbounds.procedure import Procedure
from rsbounds.reports._bets import lower_mean
from rsbounds.reports._card import share_of
from rsbounds.reports._difference import stairs
from rsbounds.reports._paired import LEVEL, band, holm, interval_of_mean, sign_test
from rsbounds.schemes import gaussian

RUNS = 200
BANDS_RUN = 60
MOST = 2.0  # the largest radius of both runs
PAIRS = (30, 60, 150, 500)
SHARES = np.unique(
    np.concatenate([np.geomspace(1e-4, 0.5, 60), 1 - np.geomspace(1e-4, 0.5, 60)])
)
OTHERS = (0.0, 0.01, -0.5, -2.0)  # the smaller one of two values
PILOTS = 80
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

HEAD = """# The level of printed intervals

What `compare`, `report` and `plan` print beside a number, and how often it is wrong.
Written by `benchmarks/pages/intervals.py` on {machine}; {runs} simulated data sets a
line ({bands} of bands), with a fixed seed, and exact sums over all outcomes where it
says so. Radii are at most {most}. The
[proof](../theory/confidence.md#the-mean-of-bounded-values) needs no law of the inputs,
only that they are drawn at random and independent.

"""
DIFFERENCES = """## compare: the difference of average radii

By bets on the mean; "missed" may be at most 5 %. "normal" is the mean plus and minus
1.96 standard errors: narrower, and wrong where few pairs differ much ([for more numbers
of pairs](intervals.csv)).

| pairs | differences a - b | missed | width | normal missed | normal width |
| ---: | --- | ---: | ---: | ---: | ---: |
"""
EXACT = """
Differences of two values, the larger one, {most}, for a share of the pairs: the exact
chance to miss, at the worst of {shares} shares from .0001 to .9999 and of the other
values {others}.

| pairs | missed at most |
| ---: | ---: |
"""
BANDS = """
## compare: the band of the picture

The true difference of certified accuracies leaves it somewhere, at any radius.

| pairs | radii | missed | mean width |
| ---: | --- | ---: | ---: |
"""
TESTS = """
## compare: p, and Holm's p of several radii

McNemar's p at a level of 5 %: the exact chance that p is at most .05 where both runs
are as likely to certify an input that one of them certifies, over all outcomes. Holm's:
the chance that any of eight radii has such a p, simulated, with runs that are alike.

| pairs | share that one of both certifies | p at most .05 | Holm, one of eight |
| ---: | ---: | ---: | ---: |
"""
ACCURACY = """
## report: intervals of accuracies

Clopper and Pearson's, on a page, in a picture and on a card: the exact chance to miss
at the worst of {shares} accuracies, over all counts; 5 % is allowed. At one radius, or
for one class: not at all radii at once.

| inputs | missed at most |
| ---: | ---: |
"""
PLAN = """
## plan: the middle nine tenths

From a pilot `plan` prints between which ends 90 % of simulated runs lie: an estimate
with no level. Simulated: pilots of inputs whose scores have a known law, n = 1,000,
sigma 1, and how often the interval for the average radius at n = 10,000 holds that of
all inputs, of the pilot's own inputs, and of as many other inputs; {pilots} pilots a
line.

| pilot | scores | holds that of all | of its own | of as many others |
| ---: | --- | ---: | ---: | ---: |
"""
PLAN_END = """
At the worst of these laws {least} of the intervals hold the average of all inputs,
where 90 % is meant. Two samples of one size differ by more than a sample from all, so
that as many other inputs are held less often.
"""


def normal_like(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    """Radii that differ by a normal number, a little on average."""
    b = rng.uniform(0.5, 1.0, n)
    return np.clip(b + 0.05 + 0.2 * rng.standard_normal(n), 0, MOST), b


def nearly_alike(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    """Most differ by a little, one in a hundred by much."""
    b = rng.uniform(0.3, 0.7, n)
    large = np.where(rng.random(n) < 0.01, 1.2, 0.0)
    return b + np.clip(0.01 * rng.standard_normal(n), -0.1, 0.1) + large, b


def rarer(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    """The same with four in a thousand."""
    b = rng.uniform(0.3, 0.7, n)
    large = np.where(rng.random(n) < 0.004, 1.2, 0.0)
    return b + np.clip(0.01 * rng.standard_normal(n), -0.1, 0.1) + large, b


def heavy(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    """Differences with a heavy tail, to one side."""
    b = np.full(n, 0.1)
    return np.minimum(b + 0.02 * rng.pareto(1.5, n), MOST), b


def gained(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    """One run certifies a tenth of the inputs, the other another tenth."""
    u, r = rng.random(n), rng.uniform(0.2, 1.5, n)
    a, b = np.where(u < 0.1, -1.0, r), np.where(u > 0.9, -1.0, r)
    return a, b


POPULATIONS: dict[str, Callable[[np.random.Generator, int], tuple[Floats, Floats]]] = {
    "normal, deviation .2": normal_like,
    "tiny, and 1.2 for 1 in 100": nearly_alike,
    "tiny, and 1.2 for 4 in 1,000": rarer,
    "Pareto's, index 1.5": heavy,
    "a tenth each certified by one alone": gained,
}


def differences(rng: np.random.Generator) -> Iterator[list[str]]:
    for name, draw in POPULATIONS.items():
        a, b = draw(rng, 400_000)
        truth = float(np.mean(np.maximum(a, 0) - np.maximum(b, 0)))
        for n in PAIRS:
            missed = naive = 0
            width = narrow = 0.0
            for _ in range(RUNS):
                a, b = (np.maximum(own, 0) for own in draw(rng, n))
                low, high = interval_of_mean(a, b, MOST, MOST)
                reach = 1.96 * float(np.std(a - b, ddof=1)) / math.sqrt(n)
                missed += not low <= truth <= high
                naive += not abs(float(np.mean(a - b)) - truth) <= reach
                width += (high - low) / RUNS
                narrow += 2 * reach / RUNS
            shares = f"{missed / RUNS:.1%}", f"{naive / RUNS:.1%}"
            yield [str(n), name, shares[0], f"{width:.3f}", shares[1], f"{narrow:.3f}"]


def two_values() -> Iterator[str]:
    """The exact chance to miss where differences have two values."""
    alpha = (1 - LEVEL) / 2
    for n in PAIRS:
        hits = np.arange(n + 1)
        counts = np.stack([n - hits, hits], axis=1)
        worst = 0.0
        for value in OTHERS:
            least = (value + MOST) / (2 * MOST)
            low = lower_mean([least, 1.0], counts, alpha)
            high = 1 - lower_mean([1 - least, 0.0], counts, alpha)
            for share in SHARES:
                mean = least + (1 - least) * share
                chances = binom.pmf(hits, n, share)
                worst = max(worst, chances[(low > mean) | (high < mean)].sum())
        yield f"| {n} | {worst:.2%} |"


def bands(rng: np.random.Generator) -> Iterator[str]:
    at = np.linspace(0, MOST, 400)
    for name in list(POPULATIONS)[2:]:
        draw = POPULATIONS[name]
        big = [np.sort(own) for own in draw(rng, 400_000)]
        shares = [1 - np.searchsorted(own, at) / own.size for own in big]
        for n in (60, 150):
            missed, width = 0, 0.0
            for _ in range(BANDS_RUN):
                drawn = stairs(band(*draw(rng, n), MOST))
                place = np.minimum(
                    np.searchsorted(drawn.edges, at), len(drawn.edges) - 1
                )
                low, high = drawn.low[place], drawn.high[place]
                apart = shares[0] - shares[1]
                missed += bool(((apart < low) | (apart > high)).any())
                width += float(np.mean(high - low)) / BANDS_RUN
            yield f"| {n} | {name} | {missed / BANDS_RUN:.1%} | {width:.3f} |"


def tests(rng: np.random.Generator) -> Iterator[str]:
    radii = np.linspace(0, 1.4, 8)
    for n in PAIRS:
        for share in (0.02, 0.1, 0.5):
            level = 0.0
            for differ in range(n + 1):
                rejected = 0.0
                # the largest count of the fewer that is rejected, or one below it
                for k in range(int(binom.ppf(0.025, differ, 0.5)), -1, -1):
                    if sign_test(k, differ - k) <= 0.05:
                        rejected = 2 * binom.cdf(k, differ, 0.5)
                        break
                level += binom.pmf(differ, n, share) * rejected
            wrong = 0
            for _ in range(RUNS):
                one = rng.uniform(0.0, 1.5, n)
                other = np.where(rng.random(n) < share, rng.uniform(0, 1.5, n), one)
                swapped = rng.random(n) < 0.5
                a, b = np.where(swapped, (one, other), (other, one))
                splits = [
                    (np.sum((a >= r) & (b < r)), np.sum((b >= r) & (a < r)))
                    for r in radii
                ]
                each = [sign_test(int(x), int(y)) for x, y in splits]
                wrong += min(holm(each)) <= 0.05
            yield f"| {n} | {share:g} | {level:.2%} | {wrong / RUNS:.1%} |"


def accuracies() -> Iterator[str]:
    for n in (*PAIRS, 1000):
        hits = np.arange(n + 1)
        ends = np.array([share_of(int(count), n)[1:] for count in hits])
        worst = max(
            binom.pmf(hits, n, p)[(ends[:, 0] > p) | (ends[:, 1] < p)].sum()
            for p in SHARES
        )
        yield f"| {n} | {worst:.2%} |"


def of_one_normal_law(rng: np.random.Generator, n: int) -> tuple[Floats, Bools]:
    return rng.normal(1.5, 1.0, n), rng.random(n) < 0.9


def of_two_kinds(rng: np.random.Generator, n: int) -> tuple[Floats, Bools]:
    """Half of the inputs are certain, the others nearly tied."""
    scores = np.where(rng.random(n) < 0.5, 3.5, 0.2) + 0.1 * rng.standard_normal(n)
    return scores, rng.random(n) < 0.9


def all_alike(rng: np.random.Generator, n: int) -> tuple[Floats, Bools]:
    return np.full(n, 1.0), np.ones(n, dtype=bool)


def nearly_all_right(rng: np.random.Generator, n: int) -> tuple[Floats, Bools]:
    """A pilot often holds no wrong input."""
    return rng.normal(2.5, 0.5, n), rng.random(n) < 0.98


LAWS: dict[str, Callable[[np.random.Generator, int], tuple[Floats, Bools]]] = {
    "normal, deviation 1": of_one_normal_law,
    "two kinds": of_two_kinds,
    "all alike": all_alike,
    "nearly all right": nearly_all_right,
}


def average(
    scores: Floats, correct: Bools, procedure: Procedure, rng: np.random.Generator
) -> float:
    """The average certified radius of one run on inputs of these scores."""
    level = np.ones((1, scores.size))
    inputs = _Simulated(ndtr(scores)[None], level, level, correct[None])
    radii = _run(inputs, procedure, gaussian(1.0), rng).radii[0]
    return float(np.where(correct, radii, 0.0).mean())


def plans(rng: np.random.Generator) -> Iterator[tuple[str, float]]:
    procedure = Procedure(n=10_000, alpha=0.001)
    pilot_n = 1000
    for name, draw in LAWS.items():
        truth = average(*draw(rng, 200_000), procedure, rng)
        for size in (50, 200):
            held = np.zeros(3)
            for _ in range(PILOTS):
                scores, correct = draw(rng, size)
                first = rng.binomial(pilot_n, ndtr(scores))
                pilot = _PilotCounts(
                    first=first,
                    second=pilot_n - first,
                    n=np.full(size, pilot_n),
                    sigma=np.ones(size),
                    correct=correct,
                )
                simulated = _simulated(pilot, 100, rng)
                run = _run(simulated, procedure, gaussian(1.0), rng)
                expected = _summary(run, simulated, procedure, ()).average_radius
                own = average(scores, correct, procedure, rng)
                others = average(*draw(rng, size), procedure, rng)
                found = np.array([truth, own, others])
                held += (expected.low <= found) & (found <= expected.high)
            all_of, own_of, others_of = held / PILOTS
            yield (
                f"| {size} | {name} | {all_of:.1%} | {own_of:.1%} | {others_of:.1%} |",
                all_of,
            )


def main() -> None:
    page = Path(sys.argv[1])
    rng = np.random.default_rng(1)
    rows = [*differences(rng)]
    head = DIFFERENCES.splitlines()[-2].strip("| ").split(" | ")
    with page.with_suffix(".csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([head, *rows])
    ends = {str(PAIRS[0]), str(PAIRS[-1])}
    parts = [
        HEAD.format(machine=machine(), runs=RUNS, bands=BANDS_RUN, most=f"{MOST:g}"),
        DIFFERENCES,
        *(f"| {' | '.join(row)} |\n" for row in rows if row[0] in ends),
        EXACT.format(
            most=f"{MOST:g}",
            shares=len(SHARES),
            others=", ".join(f"{value:g}" for value in OTHERS),
        ),
        *(f"{line}\n" for line in two_values()),
        BANDS,
        *(f"{line}\n" for line in bands(rng)),
        TESTS,
        *(f"{line}\n" for line in tests(rng)),
        ACCURACY.format(shares=len(SHARES)),
        *(f"{line}\n" for line in accuracies()),
        PLAN.format(pilots=PILOTS),
    ]
    lines, shares = zip(*plans(np.random.default_rng(2)), strict=True)
    parts += [f"{line}\n" for line in lines]
    parts.append(PLAN_END.format(least=f"{min(shares):.1%}"))
    page.write_text("".join(parts))


if __name__ == "__main__":
    main()
