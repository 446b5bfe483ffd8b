"""What calls take beside the least that they could: aims.md, and aims.csv with all.

    python benchmarks/pages/aims.py

``--anchors 10000 --rows 200000`` takes smaller clouds and files; ``--only scans``
measures one part again and keeps the page's other lines. Times are processor times of
all threads; each call and what it is held against take turns in one run of some
minutes. The page is written anew with each line.
"""

import argparse
import csv
import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import scipy.special
import scipy.stats
from machine import machine

from rsbounds import certify_dataset, confidence, lbrs, schemes, special
from rsbounds.semielastic import KNNSigma

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks" / "aims.md"
ANCHORS, DIM, POINTS = 60_000, 784, 256
ROWS = 1_000_000
TURNS = 3
CALLS = 300  # of one number
#: Seconds before each call: BLAS's threads look for work for some 30 ms after a
#: product, which would count for the call that comes next.
REST = 0.1
ALPHA = 0.001

#: One call in a process of its own: its first and a later time, in processor seconds.
FIRST = """
import json, time
import numpy as np
from rsbounds import lbrs
from rsbounds.semielastic import KNNSigma
x = np.random.default_rng(0).random((1000, 20))
labels = np.arange(1000) % 3
calls = {
    "neighbour_radius": lambda: lbrs.neighbour_radius(x[:9], x, labels),
    "KNNSigma": lambda: KNNSigma(x, .5, .1, 5).sigma(x[:9]),
}
def timed(call):
    begun = time.process_time()
    call()
    return time.process_time() - begun
found = {name: (timed(c), min(timed(c) for _ in range(5))) for name, c in calls.items()}
print(json.dumps(found))
"""


#: The chances of 0, 1, ... successes of so many, each of one chance.
Law = Callable[[int, float], Any]


class Line(NamedTuple):
    """What takes ``ours`` seconds, beside what takes ``theirs``; the aim of both's
    ratio.
    """

    what: str
    beside: str
    ours: float
    theirs: float
    aim: float

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs


def seconds(call: Callable[[], object], number: int = 1) -> float:
    begun = time.process_time()
    for _ in range(number):
        call()
    return (time.process_time() - begun) / number


def rested(call: Callable[[], object], number: int) -> float:
    time.sleep(REST)
    return seconds(call, number)


def turns(
    ours: Callable[[], object],
    theirs: Callable[[], object],
    number: int = 1,
    rounds: int = TURNS,
) -> tuple[float, float]:
    """The median times of two calls that take turns."""
    times = [(rested(ours, number), rested(theirs, number)) for _ in range(rounds)]
    return median(a for a, _ in times), median(b for _, b in times)


# --- scans over anchors


def isotropic(rng: np.random.Generator, labels: Any) -> Any:
    centres = rng.uniform(0, 1, (10, DIM))
    return centres[labels] + 0.1 * rng.standard_normal((len(labels), DIM))


def of_rank_20(rng: np.random.Generator, labels: Any) -> Any:
    centres = rng.uniform(0, 1, (10, DIM))
    bases = rng.standard_normal((10, 20, DIM)) / DIM**0.5
    points = centres[labels]
    for label in range(10):
        own = labels == label
        points[own] += rng.standard_normal((own.sum(), 20)) @ bases[label]
    return points


def uniform(rng: np.random.Generator, labels: Any) -> Any:
    return rng.uniform(0, 1, (len(labels), DIM))


CLOUDS = {
    "isotropic clusters": isotropic,
    "clusters of rank 20": of_rank_20,
    "uniform": uniform,
}


def scans(anchors: int, points: int = POINTS) -> Iterator[Line]:
    """Every scan of every cloud, what is measured of the anchors included."""
    for name, cloud in CLOUDS.items():
        rng = np.random.default_rng(0)
        labels = rng.integers(0, 10, anchors + points)
        drawn = cloud(rng, labels)
        x, memory, own = drawn[anchors:], drawn[:anchors], labels[:anchors]
        beside = f"product {points} x {DIM} x {anchors:,}"

        def multiplied(x: Any = x, memory: Any = memory) -> Any:
            return np.dot(x, memory.T)

        multiplied()
        for norm, method in product((1, 2, np.inf), ("paper", "tight")):
            scan = functools.partial(
                lbrs.neighbour_radius, x, memory, own, norm=norm, method=method
            )
            what = f"`neighbour_radius`, norm {norm}, {method}, {name}"
            yield Line(what, beside, *turns(scan, multiplied), 3)

        def levels(x: Any = x, memory: Any = memory) -> Any:
            return KNNSigma(memory, 0.5, 0.01, 20, 1.0).sigma(x)

        yield Line(f"`KNNSigma`, {name}", beside, *turns(levels, multiplied), 3)


