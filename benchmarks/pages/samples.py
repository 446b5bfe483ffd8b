"""docs/benchmarks/samples.md: what runs that stop early lose, on published counts.

    python benchmarks/pages/samples.py FOLDER

FOLDER has a clone of locuslab/smoothing under locuslab+smoothing. Nothing of it is
stored here. Counts of the page on unions lie beside that page.
"""

import csv
import json
import sys
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from math import ceil
from pathlib import Path
from typing import NamedTuple

import numpy as np
from machine import machine

from rsbounds.audit._printing import Printing
from rsbounds.audit._published import earned
from rsbounds.confidence import BOUNDS, anytime_lower_bound, lower_bound
from rsbounds.confidence.bound import Looks, part_of
from rsbounds.results import read

DOCS = Path(__file__).parents[2] / "docs" / "benchmarks"
N, ALPHA = 100_000, 0.001
LEVELS = (0.001, 0.01)  # at one of which a published file holds
RUNS = 10
RECIPE = "SmoothAdv x 2"
STEP = 0.25  # of the radii that papers print
#: What is simulated beside: tolerance, and looks of others.
TOLERANCES = (0.02, 0.04, 0.08)
FOURTHS = Looks(
    "clopper-pearson",
    (
        (Fraction(1, 100), Fraction(1, 10)),
        (Fraction(1, 25), Fraction(1, 10)),
        (Fraction(1, 6), Fraction(2, 10)),
        (Fraction(1), Fraction(6, 10)),
    ),
)


class Inputs(NamedTuple):
    """The inputs of a run: probabilities of the class, and the second's of the rest."""

    name: str
    sigma: float
    p: np.ndarray
    other: np.ndarray | None  # None: bounded by 1 - p_a, as published
    correct: np.ndarray


class Plan(NamedTuple):
    """How samples are spent."""

    name: str
    looks: Sequence[tuple[int, float]]  # numbers of samples and levels
    tolerance: float | None
    anytime: bool = False


class Loss(NamedTuple):
    """What a plan has, against all samples."""

    samples: float
    average: float  # of the average radius
    printed: float  # of certified accuracy at printed radii, in points
    anywhere: float  # at any radius below what the last look can show


def plans() -> Iterator[Plan]:
    """What is compared."""
    for n in (10_000, 50_000):
        yield Plan(f"fixed, n = {n:,}", [(n, ALPHA)], None)
    staged = BOUNDS["staged"].looks
    assert staged is not None
    for tolerance in TOLERANCES:
        looks = [(look.samples, look.alpha) for look in staged.at(N, ALPHA)]
        yield Plan(f"staged, T = {tolerance}", looks, tolerance)
    looks = [(look.samples, look.alpha) for look in FOURTHS.at(N, ALPHA)]
    yield Plan("four looks, T = 0.05", looks, 0.05)
    often = [(ceil(1000 * 1.5**k), ALPHA) for k in range(12) if 1000 * 1.5**k < N]
    yield Plan("anytime, T = 0.04", [*often, (N, ALPHA)], 0.04, anytime=True)


# --- counts


def published(root: Path) -> Iterator[Inputs]:
    """The counts that Cohen et al.'s files can have come from."""
    rng = np.random.default_rng(0)
    folder = root / "locuslab+smoothing" / "data" / "certify"
    for network, sigma in (
        ("imagenet/resnet50", "0.25"),
        ("imagenet/resnet50", "0.50"),
        ("imagenet/resnet50", "1.00"),
        ("cifar10/resnet110", "0.25"),
        ("cifar10/resnet110", "0.50"),
    ):
        path = folder / network / f"noise_{sigma}" / "test" / f"sigma_{sigma}"
        rows = read(path).rows
        radius = [row.radius for row in rows]
        tables = [float(sigma) * earned(N, level) for level in LEVELS]
        # a row that abstains says no count; one that no count earns has all
        counts = min(
            (
                np.where(
                    (k := Printing.of_radii(radius, table).counts(r, table)) < 0, N, k
                )
                for r, table in ((np.array(radius), table) for table in tables)
            ),
            key=lambda counts: int((counts == N).sum()),
        )
        p = counts / N
        abstains = np.array(radius) == 0
        p[abstains] = rng.uniform(0.25, 0.5, int(abstains.sum()))
        correct = np.array([row.correct for row in rows])
        name = f"{'ImageNet' if 'imagenet' in network else 'CIFAR-10'}, {sigma}"
        yield Inputs(name, float(sigma), p, None, correct)


