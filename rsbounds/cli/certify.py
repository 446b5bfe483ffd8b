"""``rsbounds certify``: certify a model on a data set, row by row, into a file that resumes."""

from __future__ import annotations

import argparse
import math
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rsbounds import loading
from rsbounds._numerics.checks import count, whole
from rsbounds.certify import Procedure, certify_dataset
from rsbounds.cli import _build, _config, _engine, _options, _workers
from rsbounds.composite import Rule
from rsbounds.confidence import BOUNDS
from rsbounds.confidence.counts import MAX_N
from rsbounds.loading import Data
from rsbounds.results import Results, truncated
from rsbounds.sampling import noise_level
from rsbounds.schemes import Scheme


def add_parser(subparsers: Any) -> None:
    """Add the ``certify`` command."""
    width = min(shutil.get_terminal_size().columns, 110)
    parser = subparsers.add_parser(
        "certify",
        help="certify a model on a data set",
        usage="%(prog)s --model MODEL --data DATA --sigma SIGMA --out FILE.tsv [OPTION ...]",
        description="Certify every input of a data set and append a row for each to FILE.tsv, with "
        "a JSON manifest beside it. Run again, it goes on where it was stopped. --method METHOD "
        "--help shows the options of another noise than the same everywhere.",
        formatter_class=partial(argparse.HelpFormatter, max_help_position=26, width=width),
        add_help=False,
    )
    group = parser.add_argument_group("what is certified")
    _engine.add_model(group, required=True)
    _engine.add_data(group, required=True)
    add = group.add_argument
    add("--skip", type=int, default=1, metavar="K", help="certify every K-th input (1)")
    add("--max", type=int, default=-1, metavar="I", help="certify inputs below this index (all)")
    add("--skip-corrupt", action="store_true", help="leave out inputs that can't be decoded")
    add = parser.add_argument_group("how sure").add_argument
    add("--n", type=number, default=100_000, help="samples to bound a class's probability (1e5)")
    add("--n0", type=number, default=100, help="samples to choose the class (100)")
    add("--alpha", type=float, default=0.001, help="probability of error (0.001)")
    names = {"choices": _options.COUNTED, "default": "clopper-pearson", "metavar": "BOUND"}
    add("--bound", **names, help="clopper-pearson (default), randomized or anytime")
    text = "bound the runner-up's probability too; off: Cohen's procedure (on)"
    add("--runner-up", choices=("on", "off"), default="on", help=text)
    text = "certify R or nothing, and stop sampling when that is decided"
    add("--target-radius", type=float, metavar="R", help=text)
    add("--seed", type=int, default=0, help="names the random samples (0)")
    group = parser.add_argument_group("noise")
    others = ", ".join(name for name in _options.BUILT if name != "gaussian")
    text = "composite or MODULE:CALLABLE, which returns a scheme, a rule or a network"
    text = f"gaussian (default), {others}, {text}"
    group.add_argument("--method", metavar="METHOD", default="gaussian", help=text)
    _options.add_methods(group, levels)
    _engine.add_sound_noise(group)
    group = parser.add_argument_group("where it runs")
    _workers.add(group)
    _engine.add_engine(group)
    add = parser.add_argument_group("files").add_argument
    add("--out", required=True, metavar="FILE.tsv", type=Path, help="the result file")
    text = "read options from a file; options on the command line take precedence"
    add("--config", metavar="FILE.yaml", type=Path, help=text)
    add("--shard", metavar="i/N", help="take every N-th of the inputs, from the i-th (from 0)")
    text = "go on with a file although model, engine or versions changed"
    add("--accept-change", action="store_true", help=text)
    add("--dry-run", action="store_true", help="time one input and print what the run would cost")
    add("-h", "--help", action="help", help=argparse.SUPPRESS)
    parser.set_defaults(func=run)
    parser.prepare = partial(_prepare, parser)
    _options.show(parser, None)


