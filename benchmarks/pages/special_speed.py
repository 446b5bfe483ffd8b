"""Special functions beside SciPy's: time of one value, in arrays and by itself.

    python benchmarks/pages/special_speed.py

writes docs/benchmarks/special-speed.md (a minute). Both libraries take turns on one
core, and the median of the rounds' ratios counts.
"""

import csv
import os

if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # before cores are counted

from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import scipy.special
import scipy.stats
from machine import machine

import rsbounds
from rsbounds import confidence, special

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks" / "special-speed.md"
SIZE = 20_000
CALLS = 2_000  # of a function of one number
ROUNDS = 15
ALPHA = 0.001

Function = Callable[[], Any]


class Case(NamedTuple):
    name: str
    size: int
    ours: Function
    peer: Function | None


def tail(rng: np.random.Generator, df: float, nc: float) -> Case:
    degrees, shift = np.full(SIZE, df), np.full(SIZE, nc)
    x = special.ncx2_ppf(rng.uniform(0.001, 0.999, SIZE), degrees, shift)
    return Case(
        f"`ncx2_cdf`, {df:g}, {nc:g}",
        SIZE,
        lambda: special.ncx2_cdf(x, degrees, shift),
        lambda: scipy.special.chndtr(x, degrees, shift),
    )


