"""What more samples would show, from a pilot of some tens of inputs.

Print what runs of 1,000 to 1,000,000 samples are expected to show, fixed and staged:
average certified radius, certified accuracies with an interval, samples of an input,
and hours at the pilot's own rate. Recommends the run of fewest samples that loses
little. An estimate from the pilot's counts, no certificate.
"""

import argparse
import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rsbounds import results
from rsbounds._numerics.errors import ArgumentError
from rsbounds.certify import Expected, Forecast, cheapest, forecast
from rsbounds.cli._methods import numbers, whole
from rsbounds.cli._output import Told, add_json, show
from rsbounds.results import Results, aligned, default_radii, heading

NUMBERS = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
DEVICES = (1, 8, 64)
SHOWN = 6  # radii


def add_options(parser: Any) -> None:
    add = parser.add_argument
    add("pilot", metavar="PILOT.tsv", type=Path)
    add(
        "--n",
        type=partial(whole, 1),
        default=100_000,
        help="the fixed run that others are compared with (1e5)",
    )
    add(
        "--lose",
        type=float,
        default=0.01,
        metavar="SHARE",
        help="the share of its average radius that may be lost (0.01)",
    )
    add("--tolerance", type=float, metavar="T", help="that of staged runs")
    add(
        "--inputs",
        type=partial(whole, 1),
        metavar="M",
        help="how many inputs are certified (all of the pilot's data)",
    )
    add(
        "--radii",
        type=numbers,
        metavar="R,R,...",
        help="where to show certified accuracy",
    )
    add_json(parser)


def run(args: argparse.Namespace) -> None:
    """Print the table, and the recommendation."""
    if not 0 <= args.lose < 1:
        raise ArgumentError("lose", f"must be in [0, 1); got {args.lose}")
    pilot = results.read(args.pilot)
    radii = args.radii or tuple(default_radii([pilot])[:SHOWN])
    choices = sorted({*NUMBERS, args.n})
    forecasts = forecast(pilot, choices, radii=radii, tolerance=args.tolerance)
    inputs = args.inputs or _inputs(pilot)
    rate = _rate(pilot)
    lines = [_head(radii)]
    lines += [_line(each, inputs, rate) for each in forecasts]
    reference = next(each for each in forecasts if _is_fixed(each, args.n))
    best = cheapest(forecasts, reference, args.lose)
    kept = best.average_radius.mean / max(reference.average_radius.mean, math.ulp(0.0))
    text = (
        f"{inputs} inputs, from a pilot of {len(pilot.rows)}: "
        f"{_flags(best)} keeps {kept:.1%} of the average radius of n = {args.n} with "
        f"{best.samples / reference.samples:.1%} of its samples, "
        f"{best.samples_only_correct / reference.samples:.1%} with --only-correct"
    )
    entries = {
        "pilot": str(args.pilot),
        "inputs": inputs,
        "pilot_inputs": len(pilot.rows),
        "forecasts": [_entries(each, radii, inputs, rate) for each in forecasts],
        "recommended": {
            "n": best.procedure.n,
            "bound": best.procedure.bound,
            "keeps": kept,
            "samples": best.samples / reference.samples,
            "only_correct": best.samples_only_correct / reference.samples,
        },
    }
    told = [Told(line, {}) for line in aligned(lines).splitlines()]
    show(args, [*told, Told(text, entries)])


def _inputs(pilot: Results) -> int:
    """How many inputs the data of the pilot have."""
    data = pilot.manifest.data if pilot.manifest else {}
    return int(data.get("total", data.get("inputs", len(pilot.rows))))


def _rate(pilot: Results) -> float:
    """Samples a second of the pilot, of one worker; NaN where its rows don't say."""
    n0 = pilot.manifest.procedure.n0 if pilot.manifest else 0
    seconds = sum(row.seconds for row in pilot.rows)
    drawn = n0 * len(pilot.rows) + pilot.samples()
    return drawn / seconds if seconds > 0 else math.nan


def _head(radii: Sequence[float]) -> list[str]:
    hours = [f"hours on {devices}" for devices in DEVICES]
    accuracies = [heading(radius) for radius in radii]
    return ["n", "bound", "ACR", "samples", "only correct", *hours, *accuracies]


def _line(each: Forecast, inputs: int, rate: float) -> list[str]:
    hours = inputs * each.samples / rate / 3600
    return [
        str(each.procedure.n),
        "fixed" if each.procedure.tolerance is None else each.procedure.bound,
        _with_interval(each.average_radius),
        f"{each.samples:.0f}",
        f"{each.samples_only_correct:.0f}",
        *(f"{hours / devices:.3g}" for devices in DEVICES),
        *(_with_interval(accuracy) for accuracy in each.accuracy),
    ]


def _entries(
    each: Forecast, radii: Sequence[float], inputs: int, rate: float
) -> dict[str, Any]:
    """A forecast as JSON can hold it."""
    pairs = zip(radii, each.accuracy, strict=True)
    return {
        "n": each.procedure.n,
        "bound": each.procedure.bound,
        "tolerance": each.procedure.tolerance,
        "average_radius": each.average_radius._asdict(),
        "accuracy": {str(radius): share._asdict() for radius, share in pairs},
        "samples": each.samples,
        "only_correct": each.samples_only_correct,
        "hours": inputs * each.samples / rate / 3600,
    }


def _with_interval(expected: Expected) -> str:
    return f"{expected.mean:.3f} ({expected.low:.2f}-{expected.high:.2f})"


def _is_fixed(each: Forecast, n: int) -> bool:
    return each.procedure.n == n and each.procedure.tolerance is None


def _flags(each: Forecast) -> str:
    """The run as the command line asks for it."""
    if each.procedure.tolerance is None:
        return f"--n {each.procedure.n}"
    tolerance = f"{each.procedure.tolerance:g}"
    return f"--n {each.procedure.n} --bound staged --tolerance {tolerance}"