def _prepare(parser: Any, words: list[str]) -> list[str]:
    """The command line with the options of ``--config`` in front; help is for its ``--method``."""
    finder = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    finder.add_argument("--config", type=Path)
    finder.add_argument("--method")
    try:
        if (config := finder.parse_known_args(words)[0].config) is not None:
            words = [*_config.words(config, parser._option_string_actions), *words]
        method = finder.parse_known_args(words)[0].method
    except argparse.ArgumentError:  # of which the parser itself says more
        return words
    _options.show(parser, method)
    return words


def number(text: str) -> int:
    """A whole number, also as 1e5."""
    value = float(text)
    if not abs(value) <= 2**53 or value != math.floor(value):
        raise argparse.ArgumentTypeError(f"expected a whole number; got {text!r}")
    return int(value)


def levels(text: str) -> float | tuple[float, ...]:
    """A noise level, or several separated by commas."""
    several = tuple(float(level) for level in text.split(","))
    if len(set(several)) < len(several):
        raise argparse.ArgumentTypeError(f"expected each noise level once; got {text!r}")
    return several if len(several) > 1 else several[0]


def run(args: argparse.Namespace) -> int:
    """Certify what isn't certified yet, at each noise level."""
    _workers.settle(args)
    checked = [(each, *_check(each)) for each in _runs(args)]
    return max(_run(*each) for each in checked)


def _runs(args: argparse.Namespace) -> Iterator[argparse.Namespace]:
    """One for each noise level, with a file of its own where there are several."""
    if not isinstance(args.sigma, tuple):
        yield args
        return
    for level in args.sigma:
        name = f"{args.out.stem}-sigma{str(level).removesuffix('.0')}{args.out.suffix}"
        yield argparse.Namespace(**vars(args) | {"sigma": level, "out": args.out.with_name(name)})


def _check(args: argparse.Namespace) -> tuple[Procedure, dict[str, Any]]:
    """The numbers of the certificates and the method's options, before anything is loaded."""
    procedure = _options.procedure(
        n0=args.n0,
        n=args.n,
        alpha=args.alpha,
        seed=args.seed,
        bound=args.bound,
        runner_up=args.runner_up == "on",
        target_radius=args.target_radius,
    )
    count("--batch", args.batch, 1), count("--skip", args.skip, 1)
    if whole("--max", args.max, -1) == 0:
        raise ValueError("--max must be -1 (all) or >= 1; got 0")
    if args.n > MAX_N:
        raise ValueError(f"--n must be at most {MAX_N}; got {args.n}")
    options = _options.of_method(args)
    moving = not _options.is_code(args.method) and args.method not in ("composite", "gaussian")
    if moving and args.denoiser is not None:  # before it is loaded
        raise ValueError(_build.no_denoiser(args.method))
    if args.method == "gaussian":
        noise_level(args.sigma)
    if args.out.is_dir():
        raise IsADirectoryError(21, "Is a directory", str(args.out))
    if args.out.exists() and not args.out.is_file():
        raise ValueError(f"{args.out} is not a regular file: choose another output file")
    if not args.out.parent.is_dir():
        raise FileNotFoundError(2, "No such file or directory", str(args.out))
    return procedure, options