def quantile(rng: np.random.Generator, df: float, nc: float) -> Case:
    p = rng.uniform(0.001, 0.999, SIZE // 20)
    return Case(
        f"`ncx2_ppf`, {df:g}, {nc:g}",
        len(p),
        lambda: special.ncx2_ppf(p, df, nc),
        lambda: scipy.special.chndtrix(p, df, nc),
    )


def few_values(rng: np.random.Generator, df: float, nc: float) -> Case:
    """An array of 1,000 values at a small noncentrality."""
    x = (df + nc) * rng.lognormal(0, 0.3, 1000)
    return Case(
        f"`ncx2_cdf`, {df:g}, {nc:g}, 1,000 values",
        len(x),
        lambda: special.ncx2_cdf(x, df, nc),
        lambda: scipy.special.chndtr(x, df, nc),
    )


def bound(rng: np.random.Generator, n: int) -> Case:
    counts = rng.integers(n // 2, n, SIZE // 10)
    return Case(
        f"`confidence.lower_bound`, n {n:,}",
        len(counts),
        lambda: confidence.lower_bound(counts, n, ALPHA),
        lambda: scipy.special.betaincinv(counts, n - counts + 1, ALPHA),
    )


def repeated(function: Callable[..., Any], *args: Any) -> Function:
    def calls() -> None:
        for _ in range(CALLS):
            function(*args)

    return calls


def numbers() -> list[Case]:
    """Calls with one number each."""
    normal = {"ndtr": -1.3, "log_ndtr": -1.3, "ndtri": 0.3, "ndtri_exp": -1.5}
    counts = [(k, n) for n in (1000, 10_000, 100_000) for k in (9 * n // 10, n - 10)]
    return [
        *(
            Case(
                f"`{name}({x})`",
                CALLS,
                repeated(getattr(special, name), x),
                repeated(getattr(scipy.special, name), x),
            )
            for name, x in normal.items()
        ),
        Case(
            "`ncx2_cdf(800, 784, 20)`",
            CALLS,
            repeated(special.ncx2_cdf, 800.0, 784.0, 20.0),
            repeated(scipy.special.chndtr, 800.0, 784.0, 20.0),
        ),
        *(
            Case(
                f"`lower_bound({k}, {n})`",
                CALLS,
                repeated(confidence.lower_bound, k, n, ALPHA),
                repeated(scipy.special.betaincinv, k, n - k + 1, ALPHA),
            )
            for k, n in counts
        ),
    ]


def radius(rng: np.random.Generator, name: str) -> Case:
    p_a, dim = rng.uniform(0.55, 0.999, SIZE // 10), 150528
    radii: dict[str, Function] = {
        "semielastic.radius": lambda: rsbounds.semielastic.radius(p_a, 0.25, 0.01, dim),
        "lipschitz.radius": lambda: rsbounds.lipschitz.radius(
            p_a, 0.25, lip=0.1, sigma_min=0.2, dim=dim
        ),
        "lipschitz.ratio": lambda: rsbounds.lipschitz.ratio(p_a, dim),
    }
    return Case(f"`{name}`, d 150528", len(p_a), radii[name], None)


def cases() -> list[Case]:
    rng = np.random.default_rng(0)
    z = 3 * rng.standard_normal(SIZE)
    log_p = scipy.special.log_ndtr(z)
    p = rng.random(SIZE)
    central = [0.5, 1, 3, 4, 10, 60, 61, 80, 200, 784, 1e4, 1e5]
    laws = [*((df, 0) for df in central), (784, 100), (150528, 1000)]
    inverted = [*((df, 0) for df in (0.5, 1, 4, 10, 60, 200, 784)), (784, 100)]
    return [
        *(tail(rng, df, nc) for df, nc in laws),
        *(quantile(rng, df, nc) for df, nc in inverted),
        Case(
            "`log_ndtr`",
            SIZE,
            lambda: special.log_ndtr(z),
            lambda: scipy.special.log_ndtr(z),
        ),
        Case(
            "`ndtri_exp`",
            SIZE,
            lambda: special.ndtri_exp(log_p),
            lambda: scipy.special.ndtri_exp(log_p),
        ),
        Case(
            "`ndtr`",
            SIZE,
            lambda: special.ndtr(z),
            lambda: scipy.special.ndtr(z),
        ),
        Case(
            "`ndtri`",
            SIZE,
            lambda: special.ndtri(p),
            lambda: scipy.special.ndtri(p),
        ),
        *(few_values(rng, df, nc) for df in (1, 4, 4.5) for nc in (1, 1000)),
        *(bound(rng, n) for n in (1000, 10_000, 100_000)),
        *numbers(),
        *(
            radius(rng, name)
            for name in ("semielastic.radius", "lipschitz.radius", "lipschitz.ratio")
        ),
    ]


def inverse(rng: np.random.Generator, df: float, far: bool) -> Case:
    """Degrees of freedom by inversion beside the quantile that they belong to."""
    nc = df / 8
    if far:
        log_p = -rng.uniform(50, 600, SIZE // 10)
        x = special.ncx2_isf_exp(log_p, df, nc)
        return Case(
            "far in the upper tail",
            SIZE // 10,
            lambda: special.ncx2_df_sf_exp(log_p, x, nc),
            lambda: special.ncx2_isf_exp(log_p, df, nc),
        )
    p = rng.uniform(0.001, 0.999, SIZE // 10)
    x = special.ncx2_ppf(p, df, nc)
    return Case(
        "near the middle",
        SIZE // 10,
        lambda: special.ncx2_df(p, x, nc),
        lambda: special.ncx2_ppf(p, df, nc),
    )


def beside_quantiles() -> str:
    """The ratios of degrees of freedom by inversion, least and largest."""
    rng = np.random.default_rng(1)
    spans = []
    for far in (False, True):
        rows = [row(inverse(rng, df, far)) for df in (1.5, 5, 30, 300, 3000, 1e5)]
        ratios = [found.ratio for found in rows]
        spans.append(f"{min(ratios):.2f} to {max(ratios):.2f} {rows[0].name}")
    return ", ".join(spans)


def spent(function: Function) -> float:
    start = process_time()
    function()
    return process_time() - start


HEAD = ["function, df, nc", "rsbounds, ns", "SciPy, ns", "ratio"]


class Row(NamedTuple):
    """Nanoseconds of both libraries, and their ratio, which is 0 without a peer."""

    name: str
    ours: float
    peer: float
    ratio: float

    def cells(self) -> list[str]:
        if not self.ratio:
            return [self.name, f"{self.ours:.0f}", "", ""]
        return [self.name, f"{self.ours:.0f}", f"{self.peer:.0f}", f"{self.ratio:.2f}"]


def row(case: Case) -> Row:
    if case.peer is None:
        alone = median(spent(case.ours) for _ in range(ROUNDS))
        return Row(case.name, alone / case.size * 1e9, 0.0, 0.0)
    pairs = [(spent(case.ours), spent(case.peer)) for _ in range(ROUNDS)]
    ratio = median(ours / peer for ours, peer in pairs)
    ours, peer = (median(times) / case.size * 1e9 for times in zip(*pairs, strict=True))
    return Row(case.name, ours, peer, ratio)


TEXT = """# Special functions beside SciPy

Processor time of one value in an array of 1,000 to 20,000, or of one call where a
number stands in the name: medians of {rounds} rounds in which both libraries take turns
in one process on one core, made by

```sh
python benchmarks/pages/special_speed.py
```

on: {machine}. Other programs ran at the same time: the ratios count, the time here over
SciPy's. SciPy's functions are `chndtr`, `chndtrix`, `ndtr`, `log_ndtr`, `ndtri`,
`ndtri_exp` and `betaincinv`; none of them states an error bound.

SciPy is quicker in {lost} of [{compared} cases](special-speed.csv):

{losses}

In the other {won} the ratio is {least:.2f} to {most:.2f}, in half of them at most
{middle:.2f}. Radii, for which SciPy has no function: {alone}

`ncx2_df` takes, in times of the quantile of the same law (df 1.5 to 100,000,
nc = df/8): {inverses}.

Points and probabilities are in random order. In sorted arrays the processor predicts
SciPy's branches: of 4,000 sorted points at 1, 2 and 4 degrees it takes 0.76 to 0.89 of
the time that rsbounds takes, at 3 and from 10 degrees on more than rsbounds.

Below one degree of freedom SciPy is quicker in every array: there a tail is a sum that
ends by its terms, and a quantile is searched by Ridders's method, each step a tail.
Whole degrees of freedom at a small noncentrality have sums of few terms, which points
of one law share; for others SciPy's sums are quicker than the integral. The proofs cost
time too: tails carry their exponent in two doubles, and `confidence.lower_bound`
carries an error bound through its search.
"""


def table(rows: list[Row]) -> str:
    cells = [HEAD, ["---"] * len(HEAD), *(row.cells() for row in rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def page(rows: list[Row]) -> str:
    losses = [row for row in rows if row.ratio > 1]
    wins = [row.ratio for row in rows if 0 < row.ratio <= 1]
    alone = [row for row in rows if not row.ratio]
    radii = ", ".join(f"{row.name} {row.ours:.0f} ns" for row in alone)
    return TEXT.format(
        rounds=ROUNDS,
        machine=machine(),
        compared=len(losses) + len(wins),
        lost=len(losses),
        losses=table(losses),
        won=len(wins),
        least=min(wins),
        most=max(wins),
        middle=median(wins),
        alone=f"{radii}.",
        inverses=beside_quantiles(),
    )


def main() -> None:
    rows = sorted(map(row, cases()), key=lambda row: -row.ratio)
    PAGE.write_text(page(rows))
    with PAGE.with_suffix(".csv").open("w", newline="", encoding="utf-8") as file:
        written = csv.writer(file, lineterminator="\n")
        written.writerows([HEAD, *(row.cells() for row in rows)])


if __name__ == "__main__":
    main()
