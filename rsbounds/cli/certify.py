"""Certify a model on a data set.

Certify every input of a data set and append a row for each to FILE.tsv, with a JSON
manifest beside it. Run again, it goes on where it was stopped. --method METHOD --help
shows the options of another noise than the same everywhere, --answer NAME --help those
of another answer than the most likely class.
"""

import argparse
import shutil
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

from rsbounds._numerics.decimals import truncated
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.options import as_switch
from rsbounds._numerics.text import shown
from rsbounds.answers import ANSWERS, Answer
from rsbounds.certify import Procedure, Settings
from rsbounds.certify.internal import (
    Selection,
    carry_out,
    hopeless,
    job_of,
)
from rsbounds.cli import _answers, _config, _engine, _flags, _grid, _methods
from rsbounds.cli._methods import whole
from rsbounds.cli._output import Told, add_json, show
from rsbounds.loading import CorruptInput, Data
from rsbounds.loading.internal import guarded, shard
from rsbounds.procedure import FROM_SYSTEM, TOLERANCE
from rsbounds.results import Results
from rsbounds.results.internal import require_place
from rsbounds.sampling.internal import noise_level
from rsbounds.schemes import METHODS, Option


def add_options(parser: Any) -> None:
    """Add the options of ``rsbounds certify``."""
    width = min(shutil.get_terminal_size().columns, 110)
    parser.formatter_class = partial(
        argparse.HelpFormatter, max_help_position=26, width=width
    )
    parser.usage = (
        "%(prog)s --model MODEL --data DATA --sigma SIGMA --out FILE.tsv [OPTION ...]"
    )
    parser.flags["--help"].action.help = argparse.SUPPRESS
    _add_certified(parser.add_group("what is certified"))
    asked = parser.add_group("what is asked")
    _add_asked(asked)
    _add_procedure(parser.add_group("how sure"))
    noise = parser.add_group("noise")
    _add_noise(noise)
    place = parser.add_group("where it runs")
    _engine.add_workers(place)
    _engine.add_engine(place)
    _add_files(parser.add_group("files"))
    parser.set_defaults(sigma=None, method_args=None)
    parser.prepare = partial(_prepare, parser, asked, noise)


def _add_certified(group: Any) -> None:
    _engine.add_model(group, required=True)
    _engine.add_data(group, required=True)
    group.add_argument(
        "--start",
        type=partial(whole, 0),
        default=0,
        metavar="I",
        help="certify inputs from this index (0)",
    )
    group.add_argument(
        "--max",
        type=_end,
        default=-1,
        metavar="I",
        help="certify inputs below this index (-1: all)",
    )
    group.add_argument(
        "--skip",
        type=partial(whole, 1),
        default=1,
        metavar="K",
        help="certify every K-th input (1)",
    )


def _add_asked(group: Any) -> None:
    """The answer; its own options are added once it is known."""
    others = ", ".join(name for name in ANSWERS if name != _answers.DEFAULT)
    group.add_argument(
        "--answer",
        choices=tuple(ANSWERS),
        metavar="NAME",
        help=f"{_answers.DEFAULT} (default), {others}; --rule implies list",
    )


def _add_procedure(group: Any) -> None:
    group.add_argument(
        "--n",
        type=partial(whole, 1),
        help="samples that bound a probability (1e5 for a class)",
    )
    group.add_argument(
        "--n0",
        type=partial(whole, 1),
        help="samples that choose what is bounded (100 for a class)",
    )
    group.add_argument(
        "--alpha", type=float, default=0.001, help="probability of error (0.001)"
    )
    group.add_argument(
        "--bound",
        choices=_methods.COUNTED,
        metavar="BOUND",
        help=f"{_methods.COUNTED[0]} (default), {', '.join(_methods.COUNTED[1:])}",
    )
    group.add_argument(
        "--runner-up",
        type=_methods.converter(as_switch),
        metavar="{on,off}",
        default=True,
        help="bound the runner-up's probability too; off: Cohen's procedure (on)",
    )
    group.add_argument(
        "--target-radius",
        type=float,
        metavar="R",
        help="certify R or nothing, and stop sampling when that is decided",
    )
    group.add_argument(
        "--tolerance",
        type=float,
        metavar="T",
        help=(
            "stop sampling an input where all n samples are expected to add no more "
            f"than T sigma to its radius; implies --bound staged ({TOLERANCE} there)"
        ),
    )
    group.add_argument(
        "--only-correct",
        action="store_true",
        help="draw no more samples of inputs whose selected class is wrong",
    )
    group.add_argument(
        "--margin",
        type=_margin,
        metavar="DELTA",
        help=(
            "a sample counts only if its largest score leads by more: certificates of "
            "the program; auto: measured on a few inputs"
        ),
    )
    group.add_argument(
        "--seed",
        type=_seed,
        default=0,
        help=(
            "names the random samples (0); os: bits of the operating system, through "
            "ChaCha20, that nobody repeats (Gaussian noise needs --sound-noise)"
        ),
    )