def ours() -> Iterator[Inputs]:
    """Counts of the page on unions, of the networks of one recipe."""
    for data in ("mnist", "fashion-mnist"):
        with np.load(DOCS / "union" / f"{data}-0.npz") as file:
            labels, top, counts = (
                file[key].astype(np.int64) for key in ("labels", "top", "counts")
            )
            about = json.loads(bytes(file["about"]))
        for sigma, place in networks(about):
            each = counts[:, place]
            order = np.argsort(-each, axis=1)
            first, second = np.take_along_axis(each, order, 1)[:, :2].T
            label = np.take_along_axis(top[:, place], order, 1)[:, 0]
            total = each.sum(1).max()
            other = second / np.maximum(total - first, 1)
            correct = label == labels
            yield Inputs(f"{data}, {sigma}", sigma, first / total, other, correct)


def networks(about: dict) -> Iterator[tuple[float, int]]:
    """The level and the place of the networks of one recipe."""
    for place, (recipe, sigma) in enumerate(about["networks"]):
        if recipe == RECIPE:
            yield sigma, place


# --- runs


@cache
def scores(n: int, alpha: float, anytime: bool) -> np.ndarray:
    """Scores of the lower bounds of all counts; above 0 alone where that is dear."""
    if not anytime:
        return lower_bound(np.arange(n + 1), n, alpha, scores=True)
    # between these counts it is interpolated: for a comparison, not a certificate
    few = np.unique(np.r_[np.linspace(0, n, 400), n - np.geomspace(1, n, 400)]).round()
    few = np.unique(few.astype(np.int64))
    ends = anytime_lower_bound(few, n, alpha, scores=True)
    return np.interp(np.arange(n + 1), few, np.maximum(ends, -9.0))


def radii(
    first: np.ndarray, second: np.ndarray | None, n: int, alpha: float, anytime: bool
) -> np.ndarray:
    """Radii in units of sigma."""
    if second is None:
        return np.maximum(scores(n, alpha, anytime)[first], 0.0)
    table = scores(n, part_of(alpha, Fraction(1, 2)), anytime)
    low, high = table[first], np.minimum(-table[n - second], -table[first])
    with np.errstate(invalid="ignore"):
        return np.where(low > high, (low - high) / 2, 0.0)


