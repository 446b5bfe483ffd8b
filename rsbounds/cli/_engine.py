"""Model, data and engine as the commands take them, and what they make of these."""

import argparse
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from rsbounds import loading
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.text import shown
from rsbounds._numerics.threads import require_started
from rsbounds.answers import Answer
from rsbounds.certify.internal import Build
from rsbounds.cli import _answers, _grid, _methods
from rsbounds.cli._methods import whole
from rsbounds.cluster import Processes, Ray, Workers
from rsbounds.loading import CorruptInput, Data, Loaded, Preprocess
from rsbounds.loading.internal import (
    DATA,
    MODELS,
    TABLES,
    TableData,
    TextData,
    by_name,
    forms,
    parse_arguments,
    read_texts,
)

_PRECISION = ("autocast", "compile")


def add_model(parser: Any, *, required: bool) -> None:
    add = parser.add_argument
    text = forms(MODELS)
    add("--model", required=required, metavar="MODEL", help=text)
    text = (
        "arguments of its constructor; input_range=(0,255) for other pixels than 0 ... "
        "1"
    )
    add("--model-args", metavar="K=V,...", default="", help=text)
    add(
        "--checkpoint",
        metavar="FILE",
        type=Path,
        help="weights: safetensors, or torch tensors",
    )
    text = (
        "put a denoiser in front: MODULE:CALLABLE, path/to/file.py:CALLABLE, "
        "hf:ID_OR_DIRECTORY"
    )
    add("--denoiser", metavar="DENOISER", help=text)
    add(
        "--trust",
        action="append",
        default=[],
        metavar="TYPE",
        help="a type that sklearn:FILE may hold, by its full name",
    )
    add(
        "--download",
        action="store_true",
        help="fetch weights and data that are not on disk",
    )


def add_data(parser: Any, *, required: bool, help: str = "") -> None:
    add = parser.add_argument
    text = f"{help}{forms(DATA)}"
    add("--data", required=required, metavar="DATA", help=text)
    add("--scale", type=float, help="divide stored numbers by this, such as 255")
    text = "FILE.csv: the column of the classes; of files with other separators than a "
    text += "comma, or decimal commas, say separator and decimal too"
    add("--target", metavar="COLUMN", help=text)
    text = "FILE.csv of texts: the directory or name of their tokenizer (that of hf:)"
    add("--tokenizer", metavar="ID|DIR", help=text)
    # of few files: the refusal of such a file names them
    add("--separator", metavar="CHARACTER", help=argparse.SUPPRESS)
    add("--decimal", choices=(".", ","), default=".", help=argparse.SUPPRESS)
    add(
        "--categories",
        type=_names,
        default=[],
        metavar="COLUMN,...",
        help="FILE.csv: columns of numbers that are categories",
    )
    add(
        "--units",
        type=_units,
        default={},
        metavar="COLUMN=U,...",
        help="FILE.csv: divide a column's numbers by U (their standard deviation)",
    )
    add(
        "--like",
        metavar="FILE.csv",
        help="FILE.csv: take units and values from this table, such as the training "
        "rows (the data's own)",
    )
    text = (
        "FILE.csv: fill in missing numbers by this rule, with a category that says so"
    )
    add("--missing", choices=("median", "mean"), help=text)
    add(
        "--resize",
        type=_size,
        metavar="N|H,W",
        help="pictures: the shorter side, or both sides",
    )
    add(
        "--crop",
        type=_size,
        metavar="N|H,W",
        help="pictures: keep this much from the middle",
    )
    add("--channels", type=int, choices=(1, 3), help="pictures: 1 grey, 3 colour")


def add_engine(parser: Any) -> None:
    """Add the options of the forward passes."""
    add, types = (
        parser.add_argument,
        {"choices": ("bfloat16", "float16"), "metavar": "TYPE"},
    )
    text = "noisy samples that torch holds at once, at least a block of them (1000)"
    add("--batch", type=partial(whole, 1), default=1000, help=text)
    add("--autocast", **types, help="mixed precision: bfloat16 or float16")
    text = "torch.compile and a device's quickest kernels; votes are compared"
    add("--compile", action="store_true", help=text)