def levels_among(anchors: int) -> Iterator[Line]:
    """The mean level of all anchors, and one query."""
    memory = np.random.default_rng(0).random((anchors, DIM))
    x = memory[0] + 0.01
    one = KNNSigma(memory, 0.5, 0.01, 20, 1.0)
    yield Line(
        f'`KNNSigma(shift="mean")`, {anchors:,} anchors',
        f"product {anchors:,} x {DIM} x {anchors:,}",
        *turns(
            lambda: KNNSigma(memory, 0.5, 0.01, 20), lambda: np.dot(memory, memory.T)
        ),
        3,
    )
    yield Line(
        f"`KNNSigma.sigma` of one point, {anchors:,} anchors",
        "product of matrix and vector (BLAS)",
        *turns(lambda: one.sigma(x), lambda: memory @ x, 10),
        3,
    )


def first_calls() -> Iterator[Line]:
    """What a process takes for a first call more than for others, beside 50 ms."""
    words = [sys.executable, "-c", FIRST]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    for name, (first, later) in json.loads(done.stdout).items():
        more = max(first - later, 1e-6)
        yield Line(f"first `{name}`, beyond later ones", "50 ms", more, 0.05, 1)


# --- calls of one number


def scalars() -> Iterator[Line]:
    """Special functions of one number beside SciPy's ufunc."""
    pairs = {
        "log_ndtr": (special.log_ndtr, scipy.special.log_ndtr, (-1.5,)),
        "ndtri": (special.ndtri, scipy.special.ndtri, (0.3,)),
        "ndtri_exp": (special.ndtri_exp, scipy.special.ndtri_exp, (-1.5,)),
    }
    for name, (ours, peer, given) in pairs.items():
        both = functools.partial(ours, *given), functools.partial(peer, *given)
        yield Line(f"`{name}`", "SciPy's", *turns(*both, 10 * CALLS), 1.5)
    both = (
        functools.partial(confidence.lower_bound, 950, 1000, ALPHA),
        functools.partial(scipy.special.betaincinv, 950, 51, ALPHA),
    )
    yield Line("`lower_bound`", "SciPy's betaincinv", *turns(*both, CALLS), 1.5)


def radii() -> Iterator[Line]:
    """A scheme's radius of scores that it was not asked before."""
    continuous = (
        schemes.gaussian(0.5),
        schemes.laplace(0.5),
        schemes.uniform(0.5),
        schemes.exponential(0.5),
    )
    discrete = (
        schemes.mask(50, 5),
        schemes.flips(0.1, 0.3),
        schemes.categorical(0.6, 3),
        schemes.deletion(0.9),
    )
    for aim, several in ((50e-6, continuous), (200e-6, discrete)):
        for scheme in several:
            own = getattr(scheme, "own_level", None)
            level = scheme.sigma(np.zeros(2)) if own is None else own
            scores = iter(np.linspace(1.1, 1.3, (TURNS + 1) * CALLS).tolist())

            def ask(scheme: Any = scheme, scores: Any = scores, z: Any = level) -> Any:
                return scheme.radius(next(scores), z, -1.3)

            seconds(ask, CALLS)
            taken = median(seconds(ask, CALLS) for _ in range(TURNS))
            text = f"{aim * 1e6:.0f} us"
            yield Line(f"`radius`, {scheme.name}", text, taken, aim, 1)


# --- many probabilities