def _run(args: argparse.Namespace, procedure: Procedure, options: dict[str, Any]) -> int:
    rank, size, origin = loading.share(args.shard)
    out = args.out
    if origin not in ("--shard", "default") and size > 1:
        out = out.with_name(f"{out.stem}.{rank}-of-{size}{out.suffix}")
        say(f"{origin} share {rank}/{size}, writing {out}")
    parts = _build.parts(args, options)
    with ExitStack() as stack:
        data = stack.enter_context(parts.data)
        if isinstance(parts.scheme, Scheme):
            _hints(args, procedure, parts.scheme, data)
        build = partial(_build.built, args, options, parts.describe)
        crew = None if args.dry_run else _workers.workers(args, build)
        model = (
            _build.model(args, parts.stages, data, parts.scheme)
            if crew is None
            else stack.enter_context(crew)
        )
        parts.stages.clear()  # workers have their own
        numbers = {**procedure.to_dict(), "skip": args.skip, "max": args.max}
        if args.dry_run:
            return _dry(model, parts.scheme, data, numbers)
        start = time.perf_counter()
        before = _rows(out)
        results = certify_dataset(
            model,
            data,
            parts.scheme,
            out=out,
            shard=f"{rank}/{size}",
            describe=parts.describe,
            engine=_engine.engine(args),
            run={"data": str(args.data), "batch": args.batch, "started": time.strftime("%F %T%z")},
            accept_change=args.accept_change,
            skip_corrupt=args.skip_corrupt,
            notify=say,
            **numbers,
        )
    _summary(out, results, len(results.rows) - before, time.perf_counter() - start)
    return 0


def _summary(out: Path, results: Results, new: int, seconds: float) -> None:
    print(f"{out}: {len(results.rows)} rows, {new} of them new")
    if results.rows:
        rate = f", {new / seconds:.3g} rows a second" if new else ""
        print(
            f"accuracy {results.clean_accuracy():.4f}, abstentions {results.abstention():.4f}, "
            f"average certified radius {truncated(results.average_radius(), 4)}{rate}"
        )
    if void := sum(row.void for row in results.rows):
        say(f"warning: {void} samples were void (their scores held NaN) and count for no class")


def say(message: str) -> None:
    """A line on standard error."""
    print(f"rsbounds certify: {message}", file=sys.stderr)


def _rows(out: Path) -> int:
    """How many rows the file has already."""
    from rsbounds.results import read_rows

    try:
        return len(read_rows(out))
    except (OSError, ValueError):  # certify_dataset says more
        return 0


def _hints(args: argparse.Namespace, procedure: Procedure, scheme: Scheme, data: Data) -> None:
    """Warn before sampling where nothing good can come out."""
    n, alpha = procedure.n, procedure.alpha
    bound = BOUNDS[args.bound]
    pair = bound.pair([n, 0], 0, n, alpha, runner_up=procedure.runner_up, u=1.0)
    x = _engine.first(data, skip_corrupt=args.skip_corrupt)
    largest = scheme.radius(pair.z_a, scheme.sigma(x), pair.z_b) if pair.z_a > pair.z_b else 0.0
    if not largest > 0:
        say(f"warning: with n = {n} and alpha = {alpha} nothing can be certified")
    elif args.target_radius is not None and not largest >= args.target_radius:
        say(
            f"warning: the target radius {args.target_radius} is above the largest that n = {n} "
            f"samples can show for the first input, {truncated(largest, 4)}"
        )
    most = float(np.max(np.abs(x)))
    if scheme.name == "gaussian" and most > 10 and scheme.parameters["sigma"] <= 2:
        say(
            f"warning: the first input reaches {most:g} and sigma is "
            f"{scheme.parameters['sigma']:g}: for pixels in 0 ... 255 give --scale 255"
        )


def _dry(model: Any, scheme: Scheme | Rule, data: Data, numbers: dict[str, Any]) -> int:
    """Time one input, and print what the run would cost."""
    top = len(data) if numbers["max"] < 0 else min(numbers["max"], len(data))
    inputs = len(range(0, top, numbers["skip"]))
    start = time.perf_counter()
    (row,) = certify_dataset(model, data, scheme, **numbers | {"max": 1, "skip": 1}).rows
    seconds = time.perf_counter() - start
    print(
        f"one input: {seconds:.3g} s, predicts {row.predict} with radius "
        f"{truncated(row.radius, 4)}\n"
        f"{inputs} inputs: about {seconds * inputs / 3600:.3g} hours, "
        f"{inputs * (numbers['n0'] + numbers['n']):.3g} forward passes"
    )
    return 0