def _add_noise(group: Any) -> None:
    """The method; its own options are added once it is known."""
    others = ", ".join(
        name
        for name in METHODS
        # those of other packages are loaded when they are named
        if name != _methods.DEFAULT
        and (not METHODS.is_own(name) or METHODS[name].options)
    )
    group.add_argument(
        "--method",
        metavar="METHOD",
        default=_methods.DEFAULT,
        help=(
            f"{_methods.DEFAULT} (default), {others} or MODULE:CALLABLE, which returns "
            "a scheme, a rule or a network"
        ),
    )
    _grid.add(group)


def _add_files(group: Any) -> None:
    group.add_argument(
        "--out",
        required=True,
        metavar="FILE.tsv",
        type=Path,
        help="the result file",
    )
    group.add_argument(
        "--config",
        metavar="FILE.yaml",
        type=Path,
        help="read options from a file; options on the command line take precedence",
    )
    group.add_argument(
        "--shard",
        metavar="i/N",
        help="take every N-th of the inputs, from the i-th (from 0)",
    )
    group.add_argument(
        "--commit",
        action="store_true",
        help=(
            "write what is to be run to FILE.tsv.commitment.json before the first "
            "sample"
        ),
    )
    group.add_argument(
        "--accept-change",
        action="store_true",
        help="go on with a file although model or versions changed, and record it",
    )
    group.add_argument(
        "--skip-corrupt",
        action="store_true",
        help="leave out inputs that can't be decoded, and record them",
    )
    add_json(group)


def _margin(text: str) -> float | str:
    if text == "auto":
        return text
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"must be a number or auto; got {shown(text)!r:.40}"
        ) from None


def _seed(text: str) -> int | str:
    return text if text == FROM_SYSTEM else whole(0, text)


def _end(text: str) -> int:
    return -1 if text == "-1" else whole(1, text)


def _prepare(parser: Any, asked: Any, noise: Any, words: list[str]) -> list[str]:
    """The command line with the options of ``--config`` in front.

    Adds the options of its answer and of its method, and no others'.
    """
    named = _named_first(words)
    if named is None:
        return words
    # an empty name is for the parser to refuse
    config = Path(named.config) if named.config else None
    options = _config.entries(config) if config is not None else {}
    flags = {word.partition("=")[0] for word in (*words, *options)}
    answer = _answers.name_of(named.answer or options.get("--answer"), flags)
    method = options.get("--method") if named.method is None else named.method
    of_method: tuple[Option, ...] = ()
    asked_for = _methods.DEFAULT if method is None else str(method)
    if ANSWERS[answer].takes_scheme:
        of_method = _methods.of_method(asked_for)
    elif method is not None:
        raise ValueError(f"--method has no meaning for --answer {answer}")
    _require_meaning(
        flags,
        _answers.options_of(answer),
        of_method,
        answer,
        asked_for,
    )
    for option in _answers.options_of(answer):
        _methods.add(asked, option, required=option.default is ...)
    for option in of_method:
        _add_of_method(noise, option, is_named=method is not None)
    parser.set_defaults(answer=answer)
    # the options of this method and answer stand in their own help
    shown_by = f" --method {method}" if method is not None and of_method else ""
    shown_by += f" --answer {answer}" if answer != _answers.DEFAULT else ""
    parser.help_words = f"{shown_by} --help"
    return [*_config.words(config, options, parser.flags), *words]