def run(
    inputs: Inputs, plan: Plan, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Radii of a plan, how many samples it drew, and the radii of all samples."""
    size = len(inputs.p)
    first = np.zeros(size, dtype=np.int64)
    second = None if inputs.other is None else np.zeros(size, dtype=np.int64)
    best, drawn = np.zeros(size), np.zeros(size)
    live = np.ones(size, dtype=bool)
    before = 0
    last, level = plan.looks[-1]
    for n, alpha in plan.looks:
        hits = rng.binomial(n - before, inputs.p)
        first += hits
        if second is not None:
            second += rng.binomial(n - before - hits, inputs.other)
        before = n
        here = radii(first, second, n, alpha, plan.anytime)
        best = np.where(live, np.maximum(best, here), best)
        drawn[live] = n
        if plan.tolerance is None or n == last:
            continue
        ahead = None if second is None else second * last // n
        expected = radii(first * last // n, ahead, last, level, plan.anytime)
        live &= expected - best > plan.tolerance
    if before < N:  # all samples of the same run
        hits = rng.binomial(N - before, inputs.p)
        first += hits
        if second is not None:
            second += rng.binomial(N - before - hits, inputs.other)
    return best, drawn, radii(first, second, N, ALPHA, anytime=False)


def loss(inputs: Inputs, plan: Plan) -> Loss:
    """What a plan loses on average over simulated runs, against the same samples."""
    rng = np.random.default_rng(1)
    printed = np.arange(0.0, 4.0, STEP / inputs.sigma)
    # beyond this the last look, of less than all of alpha, can't show anything
    cap = float(radii(*_all(inputs), *plan.looks[-1], plan.anytime)[0])
    anywhere = np.linspace(0.0, cap - 1e-3, 400)
    samples = average = full = 0.0
    curves = [np.zeros(len(at)) for at in (printed, anywhere)]
    for _ in range(RUNS):
        here, drawn, of_all = run(inputs, plan, rng)
        samples += drawn.mean()
        average += here[inputs.correct].sum()
        full += of_all[inputs.correct].sum()
        for curve, at in zip(curves, (printed, anywhere), strict=True):
            curve += certified(of_all, inputs, at) - certified(here, inputs, at)
    points = [100 * curve.max() / RUNS for curve in curves]
    return Loss(samples / RUNS / N, average / full, *points)


def _all(inputs: Inputs) -> tuple[np.ndarray, np.ndarray | None]:
    """Counts of which all fall on one class, for any number of samples."""
    return np.array([-1]), None if inputs.other is None else np.array([0])


def certified(radius: np.ndarray, inputs: Inputs, at: np.ndarray) -> np.ndarray:
    """Certified accuracies."""
    held = np.sort(radius[inputs.correct & (radius > 0)])
    return (len(held) - np.searchsorted(held, at)) / len(radius)


_MEAN = [
    "mean of ImageNet's three levels",
    "samples",
    "average radius",
    "loss at printed radii",
    "loss at any radius",
]


def main(root: Path) -> None:
    everything = [*published(root), *ours()]
    lines = [
        "# Fewer samples",
        "",
        f"What is lost against n = {N:,} samples of every input, at alpha = {ALPHA}, "
        "by runs that stop early (the bound `staged`, "
        "[how to choose](../howto/choose-n-and-alpha.md), and others) and by runs with "
        "fewer samples. Written by "
        "`benchmarks/pages/samples.py`,",
        f"on {machine()}: {RUNS} simulated runs of each, on the counts of",
        "",
        "- Cohen et al. 2019, whose files state radii: the counts that earn these "
        "([published](published.md)), p_B = 1 - p_A. Rows that abstain don't say "
        "their counts: their p_A is taken uniform in [0.25, 0.5].",
        f"- [the page on unions](union.md): networks trained by {RECIPE}, seed 0, "
        "with the runner-up's bound.",
        "",
        "Samples and average radius are shares of the full run's; a loss is the "
        "largest of certified accuracy, in points: at the radii that papers "
        f"print (multiples of {STEP}), and at any radius. Not counted: the last look "
        "has .9 of alpha, so inputs all of whose samples agree certify "
        f"{cap(1.0) - cap(0.9):.3f} sigma less.",
        "",
    ]
    chosen = list(plans())
    rows, means = [["counts", *(plan.name for plan in chosen)]], []
    for inputs in everything:
        losses = [loss(inputs, plan) for plan in chosen]
        cells = [
            f"{own.samples:.2f}, {own.average:.4f}, {own.printed:.2f}, "
            f"{own.anywhere:.2f}"
            for own in losses
        ]
        rows.append([inputs.name, *cells])
        if inputs.name.startswith("ImageNet"):
            means.append(losses)
    cells = []
    for each in zip(*means, strict=True):
        average = np.mean(np.array(each), axis=0)
        cells.append("{:.2f}, {:.4f}, {:.2f}, {:.2f}".format(*average))
    rows.append(["mean of ImageNet's three", *cells])
    shown = [_MEAN, ["---"] * len(_MEAN)]
    for plan, cell in zip(chosen, cells, strict=True):
        shown.append([plan.name, *cell.split(", ")])
    with (DOCS / "samples.csv").open("w", newline="", encoding="utf-8") as out:
        csv.writer(out, lineterminator="\n").writerows(rows)
    lines += [f"| {' | '.join(row)} |" for row in shown]
    lines += [
        "",
        "[Each level, and the networks of the page on unions](samples.csv).",
        "",
        *TEXT,
        "",
    ]
    (DOCS / "samples.md").write_text("\n".join(lines))
    print("\n".join(lines))


def cap(share: float) -> float:
    """The score that all of N samples show at a share of alpha."""
    return float(lower_bound(N, N, share * ALPHA, scores=True))


TEXT = (
    "The default has looks at n/100, 3n/100, n/10, 3n/10 and n with .01, .01, .03, .05",
    "and .9 of alpha, and T = 0.04: about half of ImageNet's samples for .994 of its",
    "radius. More looks save hardly more. A bound that holds at any time pays for",
    "looks that nobody takes. Fewer samples of every input lose most at large radii.",
    "At n = 10,000 hardly an input stops early, because the last two thirds of its",
    "samples add more than 0.04 sigma to most radii.",
)

if __name__ == "__main__":
    main(Path(sys.argv[1]))