def add_workers(parser: Any) -> None:
    """Add the options that say where ``rsbounds certify`` runs.

    Here, in processes of this machine, or on Ray.
    """
    add, count = parser.add_argument, partial(whole, 1)
    text = "cpu (default), cuda, cuda:1; of several, each has a process"
    add("--device", metavar="DEVICE,...", default="cpu", type=_devices, help=text)
    text = "certify in N processes, at most 4 a core, or by N workers of Ray"
    add("--processes", type=count, metavar="N", help=text)
    text = "certify on a Ray cluster (that in RAY_ADDRESS, or one of this machine)"
    add("--ray", nargs="?", const=True, metavar="ADDRESS", help=text)
    text = "threads of each process (all cores together)"
    add("--threads", type=count, metavar="T", help=text)


def _size(text: str) -> int | tuple[int, int]:
    sides = _methods.numbers(text, int, 1, 2)
    return (sides[0], sides[1]) if len(sides) == 2 else sides[0]


def _names(text: str) -> list[str]:
    names = text.split(",")
    if not all(names):
        raise argparse.ArgumentTypeError(f"must be COLUMN,...; got {text!r:.60}")
    return names


def _units(text: str) -> dict[str, float]:
    units = {}
    for entry in text.split(","):
        column, _, unit = entry.rpartition("=")
        try:
            units[column] = float(unit)
        except ValueError:
            raise argparse.ArgumentTypeError(
                f"must be COLUMN=NUMBER,...; got {text!r:.60}"
            ) from None
    return units


def _devices(text: str) -> str:
    several = re.fullmatch(r"cuda:\d+(,cuda:\d+)+", text)
    if not text or ("," in text and not several):
        raise argparse.ArgumentTypeError(
            f"expected one device, or cuda:0,cuda:1,...; got {text!r}"
        )
    return text


def settle(args: argparse.Namespace) -> None:
    """Take several devices apart, and set this process's threads.

    Before torch is loaded. ValueError for more than a machine is asked to start; what a
    Ray cluster may, it decides itself.
    """
    for name in ("processes", "threads"):
        number = vars(args)[name]
        if number is not None and args.ray is None:
            require_started(name, number)
    args.devices = re.findall(r"\d+", args.device) if "," in args.device else []
    if args.devices:
        if args.ray is not None:
            raise ValueError("--ray deals out the GPUs itself: give --device cuda")
        args.device = "cuda"  # each process sees its own alone
    if args.threads is not None and "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(args.threads)
    elif args.threads is not None:
        os.environ["OMP_NUM_THREADS"] = str(args.threads)  # which torch will read


def workers(args: argparse.Namespace, build: Build) -> Workers | None:
    """Return the workers that were asked for, not started yet.

    None where this process does the work.
    """
    if args.ray is not None:
        numbers = {
            "count": args.processes,
            "gpus": float(args.device.startswith("cuda")),
        }
        address = None if args.ray is True else args.ray
        return Ray(build, address, threads=args.threads or 1, **numbers)
    if args.processes is None and not args.devices:
        return None
    return Processes(build, args.processes, devices=args.devices, threads=args.threads)


def load(args: argparse.Namespace) -> Loaded:
    """The model of the command line."""
    arguments = parse_arguments(args.model_args)
    input_range = arguments.pop("input_range", None)  # of pixels, not the model's
    folder = os.getcwd()
    try:
        return loading.load_model(
            args.model,
            input_range=input_range,
            preprocess=_preprocess(args),
            args=arguments,
            checkpoint=args.checkpoint,
            download=args.download,
            trust=args.trust,
        )
    finally:
        os.chdir(folder)  # which the model's code may have changed


def stages(
    args: argparse.Namespace, loaded: Loaded, answer: Answer, x: Any
) -> tuple[list[Loaded], dict[str, Any]]:
    """Return what is smoothed at each noise level, denoiser included.

    And what the manifest says of it; ``x`` is an input.
    """
    if args.denoiser is None:
        return [loaded], dict(loaded.describe)
    from rsbounds.loading.denoiser import denoised, load_denoiser

    parts = load_denoiser(args.denoiser, download=args.download)
    made = [denoised(loaded, parts, sigma) for sigma in answer.levels(x)]
    denoisers = [stage.describe["denoiser"] for stage in made]
    recorded = denoisers if len(denoisers) > 1 else denoisers[0]
    return made, {**loaded.describe, "denoiser": recorded}