def _named_first(words: list[str]) -> argparse.Namespace | None:
    """The file of options, method and answer that decide which options there are.

    None where one of them has no value, of which the parser itself says more.
    """
    finder = argparse.ArgumentParser(
        add_help=False, allow_abbrev=False, exit_on_error=False
    )
    for flag in ("--config", "--method", "--answer"):
        finder.add_argument(flag)
    try:
        return finder.parse_known_args(words)[0]
    except argparse.ArgumentError:
        return None


def _add_of_method(noise: Any, option: Option, *, is_named: bool) -> None:
    """Add an option of the method; one of a method that is not named has no help."""
    changes: dict[str, Any] = {"required": option.default is ...}
    if option.name == "sigma":
        changes |= {"type": levels, "metavar": "SIGMA,..."}
    elif not is_named:  # --norm, which few look for
        changes["help"] = argparse.SUPPRESS
    _methods.add(noise, option, **changes)


def _require_meaning(
    flags: set[str],
    of_answer: Sequence[Option],
    of_method: Sequence[Option],
    answer: str,
    method: str,
) -> None:
    """ValueError for an option of another answer or of another method."""
    taken = _flags_of((*of_answer, *of_method))
    others = _flags_of(_methods.of_all()) - taken
    for flag in sorted(others & flags):
        which = f"--method {method}" if of_method else f"--answer {answer}"
        raise ValueError(f"{flag} has no meaning for {which}")
    for flag in sorted((_answers.flags_of_all() - taken) & flags):
        raise ValueError(f"{flag} has no meaning for --answer {answer}")
    if _flags_of(of_answer) & _flags_of(of_method):
        raise ValueError(
            f"--answer {answer} does not go with --method {method}, whose noise "
            "follows the input"
        )


def _flags_of(options: Iterable[Option]) -> set[str]:
    return {_flags.flag(option.name) for option in options}


def levels(text: str) -> tuple[float, ...]:
    """A noise level, or several separated by commas."""
    try:
        several = tuple(noise_level(float(level)) for level in text.split(","))
    except ArgumentError as error:  # argparse says the option
        raise argparse.ArgumentTypeError(error.problem) from None
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
    args.opened = _answers.opened(args)  # once for all levels, and for workers
    runs = []
    for level in args.sigma or (None,):
        out = args.out
        if len(args.sigma or ()) > 1:
            out = out.with_name(
                f"{out.stem}-sigma{str(level).removesuffix('.0')}{out.suffix}"
            )
        require_place(out)  # before the model is loaded
        at_level = argparse.Namespace(**vars(args) | {"sigma": level, "out": out})
        at_level.place = out.absolute()  # the model's code may change the folder
        runs.append(at_level)
    procedure = None
    if not _follows_from_noise(args):  # refused before the model is loaded
        procedure = _procedure(args, ANSWERS[args.answer])
    for at_level in runs:
        try:
            _run(at_level, procedure)
        except CorruptInput as error:
            raise ValueError(
                f"{error}; --skip-corrupt leaves out such inputs"
            ) from None


def _follows_from_noise(args: argparse.Namespace) -> bool:
    """Whether numbers of the run follow from its noise, which isn't made yet."""
    open_ = args.n is None or args.bound is None
    return open_ and _methods.may_evaluate_all(args.method)


def _procedure(args: argparse.Namespace, answer: Answer | type[Answer]) -> Procedure:
    """The procedure of all runs, as far as it is known before a margin is measured.

    Where nothing is said its numbers are those of the answer.
    """
    numbers = {field.name: vars(args)[field.name] for field in fields(Procedure)}
    for name in ("n0", "n", "bound"):
        if numbers[name] is None:
            numbers[name] = getattr(answer, name)
    if numbers["margin"] == "auto":
        numbers["margin"] = None
    return Procedure(**numbers)


