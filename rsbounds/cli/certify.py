"""``rsbounds certify``: certify a model on a data set, row by row, into a file that resumes."""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rsbounds import loading
from rsbounds._numerics.checks import real, whole
from rsbounds.certify import certify_dataset
from rsbounds.cli import _build, _cluster, _config, _engine, _options
from rsbounds.composite import Rule
from rsbounds.confidence import BOUNDS
from rsbounds.confidence.counts import MAX_N
from rsbounds.loading import Data
from rsbounds.results import Results, truncated
from rsbounds.sampling import noise_level
from rsbounds.schemes import Scheme


def add_parser(subparsers: Any) -> None:
    """Add the ``certify`` command."""
    parser = subparsers.add_parser(
        "certify",
        help="certify a model on a data set",
        description="Certify every input of a data set and append a row for each to a TSV, with a "
        "JSON manifest beside it. Run again, it goes on where it was stopped. The rows don't "
        "depend on --batch, --shard or interruptions.",
    )
    _engine.add_model(parser, required=True)
    _engine.add_data(parser, required=True)
    add = parser.add_argument
    add("--out", required=True, metavar="FILE.tsv", type=Path)
    add(
        "--method",
        metavar="METHOD",
        default="gaussian",
        help=f"{', '.join(_options.BUILT)}, composite, or MODULE:CALLABLE, which returns a scheme, "
        "a rule, a network that proves its bounds, or noise of a shape (gaussian)",
    )
    add("--method-args", metavar="K=V,...", help="arguments of CALLABLE, for such a --method")
    add("--rule", metavar="RULE.json", type=Path, help="decision list, for --method composite")
    add(
        "--model-for",
        nargs="+",
        metavar="SIGMA=MODEL",
        default=[],
        help="experts for levels of the rule, in place of --model",
    )
    add("--n0", type=number, default=100, help="samples to choose the class (100)")
    add("--n", type=number, default=100_000, help="samples to bound its probability (100000)")
    add("--alpha", type=float, default=0.001, help="probability of error (0.001)")
    add("--bound", choices=_options.COUNTED, default="clopper-pearson", help="the confidence bound")
    add(
        "--runner-up",
        choices=("on", "off"),
        help="bound the runner-up's probability too; off: Cohen's procedure (on)",
    )
    add(
        "--target-radius",
        type=float,
        metavar="R",
        help="certify R or nothing, and stop sampling an input when that is decided",
    )
    add("--seed", type=int, default=0)
    add("--skip", type=int, default=1, help="certify every so many inputs (1)")
    add("--max", type=int, default=-1, help="certify inputs below this index (-1: all)")
    add("--shard", metavar="i/N", help="take every N-th of these inputs, from the i-th (from 0)")
    add("--skip-corrupt", action="store_true", help="leave out inputs that can't be decoded")
    add(
        "--accept-change",
        action="store_true",
        help="go on with a file although model, engine or versions changed, and record it",
    )
    _options.add_lock(parser)
    add("--dry-run", action="store_true", help="time one input and print what the run would cost")
    _engine.add_engine(parser)
    _cluster.add(parser)
    _config.accept(parser)
    own = parser.add_argument_group("noise level")
    for option in _options.distinct(o for m in _options.BUILT.values() for o in m.options):
        if option.flag == "--sigma":
            several = f"{option.help}; several give a file each, RUN-sigma0.25.tsv"
            option = replace(option, type=levels, metavar="SIGMA,...", help=several)
        _options.add(own, option)
    parser.set_defaults(func=run)


def number(text: str) -> int:
    """A whole number, also as 1e5."""
    value = float(text)
    if not abs(value) <= 1e15 or value != math.floor(value):
        raise argparse.ArgumentTypeError(f"expected a whole number; got {text!r}")
    return int(value)


def levels(text: str) -> float | tuple[float, ...]:
    """A noise level, or several separated by commas."""
    found = tuple(float(level) for level in text.split(","))
    if len(set(found)) < len(found):
        raise argparse.ArgumentTypeError(f"expected each noise level once; got {text!r}")
    return found if len(found) > 1 else found[0]


def run(args: argparse.Namespace) -> int:
    """Certify what isn't certified yet, at each noise level."""
    runs = list(_runs(args))
    checked = [_check(one) for one in runs]
    return max(_run(one, options) for one, options in zip(runs, checked, strict=True))


def _runs(args: argparse.Namespace) -> Iterator[argparse.Namespace]:
    """One for each noise level, with a file of its own where there are several."""
    several = args.sigma if isinstance(args.sigma, tuple) else None
    if several is None:
        yield args
        return
    for level in several:
        name = f"{args.out.stem}-sigma{str(level).removesuffix('.0')}{args.out.suffix}"
        out = args.out.with_name(name)
        yield argparse.Namespace(**{**vars(args), "sigma": level, "out": out})