def low(pairs: int = 96, size: int = 2000) -> Iterator[Line]:
    """Curves of flips in bulk, beside sums and lines in plain doubles."""
    both = [(a, d) for a in range(8) for d in range(13) if a + d][:pairs]
    p = np.sort(np.random.default_rng(0).uniform(0.3, 1, size))
    chances = iter(np.linspace(0.01, 0.05, 4 * TURNS).tolist())

    def ours() -> Any:
        curve = schemes.flips(next(chances), 0.6).curve
        return [curve.low(p, changes) for changes in both]

    what = f"`curve.low`, {size:,} probabilities at {pairs} pairs"
    for law in (by_powers, by_scipy):

        def theirs(law: Law = law) -> Any:
            return [plain_low(law, p, 0.01, 0.6, *changes) for changes in both]

        beside = f"plain doubles {law.__name__.replace('_', ' ')}, no bounds"
        yield Line(what, beside, *turns(ours, theirs), 3)


def by_powers(number: int, chance: float) -> Any:
    k = np.arange(number + 1)
    ways = scipy.special.comb(number, k)
    return ways * chance**k * (1 - chance) ** (number - k)


def by_scipy(number: int, chance: float) -> Any:
    return scipy.stats.binom.pmf(np.arange(number + 1), number, chance)


def plain_low(
    law: Law, p: Any, add: float, delete: float, ones: int, zeros: int
) -> Any:
    """What an event of probability p has at least, in doubles, without a bound."""
    here = np.outer(law(ones, add), law(zeros, 1 - delete)).ravel()
    there = np.outer(law(ones, 1 - delete), law(zeros, add)).ravel()
    order = np.argsort(there / here)
    here, there = np.cumsum(here[order]), np.cumsum(there[order])
    return np.interp(p, np.append(0, here), np.append(0, there))


# --- files


def one_class(batch: Any) -> Any:
    return np.eye(2)[np.zeros(len(batch), int)]


def two_classes(batch: Any) -> Any:
    return np.eye(2)[(batch[:, 0] > 0).astype(int)]


def files(rows: int) -> Iterator[Line]:
    """A file of many rows: a report of it, and a run that goes on with one."""
    with tempfile.TemporaryDirectory() as folder:
        yield from reports(Path(folder, "varied.tsv"), rows)
        yield resumed(Path(folder, "run.tsv"), rows)


def reports(out: Path, rows: int) -> Iterator[Line]:
    """A report of a thousand inputs' rows, which stand again for others."""
    import pandas

    certified(out, two_classes, np.resize(np.linspace(-2, 2, 1000), rows), most=1000)
    repeat(out, rows)

    def theirs() -> Any:
        table = pandas.read_csv(out, sep="\t")
        return [(table.correct & (table.radius >= r)).mean() for r in (0, 0.5, 1)]

    words = [sys.executable, "-m", "rsbounds", "report", str(out)]
    before = os.times()
    subprocess.run(words, check=True, capture_output=True)
    after = os.times()
    taken = after.children_user + after.children_system
    taken -= before.children_user + before.children_system
    pandas_time = seconds(theirs)
    what = f"`rsbounds report`, {rows:,} own rows"
    yield Line(what, "3 s", taken, 3.0, 1)
    yield Line(what, "pandas.read_csv", taken, pandas_time, 3 / pandas_time)


def resumed(out: Path, rows: int) -> Line:
    """A run that goes on with a file: rows of one class, as any index has them."""
    again = certified(out, one_class, np.zeros(rows), most=10)
    repeat(out, rows)
    words = [sys.executable, "-m", "rsbounds", "report", str(out)]
    report = functools.partial(subprocess.run, words, check=True, capture_output=True)
    before = os.times()
    report()
    after = os.times()
    taken = after.children_user + after.children_system
    taken -= before.children_user + before.children_system
    return Line(
        f"going on with {rows:,} own rows", "its report", seconds(again), taken, 3
    )


def certified(out: Path, model: Any, x: Any, most: int) -> Callable[[], Any]:
    """Certify the first inputs of many into a file; return what goes on with it."""
    again = functools.partial(
        certify_dataset,
        model,
        (np.stack([x, x], 1), np.zeros(len(x), int)),
        schemes.gaussian(0.5),
        n0=10,
        n=100,
        out=out,
        progress=False,
    )
    again(max=most)
    return again


def repeat(out: Path, rows: int) -> None:
    """The rows of a file once more, for all further inputs but three."""
    header, *lines = out.read_text().splitlines()
    cells = [line.split("\t", 1)[1] for line in lines]
    longer = (f"{i}\t{cells[i % len(cells)]}\n" for i in range(rows - 3))
    out.write_text(f"{header}\n{''.join(longer)}")
    manifest = Path(f"{out}.manifest.json")
    entries = json.loads(manifest.read_text())
    entries["data"] |= {"max": -1, "inputs": rows}
    manifest.write_text(json.dumps(entries))