def _run(args: argparse.Namespace, procedure: Procedure | None) -> None:
    rank, size, origin = shard(args.shard)
    out = args.out
    if origin != "default" and size > 1:
        out = out.with_name(f"{out.stem}.{rank}-of-{size}{out.suffix}")
        say(f"{origin} shard {rank}/{size}, writing {out}")
    place = args.place.with_name(out.name)
    parts = _engine.parts(args)
    with ExitStack() as stack:
        data = stack.enter_context(parts.data)
        job = job_of(parts.answer, procedure or _procedure(args, parts.answer))
        job.check()
        _answers.require_alike(args, job.procedure, parts.describe)
        _hints(job.procedure, parts.answer, data)
        model: Any = _engine.workers(args, partial(_engine.built, args, parts.describe))
        if model is None:
            model = _engine.model(args, parts.stages, parts.answer)
        else:
            stack.enter_context(model)
        parts.stages.clear()  # workers have their own
        begun = time.perf_counter()
        before = max(place.read_bytes().count(b"\n") - 1, 0) if place.is_file() else 0
        results = carry_out(
            model,
            data,
            job,
            Selection(args.start, args.skip, args.max, f"{rank}/{size}"),
            Settings(
                describe=parts.describe,
                engine=_engine.engine(args),
                run={
                    "data": str(args.data),
                    "batch": args.batch,
                    "started": time.strftime("%F %T%z"),
                },
                commit=args.commit,
                accept_change=args.accept_change,
                skip_corrupt=args.skip_corrupt,
                notify=say,
            ),
            place,
            measures=args.margin == "auto",
        )
    new = len(results.rows) - before
    seconds = time.perf_counter() - begun
    _tell(args, out, results, parts.answer, new=new, seconds=seconds)


def _tell(
    args: argparse.Namespace,
    out: Path,
    results: Results,
    answer: Answer,
    *,
    new: int,
    seconds: float,
) -> None:
    """Print what a run wrote; at a terminal, what may come next."""
    show(args, [*_summary(out, results, answer, new, seconds)])
    _hint_void(results)
    if new and sys.stdout.isatty() and not args.json:
        print(f"next: rsbounds report {out}\n      rsbounds verify {out}")


def _summary(
    out: Path, results: Results, answer: Answer, new: int, seconds: float
) -> Iterator[Told]:
    """What a run wrote, and how fast."""
    rows = len(results.rows)
    entries = {"out": str(out), "rows": rows, "new": new}
    yield Told(f"{out}: {rows} rows, {new} of them new", entries)
    rate = f"{new / seconds:.3g} rows a second" if new else ""
    if new:
        yield Told("", {"rate": new / seconds})
    if results.rows and answer.classifies:
        accuracy, abstained = results.clean_accuracy(), results.abstention()
        radius = truncated(results.average_radius(), 4)
        shares = (
            f"accuracy {accuracy:.4f}",
            f"abstentions {abstained:.4f}",
            f"average certified radius {radius}",
        )
        figures = {"clean": accuracy, "abstain": abstained, "acr": float(radius)}
        yield Told(", ".join(filter(None, (*shares, rate))), figures)
    elif rate:
        yield Told(f"{rate}; rsbounds report {out} shows what they say", {})
    if results.rows and results.manifest and results.manifest.procedure.may_stop:
        n = results.manifest.procedure.n
        share = results.samples() / (rows * n)
        text = f"{share:.1%} of n = {n} samples an input were drawn"
        yield Told(text, {"samples": results.samples(), "share_of_n": share})
    yield Told("", {"void": sum(row.void for row in results.rows)})


def _hint_void(results: Results) -> None:
    """Tell on standard error of samples that count for no class."""
    void = sum(row.void for row in results.rows)
    if void and results.manifest and results.manifest.procedure.void_against:
        samples = "1 sample was" if void == 1 else f"{void} samples were"
        say(f"{samples} void: counted against the class")
    elif void:
        say(
            f"warning: {void} samples were void (their scores held NaN) and count for "
            "no class"
        )


def say(message: str) -> None:
    """Print a line on standard error."""
    print(f"rsbounds certify: {message}", file=sys.stderr)


def _hints(procedure: Procedure, answer: Answer, data: Data) -> None:
    """Warn before sampling where nothing good can come out."""
    x = _engine.first(data)
    # the scheme may be of others' code
    reason = guarded("the first input", lambda: hopeless(answer, x, procedure))
    if reason is not None:
        warnings.warn(reason, stacklevel=2)