def _run(args: argparse.Namespace, options: dict[str, Any]) -> int:
    rank, size, origin = loading.share(args.shard)
    loaded = _engine.load(args)
    elsewhere = _cluster.asked(args) and not args.dry_run
    with ExitStack() as stack:
        data = stack.enter_context(_engine.open_data(args, loaded))
        if not len(data):
            raise ValueError(f"{args.data}: the data must have at least one input; got none")
        scheme = _build.scheme(args, options, data)
        if not isinstance(scheme, Rule):
            _hints(args, scheme, data)
        stages = _build.classifiers(args, loaded, scheme)
        describe = _build.described(args, loaded, stages)
        model: Any
        if elsewhere:
            build = partial(_build.built, args, options, describe)
            model = stack.enter_context(_cluster.workers(args, build))
        else:
            model = _build.model(args, stages, data, scheme)
        del loaded, stages  # the workers have their own
        out = args.out
        if origin not in ("--shard", "default") and size > 1:
            out = out.with_name(f"{out.stem}.{rank}-of-{size}{out.suffix}")
            say(f"{origin} share {rank}/{size}, writing {out}")
        known = {key: getattr(args, key) for key in ("n0", "n", "alpha", "seed", "bound")}
        known |= {key: getattr(args, key) for key in ("target_radius", "skip", "max")}
        known["runner_up"] = None if args.runner_up is None else args.runner_up == "on"
        if args.dry_run:
            return _dry(args, model, scheme, data, known)
        before = _rows(out)
        start = time.perf_counter()
        found = certify_dataset(
            model,
            data,
            scheme,
            out=out,
            shard=f"{rank}/{size}",
            describe=describe,
            engine=_engine.engine(args),
            run={"data": str(args.data), "batch": args.batch, "started": time.strftime("%F %T%z")},
            accept_change=args.accept_change,
            lock=args.lock == "flock",
            skip_corrupt=args.skip_corrupt,
            notify=say,
            **known,
        )
    _summary(out, found, len(found.rows) - before, time.perf_counter() - start)
    return 0


def _summary(out: Path, found: Results, new: int, seconds: float) -> None:
    print(f"{out}: {len(found.rows)} rows, {new} of them new")
    if found.rows:
        rate = f", {new / seconds:.3g} rows a second" if new else ""
        print(
            f"accuracy {found.clean_accuracy():.4f}, abstentions {found.abstention():.4f}, "
            f"average certified radius {truncated(found.average_radius(), 4)}{rate}"
        )
    if void := sum(row.void for row in found.rows):
        say(f"warning: {void} samples were void (their scores held NaN) and count for no class")


def say(message: str) -> None:
    """A line on standard error."""
    print(f"rsbounds certify: {message}", file=sys.stderr)


def _rows(out: Path) -> int:
    from rsbounds.results import read_rows

    try:
        return len(read_rows(out))
    except (OSError, ValueError):
        return 0


def _check(args: argparse.Namespace) -> dict[str, Any]:
    """ValueError before anything is loaded; the options of the method."""
    for name in ("n0", "n", "batch", "skip"):
        whole(f"--{name}", getattr(args, name), 1)
    whole("--seed", args.seed, 0)
    if whole("--max", args.max, -1) == 0:
        raise ValueError("--max must be -1 (all) or >= 1; got 0")
    real("--alpha", args.alpha, 0, 1, closed="neither", nan=False)
    if args.target_radius is not None:
        real("--alpha with --target-radius", args.alpha, 0, 0.5, closed="right", nan=False)
        real("--target-radius", args.target_radius, 0, closed="neither", nan=False)
    _cluster.check(args)
    if args.n > MAX_N:
        raise ValueError(f"--n must be at most {MAX_N}; got {args.n}")
    if (args.rule is not None) != (args.method == "composite"):
        raise ValueError("--rule goes with --method composite, which needs it")
    by_code = _options.is_code(args.method)
    _options.check_code(args)
    options = _options.of_method(args)
    moving = not by_code and args.method not in ("composite", "gaussian")
    if moving and args.denoiser is not None:  # said before it is loaded
        raise ValueError(_build.no_denoiser(args.method))
    if args.model_for and not by_code and args.method != "composite":
        raise ValueError("--model-for goes with --method composite")
    if args.method == "gaussian":
        noise_level(args.sigma)
    if os.path.exists(args.out) and not args.out.is_file():
        if args.out.is_dir():
            raise IsADirectoryError(21, "Is a directory", str(args.out))
        raise ValueError(f"{args.out} is not a regular file: choose another output file")
    if not args.out.parent.is_dir():
        raise FileNotFoundError(2, "No such file or directory", str(args.out))
    return options


def _hints(args: argparse.Namespace, scheme: Scheme, data: Data) -> None:
    """What can't come out well is said before sampling."""
    pair = BOUNDS[args.bound].pair(
        [args.n, 0], 0, args.n, args.alpha, runner_up=args.runner_up != "off", u=1.0
    )
    x = _engine.first(data, skip_corrupt=args.skip_corrupt)
    largest = scheme.radius(pair.z_a, scheme.sigma(x), pair.z_b) if pair.z_a > pair.z_b else 0.0
    if not largest > 0:
        say(f"warning: with n = {args.n} and alpha = {args.alpha} nothing can be certified")
    elif args.target_radius is not None and not largest >= args.target_radius:
        say(
            f"warning: the target radius {args.target_radius} is above the largest that n = "
            f"{args.n} samples can show for the first input, {truncated(largest, 4)}"
        )
    if scheme.name != "gaussian":
        return
    if float(np.max(np.abs(x))) > 10 and scheme.parameters["sigma"] <= 2:
        say(
            f"warning: the first input reaches {float(np.max(np.abs(x))):g} and sigma is "
            f"{scheme.parameters['sigma']:g}: for pixels in 0 ... 255 give --scale 255"
        )


def _dry(
    args: argparse.Namespace, sampler: Any, scheme: Scheme | Rule, data: Data, known: dict[str, Any]
) -> int:
    """One input timed, and what the run would cost."""
    selected = len(range(0, len(data) if args.max < 0 else min(args.max, len(data)), args.skip))
    one = {**known, "max": 1, "skip": 1}
    start = time.perf_counter()
    found = certify_dataset(sampler, data, scheme, **one)
    seconds = time.perf_counter() - start
    row = found.rows[0]
    print(
        f"one input: {seconds:.3g} s, predicts {row.predict} with radius "
        f"{truncated(row.radius, 4)}\n"
        f"{selected} inputs: about {seconds * selected / 3600:.3g} hours, "
        f"{selected * (args.n0 + args.n):.3g} forward passes"
    )
    return 0