HEAD = ["call", "takes", "beside", "which takes", "ratio", "aim"]


Row = list[str]


def row_of(line: Line) -> Row:
    times = shown(line.ours), shown(line.theirs)
    figures = f"{line.ratio:.2f}", f"{line.aim:.3g}"
    return [line.what, times[0], line.beside, times[1], *figures]


def share(row: Row) -> float:
    """The ratio of a row as a share of its aim."""
    return float(row[-2]) / float(row[-1])


def joined(lines: list[Line], kept: list[Row]) -> list[Row]:
    """Rows of the lines and those kept that are not among them; losses first."""
    rows = [row_of(line) for line in lines]
    measured_again = {(row[0], row[2]) for row in rows}
    rows += [row for row in kept if (row[0], row[2]) not in measured_again]
    return sorted(rows, key=share, reverse=True)


def page(table: list[Row], anchors: int, rows: int) -> str:
    missed = [row for row in table if share(row) > 1]
    cells = [HEAD, ["---"] * len(HEAD), *missed]
    shown_rows = "\n".join(f"| {' | '.join(row)} |" for row in cells)
    return f"""# Aims

How long calls take, beside a step that they cannot do without, such as one matrix
product, or beside a target. Made by

```sh
python benchmarks/pages/aims.py --anchors {anchors} --rows {rows}
```

on: {machine("pandas")}.
`--only` and the name of a part measure that part's lines again. The load average at the
end of the last part measured was {os.getloadavg()[0]:.1f}. Processor times of all
threads, medians of {TURNS} turns (files: one); scans include what is measured of the
anchors. [All {len(table)} ratios](aims.csv): of these {len(table) - len(missed)} are at
most their aim, and these are above it:

{shown_rows}

What misses its aim, and why:

- Scans: how many anchors have to be compared depends on the cloud. Against many guards
  (tight) in isotropic clusters of 10,000 anchors, with changes in l_1, the bound by the
  nearest anchor leaves 0.93 of 2.3 million pairs of point and rival, and no guard is
  good for most of them: six comparisons of codes each, some 50 ns a comparison. In l_2
  and l_inf it leaves 0.06 and 0.08 million. Guards laid side by side by coordinate, 64
  at once, took no less. On a loaded machine the product and the scan both take about a
  quarter longer.
- Threads of BLAS that wait between the products of one scan, too: under
  `OPENBLAS_NUM_THREADS=1`, with the scan itself on both cores, two of these lines are
  above 3: l_1, tight, 6.7 in isotropic clusters and 3.6 in clusters of rank 20.
- `KNNSigma.sigma` of one point, on a loaded machine alone: threads of BLAS that wait
  count as processor time.
"""


def shown(taken: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if taken >= size:
            return f"{taken / size:.3g} {unit}"
    return f"{taken * 1e6:.3g} us"


def parts(anchors: int, rows: int) -> dict[str, Callable[[], Iterator[Line]]]:
    return {
        "first": first_calls,
        "scalars": scalars,
        "radii": radii,
        "low": low,
        "scans": functools.partial(scans, anchors),
        "levels": functools.partial(levels_among, anchors // 6),
        "files": functools.partial(files, rows),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--anchors", type=int, default=ANCHORS)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--only", choices=parts(0, 0))
    options = vars(parser.parse_args())
    only = options.pop("only")
    kept: list[Row] = []
    if only:
        with PAGE.with_suffix(".csv").open(newline="", encoding="utf-8") as file:
            kept = list(csv.reader(file))[1:]
    lines = []
    for name, part in parts(**options).items():
        if only not in (None, name):
            continue
        for line in part():
            print(f"{line.ratio:6.2f} of {line.aim:.3g}  {line.what}", flush=True)
            lines.append(line)
            # whatever ends the run: what was measured stands
            write(joined(lines, kept), **options)


def write(table: list[Row], anchors: int, rows: int) -> None:
    PAGE.write_text(page(table, anchors, rows))
    with PAGE.with_suffix(".csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([HEAD, *table])


if __name__ == "__main__":
    main()
