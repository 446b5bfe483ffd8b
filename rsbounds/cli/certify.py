"""Certify a model on a data set.

Certify every input of a data set and append a row for each to FILE.tsv, with a JSON
manifest beside it. Run again, it goes on where it was stopped. --method METHOD --help
shows the options of another noise than the same everywhere.
"""

import argparse
import shutil
import sys
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rsbounds import loading
from rsbounds.certify import Procedure, certify_dataset, certify_evidence
from rsbounds.certify._dataset import require_place
from rsbounds.cli import _config, _engine, _methods
from rsbounds.cli._methods import whole
from rsbounds.loading import CorruptInput, Data
from rsbounds.results import Results, truncated
from rsbounds.sampling import noise_level
from rsbounds.schemes import METHODS, Scheme

_AS_GIVEN = ("start", "skip", "max", "commit", "accept_change", "skip_corrupt")


def add_options(parser: Any) -> None:
    width = min(shutil.get_terminal_size().columns, 110)
    parser.formatter_class = partial(
        argparse.HelpFormatter, max_help_position=26, width=width
    )
    parser.usage = (
        "%(prog)s --model MODEL --data DATA --sigma SIGMA --out FILE.tsv [OPTION ...]"
    )
    parser._actions[0].help = argparse.SUPPRESS  # -h
    group = parser.add_argument_group("what is certified")
    _engine.add_model(group, required=True)
    _engine.add_data(group, required=True)
    add, index, count = group.add_argument, partial(whole, 0), partial(whole, 1)
    add(
        "--start",
        type=index,
        default=0,
        metavar="I",
        help="certify inputs from this index (0)",
    )
    text = "certify inputs below this index (-1: all)"
    add("--max", type=_end, default=-1, metavar="I", help=text)
    add(
        "--skip",
        type=count,
        default=1,
        metavar="K",
        help="certify every K-th input (1)",
    )
    add = parser.add_argument_group("how sure").add_argument
    add(
        "--n",
        type=count,
        default=100_000,
        help="samples to bound a class's probability (1e5)",
    )
    add("--n0", type=count, default=100, help="samples to choose the class (100)")
    add("--alpha", type=float, default=0.001, help="probability of error (0.001)")
    names = {
        "choices": _methods.COUNTED,
        "default": "clopper-pearson",
        "metavar": "BOUND",
    }
    add("--bound", **names, help="clopper-pearson (default), randomized or anytime")
    text = "bound the runner-up's probability too; off: Cohen's procedure (on)"
    add("--runner-up", choices=("on", "off"), default="on", help=text)
    text = "certify R or nothing, and stop sampling when that is decided"
    add("--target-radius", type=float, metavar="R", help=text)
    text = "certify that the label stays among the K most likely classes"
    add("--top-k", type=count, metavar="K", help=text)
    add("--seed", type=index, default=0, help="names the random samples (0)")
    noise = parser.add_argument_group("noise")
    others = ", ".join(name for name in METHODS if name != "gaussian")
    text = f"gaussian (default), {others} or MODULE:CALLABLE, which returns a scheme, a rule or "
    text += "a network"
    noise.add_argument("--method", metavar="METHOD", default="gaussian", help=text)
    _engine.add_sound_noise(noise)
    group = parser.add_argument_group("where it runs")
    _engine.add_workers(group)
    _engine.add_engine(group)
    add = parser.add_argument_group("files").add_argument
    add("--out", required=True, metavar="FILE.tsv", type=Path, help="the result file")
    text = "read options from a file; options on the command line take precedence"
    add("--config", metavar="FILE.yaml", type=Path, help=text)
    add(
        "--shard",
        metavar="i/N",
        help="take every N-th of the inputs, from the i-th (from 0)",
    )
    text = "write what is to be run to FILE.tsv.commitment.json before the first sample"
    add("--commit", action="store_true", help=text)
    # of which the refusals of such files and inputs say more
    for name in ("--accept-change", "--skip-corrupt"):
        add(name, action="store_true", help=argparse.SUPPRESS)
    parser.set_defaults(sigma=None, method_args=None)
    parser.prepare = partial(_prepare, parser, noise)


def _prepare(parser: Any, noise: Any, words: list[str]) -> list[str]:
    """The command line with the options of ``--config`` in front; adds those of its
    method.
    """
    finder = argparse.ArgumentParser(
        add_help=False, allow_abbrev=False, exit_on_error=False
    )
    finder.add_argument("--config", type=Path)
    finder.add_argument("--method")
    try:
        own = finder.parse_known_args(words)[0]
    except argparse.ArgumentError:  # of which the parser itself says more
        return words
    options = _config.entries(own.config) if own.config is not None else {}
    method = own.method or options.get("--method")
    taken = _methods.of_method(str(method or "gaussian"))
    for option in taken:
        changes: dict[str, Any] = {"required": option.default is ...}
        if option.flag == "--sigma":
            changes |= {"type": levels, "metavar": "SIGMA,..."}
        elif method is None:  # --norm, which few look for
            changes["help"] = argparse.SUPPRESS
        _methods.add(noise, option, **changes)
    flags = {word.partition("=")[0] for word in (*words, *options)}
    for other in {option.flag for option in _methods.of_all()} - {
        o.flag for o in taken
    }:
        if other in flags:
            raise ValueError(
                f"{other} has no meaning for --method {method or 'gaussian'}"
            )
    return [*_config.words(own.config, options, parser._option_string_actions), *words]


