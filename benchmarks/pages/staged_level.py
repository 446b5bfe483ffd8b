"""docs/benchmarks/staged-level.md: how often certificates of ``staged`` are wrong.

    python benchmarks/pages/staged_level.py docs/benchmarks/staged-level.md

A million simulated inputs for each probability of the class: the counts of all looks
are drawn, and bounds looked up. Takes a minute.
"""

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from machine import machine
from numpy.typing import NDArray
from scipy.special import ndtri

from rsbounds.confidence import BOUNDS, lower_bound
from rsbounds.procedure import TOLERANCE

N, ALPHA, RUNS, FEWEST = 100_000, 0.001, 1_000_000, 1000
PROBABILITIES = (0.5, 0.51, 0.6, 0.75, 0.9, 0.99, 0.999, 0.9999, 0.999999)

HEAD = """# The level of staged runs

The bound `staged` looks at the counts after n/100, 3n/100, n/10, 3n/10 and n samples,
and the largest of the bounds seen holds with probability $1 - \\alpha$, whatever
stopped the sampling ([proof](../theory/confidence.md)). Here {runs:,} inputs are
simulated for each probability p of the class, at n = {n:,} and $\\alpha$ = {alpha}:
{allowed:,} errors are allowed. Written by `benchmarks/pages/staged_level.py` on
{machine}.

- **as run**: the rule stops where the radius expected at n is at most {tolerance} sigma
  above the one that is certified; an error is a row whose bound is above p.
- **samples**: the mean share of n that is drawn so.
- **against us**: whoever stops the sampling knows p, and stops at the first look whose
  bound is above it.
- **unpaid**: the same with bounds that spend all of alpha at each look, as a run would
  state that peeks without paying for it.

| p | as run | samples | against us | unpaid |
| --- | --- | --- | --- | --- |
"""
TAIL = """
Where most inputs stop early the rule errs far less often than it may, because the early
looks have small shares of alpha. Peeking without paying errs up to {worst:.1f} times as
often as alpha says.
"""


class Errors(NamedTuple):
    """How many runs err, and the mean share of samples that they draw."""

    as_run: int
    samples: float
    against: int
    unpaid: int


def errors(p: float, rng: np.random.Generator) -> Errors:
    """Simulated runs at one probability."""
    staged = BOUNDS["staged"].looks
    assert staged is not None
    looks = staged.at(N, ALPHA)
    at_end = lower_bound(np.arange(N + 1), N, looks[-1].alpha, scores=True)
    hits = np.zeros(RUNS, dtype=np.int64)
    best = np.full(RUNS, -np.inf)  # the largest bound while a run goes on
    wrong = np.zeros(RUNS, dtype=bool)
    unpaid = np.zeros(RUNS, dtype=bool)
    going = np.ones(RUNS, dtype=bool)
    samples = np.zeros(RUNS)
    truth = float(ndtri(p))
    drawn = 0
    for look in looks:
        hits += rng.binomial(look.samples - drawn, p, RUNS)
        drawn = look.samples
        bounds = lower_bound(np.arange(drawn + 1), drawn, look.alpha, scores=True)
        alone = lower_bound(np.arange(drawn + 1), drawn, ALPHA, scores=True)
        wrong |= bounds[hits] > truth
        unpaid |= alone[hits] > truth
        best = np.where(going, np.maximum(best, bounds[hits]), best)
        samples[going] = drawn
        if drawn >= FEWEST:
            going &= ~_is_enough(best, at_end[hits * N // drawn])
    return Errors(
        as_run=int((best > truth).sum()),
        samples=float(samples.mean()) / N,
        against=int(wrong.sum()),
        unpaid=int(unpaid.sum()),
    )


def _is_enough(
    best: NDArray[np.float64], expected: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Where no more is expected than the tolerance; radii are never below 0."""
    gained = np.maximum(expected, 0.0) - np.maximum(best, 0.0)
    enough: NDArray[np.bool_] = ~(gained > TOLERANCE)
    return enough


def main() -> None:
    rng = np.random.default_rng(1)
    found = {p: errors(p, rng) for p in PROBABILITIES}
    allowed = round(RUNS * ALPHA)
    text = HEAD.format(
        runs=RUNS,
        n=N,
        alpha=ALPHA,
        allowed=allowed,
        machine=machine(),
        tolerance=TOLERANCE,
    )
    for p, made in found.items():
        text += f"| {p:g} | {made.as_run:,} | {made.samples:.3f} "
        text += f"| {made.against:,} | {made.unpaid:,} |\n"
    text += TAIL.format(worst=max(made.unpaid for made in found.values()) / allowed)
    Path(sys.argv[1]).write_text(text)


if __name__ == "__main__":
    main()
