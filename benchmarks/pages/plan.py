"""docs/benchmarks/plan.md: what `rsbounds plan` expects, and what full runs find.

    python benchmarks/pages/plan.py FOLDER

FOLDER keeps the result files; a second call goes on with them. About ten minutes of a
core.
"""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from machine import machine

from rsbounds import certify_dataset, demo, schemes
from rsbounds.certify import forecast
from rsbounds.certify.internal import Forecast
from rsbounds.results import Results
from rsbounds.sampling.torch_sampler import TorchSampler

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks" / "plan.md"
SIGMA, PILOT = 0.5, 50
RADII = (0.0, 0.5, 1.0, 1.5)
ALL = 1000  # held-out digits


def part(run: Results, places: range) -> Results:
    """The rows of some of a run's inputs."""
    return replace(run, rows=tuple(row for row in run.rows if row.idx in places))


def measures(run: Results, n0: int) -> list[float]:
    """What a run found, in the order of `expected`."""
    samples = n0 + run.samples() / len(run.rows)
    return [run.average_radius(), *run.certified_accuracy(RADII).tolist(), samples]


def expected(own: Forecast) -> list[tuple[float, float, float]]:
    """What is expected: means, and the ends of the intervals."""
    samples = own.samples, own.samples, own.samples
    return [tuple(own.average_radius), *map(tuple, own.accuracy), samples]


def line(name: str, values: Sequence[str]) -> str:
    return f"| {name} | {' | '.join(values)} |"


def side_by_side(
    name: str, pilot: Results, n: int, fixed: Results, staged: Results | None
) -> list[str]:
    """Expected and found, a line each."""
    lines = []
    n0 = 100
    forecasts = forecast(pilot, [n], radii=RADII)
    for own, found in zip(forecasts, (fixed, staged), strict=True):
        if found is None:
            continue
        *shares, samples = expected(own)
        kind = "fixed" if own.procedure.tolerance is None else "staged"
        cells = [f"{mean:.3f} ({low:.2f}-{high:.2f})" for mean, low, high in shares]
        lines.append(line(f"{name}, {kind}: expected", [*cells, f"{samples[0]:.0f}"]))
        *values, drawn = measures(found, n0)
        cells = [f"{value:.3f}" for value in values]
        lines.append(line("found", [*cells, f"{drawn:.0f}"]))
    return lines


def covered(pilots: Sequence[Results], found: Results, n: int) -> list[str]:
    """How often intervals of disjoint pilots hold what was found, and how far means
    are off.
    """
    truth = measures(found, 100)[:-1]
    inside = np.zeros(len(truth))
    means = []
    for pilot in pilots:
        each = expected(forecast(pilot, [n], radii=RADII)[0])[:-1]
        held = [
            low <= value <= high
            for (_, low, high), value in zip(each, truth, strict=True)
        ]
        inside += held
        means.append([mean for mean, _, _ in each])
    off = np.mean(means, axis=0) - truth
    spread = np.std(means, axis=0)
    return [
        line("found", [f"{value:.3f}" for value in truth]),
        line("mean of the expected", [f"{v:.3f}" for v in np.mean(means, axis=0)]),
        line("mean error", [f"{v:+.3f}" for v in off]),
        line("spread of the pilots", [f"{v:.3f}" for v in spread]),
        line("intervals that hold it", [f"{v:.0f} of {len(pilots)}" for v in inside]),
    ]


def main(folder: Path) -> None:
    torch.set_num_threads(1)
    _, _, x, y = demo.digits()
    sampler = TorchSampler(demo.model(), 10)

    def run(name: str, **numbers: object) -> Results:
        path = folder / f"{name}.tsv"
        scheme = schemes.gaussian(SIGMA)
        return certify_dataset(sampler, (x, y), scheme, out=path, **numbers)

    small = run("all1k", start=0, max=ALL, n=1000)
    large = run("all10k", start=0, max=ALL, n=10_000)
    fixed = run("f100k", start=0, max=PILOT, n=100_000)
    staged = run("s100k", start=0, max=PILOT, n=100_000, bound="staged")
    pilots = [part(small, range(k, k + PILOT)) for k in range(0, ALL, PILOT)]
    heads = ["ACR", *(f"r = {radius:g}" for radius in RADII)]
    text = [
        "# What a pilot expects, and what is found",
        "",
        "`rsbounds plan` beside full runs: the demo's network on its 1000 held-out "
        f"digits, sigma = {SIGMA}, alpha = 0.001, pilots of {PILOT} digits at n = "
        "1,000. Written by `benchmarks/pages/plan.py` on "
        f"{machine('torch')}. Intervals are the middle nine tenths.",
        "",
        f"## The pilot's own {PILOT} digits, with a hundred times its samples",
        "",
        line("n = 100,000", [*heads, "samples"]),
        line("---", ["---:"] * (len(heads) + 1)),
        *side_by_side("of a pilot", pilots[0], 100_000, fixed, staged),
        "",
        f"## Other digits: {len(pilots)} pilots, and all {ALL} digits at n = 10,000",
        "",
        line("fixed", heads),
        line("---", ["---:"] * len(heads)),
        *covered(pilots, large, 10_000),
        "",
        "A pilot of 50 inputs knows the accuracy of the others to .03, and most of an "
        "interval's width comes from that. As the 50 inputs are resampled, intervals "
        "are somewhat too narrow, above all near accuracy 1. Take a pilot's inputs "
        "from all of the data (`--skip`).",
        "",
    ]
    PAGE.write_text("\n".join(text))
    print("\n".join(text))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
