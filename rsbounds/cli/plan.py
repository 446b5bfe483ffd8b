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
from rsbounds.certify import forecast
from rsbounds.certify.internal import Expected, Forecast, cheapest
from rsbounds.cli._methods import numbers, whole
from rsbounds.cli._output import Told, add_json, show
from rsbounds.reports.internal import aligned, default_radii, heading
from rsbounds.results import Results

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
    def radius_share(self) -> float:
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
        help="samples of the fixed run to compare with (1e5)",
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
        help="as for certify, for staged runs (the pilot's, or 0.04)",
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
    told = [Told(_text(choice, args.hours), {}) for choice in choices]
    if len(choices) > 1:
        lines = [["pilot", *_head(radii)]]
        lines += [[_name(choice), *_line(choice.best, choice)] for choice in choices]
        told += [Told(line, {}) for line in ["", *aligned(lines).splitlines()]]
    for choice in choices:
        lines = [
            _head(radii),
            *(_line(option, choice) for option in choice.forecasts),
        ]
        told += [Told(" ", {}), Told(f"{_name(choice)}:", {})]
        told += [Told(line, {}) for line in aligned(lines).splitlines()]
    told.append(Told("", {"pilots": [_as_json(choice, radii) for choice in choices]}))
    show(args, told)


def _choice(args: argparse.Namespace, pilot: Results, radii: Sequence[float]) -> Choice:
    """What is expected of a pilot's runs, and the best of them."""
    runs = sorted({*NUMBERS, args.n})
    forecasts = forecast(pilot, runs, radii=radii, tolerance=args.tolerance)
    reference = next(option for option in forecasts if _is_fixed(option, args.n))
    choice = Choice(
        pilot=pilot,
        forecasts=forecasts,
        reference=reference,
        best=cheapest(forecasts, reference, args.lose),
        inputs=args.inputs or _inputs(pilot),
        rate=_rate(pilot),
    )
    if args.hours is None:
        return choice
    if math.isnan(choice.rate):
        text = f"needs the times of a pilot's rows; {pilot.name} has none"
        raise ArgumentError("hours", text)
    shortest = min(forecasts, key=lambda option: option.samples)
    if choice.minutes(shortest.samples) > 60 * args.hours:
        text = (
            f"must be at least {choice.minutes(shortest.samples) / 60:.2g} for "
            f"{choice.inputs} inputs by {_flags(shortest)}; got {args.hours:g}"
        )
        raise ArgumentError("hours", text)
    affordable = [
        option
        for option in forecasts
        if choice.minutes(option.samples) <= 60 * args.hours
    ]
    most = max(option.average_radius.mean for option in affordable)
    # of runs that differ by less than a simulation can tell, the one of fewest samples
    near = [
        option for option in affordable if option.average_radius.mean >= 0.998 * most
    ]
    return choice._replace(best=min(near, key=lambda option: option.samples))


def _text(choice: Choice, hours: float | None) -> str:
    """The recommendation in words."""
    best, reference = choice.best, choice.reference
    time = f"{choice.minutes(best.samples):.3g} minutes"
    if math.isnan(choice.rate):
        time = "at no known rate"
    less = choice.minutes(best.samples_only_correct)
    if less < 0.95 * choice.minutes(best.samples):
        time += f" ({less:.3g} with --only-correct)"
    n, share = reference.procedure.n, best.samples / reference.samples
    if f"{share:.1%}" != "100.0%":
        why = (
            f"{choice.radius_share:.1%} of the average radius of n = {n} with "
            f"{share:.1%} of its samples"
        )
    elif hours is None:
        why = "no run of fewer samples keeps enough of its average radius"
    else:
        why = f"the largest average radius that {hours:g} hours allow"
    return f"{_name(choice)}, {choice.inputs} inputs: {_flags(best)}, {time}: {why}"


def _name(choice: Choice) -> str:
    return Path(choice.pilot.name).name


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


def _line(option: Forecast, choice: Choice) -> list[str]:
    return [
        str(option.procedure.n),
        "fixed" if option.procedure.tolerance is None else option.procedure.bound,
        _with_interval(option.average_radius),
        f"{choice.minutes(option.samples):.3g}",
        f"{option.samples:.0f}",
        f"{option.samples_only_correct:.0f}",
        *(_with_interval(accuracy) for accuracy in option.accuracy),
    ]


def _as_json(choice: Choice, radii: Sequence[float]) -> dict[str, Any]:
    """What is said of a pilot, as JSON can hold it."""
    best, reference = choice.best, choice.reference
    return {
        "pilot": choice.pilot.name,
        "inputs": choice.inputs,
        "pilot_inputs": len(choice.pilot.rows),
        "forecasts": [_entries(option, radii, choice) for option in choice.forecasts],
        "recommended": {
            "n": best.procedure.n,
            "bound": best.procedure.bound,
            "keeps": choice.radius_share,
            "samples": best.samples / reference.samples,
            "samples_only_correct": best.samples_only_correct / reference.samples,
            "minutes": choice.minutes(best.samples),
        },
    }


def _entries(
    option: Forecast, radii: Sequence[float], choice: Choice
) -> dict[str, Any]:
    """A forecast as JSON can hold it."""
    pairs = zip(radii, option.accuracy, strict=True)
    return {
        "n": option.procedure.n,
        "bound": option.procedure.bound,
        "tolerance": option.procedure.tolerance,
        "average_radius": option.average_radius._asdict(),
        "accuracy": {str(radius): share._asdict() for radius, share in pairs},
        "samples": option.samples,
        "samples_only_correct": option.samples_only_correct,
        "minutes": choice.minutes(option.samples),
    }


def _with_interval(expected: Expected) -> str:
    return f"{expected.mean:.3f} ({expected.low:.2f}-{expected.high:.2f})"


def _is_fixed(option: Forecast, n: int) -> bool:
    return option.procedure.n == n and option.procedure.tolerance is None


def _flags(option: Forecast) -> str:
    """The run as the command line asks for it."""
    if option.procedure.tolerance is None:
        return f"--n {option.procedure.n}"
    tolerance = f"{option.procedure.tolerance:g}"
    return f"--n {option.procedure.n} --bound staged --tolerance {tolerance}"