def _preprocess(args: argparse.Namespace) -> dict[str, Any]:
    """What pictures go through, as far as the command line says it."""
    crop = (args.crop, args.crop) if isinstance(args.crop, int) else args.crop
    steps = {"resize": args.resize, "crop": crop, "channels": args.channels}
    return {name: value for name, value in steps.items() if value is not None}


def open_data(
    args: argparse.Namespace,
    loaded: Loaded | None,
    labels: Sequence[Any] | None = None,
    *,
    method: str | None = None,
    preprocess: Preprocess | None = None,
) -> Data:
    """Load the data of the command line.

    As the model wants its images and names its classes; ``preprocess`` is what images
    go through where neither a model nor the command line says it.
    """
    tokenizer = args.tokenizer or (loaded and loaded.tokenizer)
    labels = loaded.labels if loaded else labels
    if args.target is not None and tokenizer:
        return _texts(args, labels, tokenizer)
    if args.target is not None:
        return _table(args, labels)
    if args.tokenizer:
        raise ValueError("--tokenizer is for texts: --data FILE.csv --target COLUMN")
    if args.data.endswith(TABLES):
        raise ValueError("--target must name the column of the classes of a table")
    for name in ("categories", "units", "like", "missing", "separator"):
        if getattr(args, name):
            raise ValueError(f"--{name} is for a table: --data FILE.csv --target")
    steps = _preprocess(args)
    if loaded or steps:
        preprocess = loaded.preprocess if loaded else Preprocess(**steps)
    data = loading.open_data(
        args.data,
        preprocess=preprocess,
        labels=labels,
        scale=args.scale,
        whole=_methods.of_whole_numbers(method),
        download=args.download,
    )
    if steps and "preprocessing" not in data.identity:
        data.close()
        raise ValueError(
            f"--{next(iter(steps))} is for pictures; --data {args.data} holds arrays"
        )
    return data


def _texts(
    args: argparse.Namespace, labels: Sequence[Any] | None, tokenizer: Any
) -> Data:
    """Texts beside their classes, as the numbers of their tokens."""
    of_tables = ("categories", "units", "like", "missing")
    not_for_texts = {
        **{name: getattr(args, name) for name in of_tables},
        "scale": args.scale,
        **_preprocess(args),
    }
    for name, value in not_for_texts.items():
        if value:
            raise ValueError(
                f"--{name} is not for texts; --data {args.data} holds them"
            )
    return read_texts(
        args.data,
        tokenizer,
        args.target,
        classes=labels,
        separator=args.separator,
    )


def _of_text(args: argparse.Namespace, data: Data) -> argparse.Namespace:
    """The options, with the number of [MASK] for what hidden tokens show."""
    if not isinstance(data, TextData) or getattr(args, "hidden", 0) is not None:
        return args
    mask = data.tokenizer.mask
    if mask is None:
        raise ValueError(
            "--hidden must be given: the tokenizer has no [MASK] for hidden tokens"
        )
    return argparse.Namespace(**vars(args) | {"hidden": float(mask)})


def _table(args: argparse.Namespace, labels: Sequence[Any] | None) -> Data:
    """A table, its columns split into numbers and categories."""
    of_pictures = {"scale": args.scale, **_preprocess(args)}
    for name, value in of_pictures.items():
        if value is not None:
            raise ValueError(f"--{name} is for pictures; --data {args.data} is a table")
    read = partial(
        loading.read_table,
        target=args.target,
        categories=args.categories,
        units=args.units,
        missing=args.missing,
        separator=args.separator,
        decimal=args.decimal,
    )
    like = None
    if args.like is not None:
        try:
            like = read(args.like)
        except ArgumentError as error:
            name = "like" if error.name == "data" else error.name
            raise ArgumentError(name, error.problem) from None
    return TableData(read(args.data, like=like), args.data, labels)


def of_data(loaded: Loaded, data: Data) -> Loaded:
    """The model as it takes these data: the columns of a table by their names."""
    return by_name(loaded, data.table) if isinstance(data, TableData) else loaded


