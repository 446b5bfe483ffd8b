"""What more samples would show, from pilots of some tens of inputs.

Print what runs of 1,000 to 1,000,000 samples are expected to show, fixed and staged:
average certified radius, certified accuracies with an interval, samples of an input,
and minutes on one worker as fast as the pilot's. Several pilots, such as one for each
noise level, stand side by side. Above the tables the run of fewest samples that loses
little, or with --hours the one of the largest average radius that they allow. An
estimate from the pilots' counts, no certificate.
"""

import argparse
import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from rsbounds import results
from rsbounds._numerics.errors import ArgumentError
from rsbounds.certify import Expected, Forecast, cheapest, forecast
from rsbounds.cli._methods import numbers, whole
from rsbounds.cli._output import Told, add_json, show
from rsbounds.results import Results, aligned, default_radii, heading

NUMBERS = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
SHOWN = 6  # radii


class Choice(NamedTuple):
    """A pilot, what is expected of its runs, and the one that is recommended."""

    pilot: Results
    forecasts: list[Forecast]
    reference: Forecast  # the fixed run that others are compared with
    best: Forecast
    inputs: int
    rate: float  # samples a second; NaN where the pilot's rows don't say

    def minutes(self, samples: float) -> float:
        """How long so many samples of each input take."""
        return self.inputs * samples / self.rate / 60

    @property
    def kept(self) -> float:
        """The share of the reference's average radius."""
        of = max(self.reference.average_radius.mean, math.ulp(0.0))
        return self.best.average_radius.mean / of


def add_options(parser: Any) -> None:
    """Add the options of ``rsbounds plan``."""
    add = parser.add_argument
    add(
        "pilots",
        metavar="PILOT.tsv",
        type=Path,
        nargs="+",
        help="result files of few inputs and samples",
    )
    add(
        "--n",
        type=partial(whole, 1),
        default=100_000,
        help="the fixed run that others are compared with (1e5)",
    )
    add(
        "--lose",
        type=float,
        default=0.02,
        metavar="SHARE",
        help="the share of its average radius that may be lost (0.02)",
    )
    add(
        "--tolerance",
        type=float,
        metavar="T",
        help="that of certify, for the staged runs (the pilot's, or 0.04)",
    )
    add(
        "--hours",
        type=float,
        metavar="H",
        help="recommend the largest average radius that so many hours allow",
    )
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
        help="where to show certified accuracy (round radii)",
    )
    add_json(parser)


def run(args: argparse.Namespace) -> None:
    """Print the recommendations, and the tables."""
    if not 0 <= args.lose < 1:
        raise ArgumentError("lose", f"must be in [0, 1); got {args.lose}")
    if args.hours is not None and not 0 < args.hours < math.inf:
        raise ArgumentError("hours", f"must be above 0; got {args.hours}")
    pilots = [results.read(path) for path in args.pilots]
    radii = args.radii or tuple(default_radii(pilots)[:SHOWN])
    choices = [_choice(args, pilot, radii) for pilot in pilots]
    told = [Told(_text(own, args.hours), {}) for own in choices]
    if len(choices) > 1:
        lines = [["pilot", *_head(radii)]]
        lines += [[_name(own), *_line(own.best, own)] for own in choices]
        told += [Told(line, {}) for line in ["", *aligned(lines).splitlines()]]
    for own in choices:
        lines = [_head(radii), *(_line(each, own) for each in own.forecasts)]
        told += [Told(" ", {}), Told(f"{_name(own)}:", {})]
        told += [Told(line, {}) for line in aligned(lines).splitlines()]
    told.append(Told("", {"pilots": [_as_json(own, radii) for own in choices]}))
    show(args, told)