def _end(text: str) -> int:
    return -1 if text == "-1" else whole(1, text)


def levels(text: str) -> tuple[float, ...]:
    """A noise level, or several separated by commas."""
    try:
        several = tuple(noise_level(float(level)) for level in text.split(","))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if len(set(several)) < len(several):
        raise argparse.ArgumentTypeError(
            f"expected each noise level once; got {text!r}"
        )
    return several


def run(args: argparse.Namespace) -> None:
    """Certify what isn't certified yet, at each noise level in a file of its own."""
    _engine.settle(args)
    numbers = {name: getattr(args, name) for name in Procedure.__slots__}
    procedure = _methods.procedure(**numbers | {"runner_up": args.runner_up == "on"})
    runs = []
    for level in args.sigma or (None,):
        out = args.out
        if len(args.sigma or ()) > 1:
            out = out.with_name(
                f"{out.stem}-sigma{str(level).removesuffix('.0')}{out.suffix}"
            )
        require_place(out)  # before the model is loaded
        runs.append(argparse.Namespace(**vars(args) | {"sigma": level, "out": out}))
        runs[-1].place = out.absolute()  # the model's code may change the folder
    for each in runs:
        try:
            _run(each, procedure)
        except CorruptInput as error:
            raise ValueError(
                f"{error}; --skip-corrupt leaves out such inputs"
            ) from None


def _run(args: argparse.Namespace, procedure: Procedure) -> None:
    rank, size, origin = loading.share(args.shard)
    out = args.out
    if origin not in ("--shard", "default") and size > 1:
        out = out.with_name(f"{out.stem}.{rank}-of-{size}{out.suffix}")
        say(f"{origin} share {rank}/{size}, writing {out}")
    place = args.place.with_name(out.name)
    parts = _engine.parts(args)
    with ExitStack() as stack:
        data = stack.enter_context(parts.data)
        if isinstance(parts.scheme, Scheme):
            _hints(procedure, parts.scheme, data)
        model: Any = _engine.workers(args, partial(_engine.built, args, parts.describe))
        if model is None:
            model = _engine.model(args, parts.stages, parts.scheme)
        else:
            stack.enter_context(model)
        parts.stages.clear()  # workers have their own
        begun = time.perf_counter()
        before = max(place.read_bytes().count(b"\n") - 1, 0) if place.is_file() else 0
        results = certify_dataset(
            model,
            data,
            parts.asked,
            out=place,
            shard=f"{rank}/{size}",
            describe=parts.describe,
            engine=_engine.engine(args),
            run={
                "data": str(args.data),
                "batch": args.batch,
                "started": time.strftime("%F %T%z"),
            },
            notify=say,
            **{name: getattr(args, name) for name in _AS_GIVEN},
            **procedure.to_dict(),
        )
    _summary(out, results, len(results.rows) - before, time.perf_counter() - begun)


def _summary(out: Path, results: Results, new: int, seconds: float) -> None:
    print(f"{out}: {len(results.rows)} rows, {new} of them new")
    if results.rows:
        rate = f", {new / seconds:.3g} rows a second" if new else ""
        print(
            f"accuracy {results.clean_accuracy():.4f}, abstentions {results.abstention():.4f}, "
            f"average certified radius {truncated(results.average_radius(), 4)}{rate}"
        )
    if void := sum(row.void for row in results.rows):
        say(
            f"warning: {void} samples were void (their scores held NaN) and count for no class"
        )


def say(message: str) -> None:
    """Print a line on standard error."""
    print(f"rsbounds certify: {message}", file=sys.stderr)


def _hints(procedure: Procedure, scheme: Scheme, data: Data) -> None:
    """Warn before sampling where nothing good can come out."""
    n, x, target = procedure.n, _engine.first(data), procedure.target_radius

    def best() -> float:  # all samples fall on one class
        return certify_evidence(scheme, scheme.sigma(x), [1], [n], procedure, 0).radius

    largest = loading.guarded(
        "the first input", best
    )  # the scheme may be of others' code
    if largest <= 0:
        say(
            f"warning: with n = {n} and alpha = {procedure.alpha} nothing can be certified"
        )
    elif largest < (target or 0.0):
        say(
            f"warning: the target radius {target} is above the largest that n = {n} samples can "
            f"show for the first input, {truncated(largest, 4)}"
        )
    most, sigma = float(np.max(np.abs(x))), scheme.parameters.get("sigma", 0.0)
    if scheme.name == "gaussian" and most > 10 and sigma <= 2:
        say(
            f"warning: the first input reaches {most:g} and sigma is {sigma:g}: for pixels in "
            "0 ... 255 give --scale 255"
        )