def _of_table(args: argparse.Namespace, data: Data) -> argparse.Namespace:
    """The options, with a table's own groups of columns where none are stated."""
    blocks = getattr(args, "blocks", None)
    if blocks is None:
        return args
    asked, *others = blocks
    automatic = asked["method"] == "auto"
    if not isinstance(data, TableData):
        if automatic:
            raise ValueError("--blocks auto needs a table: --data FILE.csv --target")
        return args
    of_columns: dict[str, Any] = {}
    if automatic:
        of_columns["blocks"] = tuple(data.table.blocks(*_auto(asked, others)))
        if args.splits is not None:
            raise ValueError("--splits has no meaning beside --blocks auto")
    if args.splits is None:
        of_columns["splits"] = data.table.splits
    return argparse.Namespace(**vars(args) | of_columns)


def _auto(asked: dict[str, Any], others: Sequence[Any]) -> tuple[float, float]:
    """The level of numbers and the chance of categories that --blocks auto states."""
    if others or asked.keys() != {"method", "sigma", "keep"}:
        raise ValueError(
            "--blocks must be auto:sigma=S,keep=P, a level for all numbers and the "
            "chance that a category keeps its value"
        )
    return asked["sigma"], asked["keep"]


def engine(args: argparse.Namespace) -> dict[str, Any]:
    """What rows may depend on."""
    entries = {"device": args.device.partition(":")[0]} | {
        k: getattr(args, k) for k in _PRECISION
    }
    return {**entries, **_grid.entries(args)}


def model(args: argparse.Namespace, stages: list[Loaded], answer: Answer) -> Any:
    """Return the sampler of all levels.

    Behind a denoiser a list with that of each level of a rule.
    """
    options = {key: getattr(args, key) for key in ("batch", *_PRECISION)}
    options["device"] = _device(args.device or "cpu")
    try:
        samplers = [answer.sampler(stage.model, **options) for stage in stages]
    except (RuntimeError, AssertionError) as error:
        raise ValueError(f"--device {args.device} can't be used: {error}") from error
    return samplers if len(samplers) > 1 else samplers[0]


def _device(name: str) -> str:
    """``cuda`` means, for one of several processes on a machine, its own GPU."""
    local = os.environ.get("LOCAL_RANK", os.environ.get("SLURM_LOCALID"))
    if name != "cuda" or local is None:
        return name
    if not local.isdecimal():
        raise ValueError(
            f"LOCAL_RANK or SLURM_LOCALID must be a number >= 0; got {local!r}"
        )
    import torch

    return f"cuda:{int(local) % max(torch.cuda.device_count(), 1)}"


class Parts(NamedTuple):
    """What ``rsbounds certify`` certifies with."""

    data: Data
    answer: Answer
    stages: list[Loaded]
    describe: dict[str, Any]


def parts(args: argparse.Namespace) -> Parts:
    loaded = load(args)
    data = open_data(args, loaded, method=args.method)
    try:
        if not len(data):
            raise ValueError(
                f"{args.data}: the data must have at least one input; got none"
            )
        loaded = of_data(loaded, data)
        x = first(data)
        with _naming_data(args.data):
            answer = _answers.made(_of_text(_of_table(args, data), data), x.shape)
            if answer.scheme.drawn is not None:
                answer.scheme.drawn.checked(x)  # before anything is drawn for nothing
        return Parts(data, answer, *stages(args, loaded, answer, x))
    except BaseException:
        data.close()
        raise


@contextmanager
def _naming_data(place: str) -> Iterator[None]:
    """Errors of the first input, or of its shape, are of the option ``--data``."""
    try:
        yield
    except ArgumentError as error:
        if error.name not in ("x", "shape"):
            raise
        problem = f"{shown(place)}: the first input {error.problem}"
        raise ArgumentError("data", problem) from None


def built(
    args: argparse.Namespace, describe: dict[str, Any]
) -> tuple[Any, Data, Answer]:
    """A worker's model, data and answer: those of the command line."""
    made = parts(args)
    if made.describe != describe:
        raise ValueError(
            f"--model {args.model} must be the same wherever it is made; the process "
            f"that writes made {describe}, a worker {made.describe}"
        )
    return model(args, made.stages, made.answer), made.data, made.answer


def first(data: Data) -> Any:
    """The first input that can be decoded."""
    for i in range(len(data)):
        with suppress(CorruptInput):
            return data.input(i)
    return data.input(0)