def _choice(args: argparse.Namespace, pilot: Results, radii: Sequence[float]) -> Choice:
    """What is expected of a pilot's runs, and the best of them."""
    runs = sorted({*NUMBERS, args.n})
    forecasts = forecast(pilot, runs, radii=radii, tolerance=args.tolerance)
    reference = next(each for each in forecasts if _is_fixed(each, args.n))
    own = Choice(
        pilot=pilot,
        forecasts=forecasts,
        reference=reference,
        best=cheapest(forecasts, reference, args.lose),
        inputs=args.inputs or _inputs(pilot),
        rate=_rate(pilot),
    )
    if args.hours is None:
        return own
    if math.isnan(own.rate):
        text = f"needs the times of a pilot's rows; {pilot.name} has none"
        raise ArgumentError("hours", text)
    shortest = min(forecasts, key=lambda each: each.samples)
    if own.minutes(shortest.samples) > 60 * args.hours:
        text = (
            f"must be at least {own.minutes(shortest.samples) / 60:.2g} for "
            f"{own.inputs} inputs by {_flags(shortest)}; got {args.hours:g}"
        )
        raise ArgumentError("hours", text)
    affordable = [
        each for each in forecasts if own.minutes(each.samples) <= 60 * args.hours
    ]
    most = max(each.average_radius.mean for each in affordable)
    # of runs that differ by less than a simulation can tell, the one of fewest samples
    near = [each for each in affordable if each.average_radius.mean >= 0.998 * most]
    return own._replace(best=min(near, key=lambda each: each.samples))


def _text(own: Choice, hours: float | None) -> str:
    """The recommendation in words."""
    best, reference = own.best, own.reference
    time = f"{own.minutes(best.samples):.3g} minutes"
    if math.isnan(own.rate):
        time = "at no known rate"
    less = own.minutes(best.samples_only_correct)
    if less < 0.95 * own.minutes(best.samples):
        time += f" ({less:.3g} with --only-correct)"
    n, share = reference.procedure.n, best.samples / reference.samples
    if f"{share:.1%}" != "100.0%":
        why = (
            f"{own.kept:.1%} of the average radius of n = {n} with {share:.1%} of its "
            "samples"
        )
    elif hours is None:
        why = "no run of fewer samples keeps enough of its average radius"
    else:
        why = f"the largest average radius that {hours:g} hours allow"
    return f"{_name(own)}, {own.inputs} inputs: {_flags(best)}, {time}: {why}"


def _name(own: Choice) -> str:
    return Path(own.pilot.name).name


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
    accuracies = [heading(radius) for radius in radii]
    return ["n", "bound", "ACR", "minutes", "samples", "only correct", *accuracies]


def _line(each: Forecast, own: Choice) -> list[str]:
    return [
        str(each.procedure.n),
        "fixed" if each.procedure.tolerance is None else each.procedure.bound,
        _with_interval(each.average_radius),
        f"{own.minutes(each.samples):.3g}",
        f"{each.samples:.0f}",
        f"{each.samples_only_correct:.0f}",
        *(_with_interval(accuracy) for accuracy in each.accuracy),
    ]


def _as_json(own: Choice, radii: Sequence[float]) -> dict[str, Any]:
    """What is said of a pilot, as JSON can hold it."""
    best, reference = own.best, own.reference
    return {
        "pilot": own.pilot.name,
        "inputs": own.inputs,
        "pilot_inputs": len(own.pilot.rows),
        "forecasts": [_entries(each, radii, own) for each in own.forecasts],
        "recommended": {
            "n": best.procedure.n,
            "bound": best.procedure.bound,
            "keeps": own.kept,
            "samples": best.samples / reference.samples,
            "samples_only_correct": best.samples_only_correct / reference.samples,
            "minutes": own.minutes(best.samples),
        },
    }


def _entries(each: Forecast, radii: Sequence[float], own: Choice) -> dict[str, Any]:
    """A forecast as JSON can hold it."""
    pairs = zip(radii, each.accuracy, strict=True)
    return {
        "n": each.procedure.n,
        "bound": each.procedure.bound,
        "tolerance": each.procedure.tolerance,
        "average_radius": each.average_radius._asdict(),
        "accuracy": {str(radius): share._asdict() for radius, share in pairs},
        "samples": each.samples,
        "samples_only_correct": each.samples_only_correct,
        "minutes": own.minutes(each.samples),
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
