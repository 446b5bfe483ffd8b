"""Check every claim of a result file.

Prove every bound and radius of a result file from its counts and its manifest, in ball
arithmetic and not by the code that wrote them. Report rows that can't be proved or
don't fit the manifest, duplicates and missing rows; with --data also what doesn't fit
the data and levels that refute the bound of sigma(x), with --anchors, --sigma-function
or --noise levels and bounds that aren't those of the inputs, with --rerun what the
model doesn't draw again and what the manifest says of another model. The answer names
what it took as stated. Exit status 1 on a finding (extra: verify).
"""

import argparse
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from rsbounds import audit, trust
from rsbounds.answers import Answer, restored
from rsbounds.answers.internal import read_truth
from rsbounds.audit.internal import verify_printed
from rsbounds.certificate import ASSERTED_ENVELOPE, without_asserted_noise
from rsbounds.cli import _engine, _flags, _given, _grid, _methods
from rsbounds.cli._audited import NOISE, is_shaped, told
from rsbounds.cli._output import add_json, show
from rsbounds.cli._reading import add_reading
from rsbounds.loading import Preprocess
from rsbounds.reports import read_card
from rsbounds.results import Manifest
from rsbounds.results.internal import manifest_path
from rsbounds.schemes import METHODS, Scheme
from rsbounds.schemes.internal import Transformed


def add_options(parser: Any) -> None:
    """Add the options of ``rsbounds verify``."""
    add = parser.add_argument
    add("file", metavar="FILE.tsv", type=Path, help="the result file to verify")
    add(
        "--rerun",
        type=partial(_methods.whole, 1),
        metavar="K",
        help="draw K random rows again (needs --model, --data)",
    )
    add(
        "--margin",
        action="store_true",
        help="compare votes of the rows of --rerun with float64 and other batches",
    )
    add("--sample", type=int, metavar="K", help="prove only K random rows")
    add(
        "--draw-seed",
        type=int,
        metavar="S",
        help="choose the random rows of an earlier answer, which names S",
    )
    add(
        "--truth",
        metavar="FILE.npy",
        type=Path,
        help="segmentations: true maps, to compare accuracy and mIoU with",
    )
    add(
        "--card",
        metavar="FILE.json",
        type=Path,
        help="compute the card of the file again, and compare it",
    )
    add("--jobs", type=int, default=1, help="processes that prove rows (1)")
    add_json(parser)
    add(
        "--strict",
        action="store_true",
        help="exit status 1 also where only printing rounded a radius up, or no count "
        "earns it; not where arithmetic put it 1e-10 of itself too high",
    )
    text = "of a file without a manifest, as its paper states it"
    for name, kind in (
        ("--sigma", float),
        ("--n", partial(_methods.whole, 1)),
        ("--alpha", float),
    ):
        add(name, type=kind, help=text)
    add_reading(parser)
    _engine.add_model(parser, required=False)
    _engine.add_data(
        parser, required=False, help="compare labels and hashes with the data: "
    )
    _engine.add_engine(parser)
    _grid.add(parser)
    add("--device", help="where a torch model runs (cpu)")
    group = parser.add_group(
        "noise levels (with --data)",
        "compared with sigma(x) at each input, and with the bounds that radii rest on",
    )
    for option in _methods.of_all():
        if option.name in NOISE:
            _methods.add(group, option)
    group.add_argument(
        "--transform",
        metavar="FILE.py:CALLABLE",
        help="your own transformation, whose parameter the noise moved",
    )


def run(args: argparse.Namespace) -> int:
    """Run ``rsbounds verify``."""
    of_noise = (*NOISE, "transform")
    noise = [name for name in of_noise if getattr(args, name) is not None]
    _require_together(args, noise)
    if not manifest_path(args.file).exists() and args.file.is_file():
        return _published(args)
    manifest = Manifest.read(args.file)
    if args.sigma or args.n or args.alpha or args.columns or args.norm is not None:
        raise ValueError(
            "--sigma, --n, --alpha, --columns and --norm are for a file without a "
            "manifest"
        )
    if args.data is not None:
        _require_scale(args, manifest)
    if args.rerun is not None and manifest.method in METHODS:
        _require_same(args, manifest)
    with ExitStack() as stack:
        result = audit.verify(
            args.file,
            sample=args.sample,
            jobs=args.jobs,
            seed=args.draw_seed,
            margin=args.margin,
            **_compared(args, manifest, noise, stack),
        )
    if args.card is not None:
        of_card = audit.check_card(read_card(args.card), args.file, beside=args.card)
        result = replace(result, findings=result.findings + of_card)
    return _show(args, result, manifest)


def _compared(
    args: argparse.Namespace, manifest: Manifest, noise: list[str], stack: ExitStack
) -> dict[str, Any]:
    """What the command line gives to compare the file with, as verify takes it."""
    compared: dict[str, Any] = {}
    if args.truth is not None:
        compared["truth"] = read_truth(args.truth)
    if args.data is None or manifest.method not in METHODS:
        return compared
    loaded = _engine.load(args) if args.model is not None else None
    model = manifest.model if isinstance(manifest.model, dict) else {}
    opened = _engine.open_data(
        args,
        loaded,
        model.get("labels"),
        method=manifest.method,
        preprocess=Preprocess.of(manifest.data.get("preprocessing")),
    )
    data = stack.enter_context(opened)
    if loaded is not None:
        loaded = _engine.of_data(loaded, data)
    x = _engine.first(data)
    scheme = None
    if args.transform is not None:
        scheme = _moved(args, manifest)
    elif noise:
        scheme = _scheme(args, manifest, x.shape)
    compared |= {"data": data, "scheme": scheme}
    if loaded is not None:
        answer = _answer(manifest, scheme)
        answer.scheme = _grid.drawn(args, answer.scheme)
        stages, describe = _engine.stages(args, loaded, answer, x)
        compared |= {
            "describe": describe,
            "rerun": args.rerun,
            "model": _engine.model(args, stages, answer),
        }
    return compared


def _published(args: argparse.Namespace) -> int:
    """Audit a file that has no manifest and no counts."""
    if args.file.suffix == ".json":
        raise ValueError(
            f"{args.file} is no result file: verify takes RUN.tsv, and its card as "
            "--card RUN.json"
        )
    if None in (args.sigma, args.n, args.alpha):
        raise ValueError(
            f"{args.file} has no manifest: give --sigma, --n and --alpha as its paper "
            "states them"
        )
    result = verify_printed(
        args.file,
        sigma=args.sigma,
        n=args.n,
        alpha=args.alpha,
        columns=args.columns,
        norm=args.norm,
    )
    return _show(args, result, Manifest())


def _show(args: argparse.Namespace, result: audit.Audit, manifest: Manifest) -> int:
    show(args, [*told(args, result, manifest)])
    return int(result.fails_strictly if args.strict else result.fails)


def _moved(args: argparse.Namespace, manifest: Manifest) -> Scheme:
    """The scheme of the file's law and of a transformation of one's own."""
    recorded = METHODS[manifest.method].from_parameters(manifest.parameters)
    if not isinstance(recorded, Transformed):
        raise ValueError(
            f"--transform has no meaning for a file of method {manifest.method}"
        )
    return trust.moving(recorded.scheme, args.transform)


def _scheme(
    args: argparse.Namespace, manifest: Manifest, shape: tuple[int, ...]
) -> Scheme:
    """The noise of the command line, made with the manifest's other options."""
    method = METHODS[manifest.method]
    names = {option.name for option in method.options}
    parameters = dict(manifest.parameters)
    flag = ""
    for name in NOISE:
        if getattr(args, name) is None:
            continue
        flag = _flags.flag(name)
        if name not in names:
            raise ValueError(
                f"{flag} has no meaning for a file of method {manifest.method}"
            )
        parameters[name] = getattr(args, name)
    if args.levels_of is not None:
        levels = parameters.get("levels")
        parameters["sigma"] = levels.get("factor") if isinstance(levels, dict) else None
    by_options = _given.GivenByOptions(shape)
    scope = without_asserted_noise(manifest.scope)
    if args.sigma_function and "lip" in names and scope != ASSERTED_ENVELOPE:
        parameters |= {"lip": None, "sigma_min": None}  # the network proves its own
        function, _ = by_options.function(flag, args.sigma_function)
        if not hasattr(function, "scheme"):
            raise ValueError(
                f"scope is {manifest.scope!r} in {args.file}: {flag} proves no bounds"
            )
    options = {
        option.name: parameters.get(option.name, option.default)
        for option in method.options
    }
    lacking = [name for name, value in options.items() if value is ...]
    if lacking:
        raise ValueError(
            f"{flag} can't be compared: {args.file} doesn't say its "
            f"{', '.join(lacking)}"
        )
    scheme = method.from_options(options, by_options)
    return scheme.on_grid() if method.allows_for_rounding(parameters) else scheme


def _require_together(args: argparse.Namespace, noise: list[str]) -> None:
    """ValueError for options without those that they need, or out of their domain."""
    if args.rerun is not None and (args.model is None or args.data is None):
        raise ValueError("--rerun needs --model and --data")
    for name in ("model", "denoiser", "margin"):
        if args.rerun is None and getattr(args, name):
            raise ValueError(f"--{name} goes with --rerun")
    if noise and args.data is None:
        raise ValueError(f"{_flags.flag(noise[0])} needs --data")
    if args.draw_seed is not None and not args.draw_seed >= 0:
        raise ValueError(f"--draw-seed must be >= 0; got {args.draw_seed}")


def _require_scale(args: argparse.Namespace, manifest: Manifest) -> None:
    """ValueError where the run divided its data by a number that is not given now.

    Code that returns data may have divided them itself.
    """
    scale = manifest.data.get("scale")
    of_file = args.data.endswith((".npz", ".npy"))
    if of_file and isinstance(scale, int | float) and args.scale is None:
        # hashes are those of the stored numbers
        raise ValueError(
            f"--data needs --scale {scale:g} if {args.file} states the run's scale; "
            "only --rerun shows whether it does"
        )


def _require_same(args: argparse.Namespace, manifest: Manifest) -> None:
    """ValueError unless the command line has all that the run had.

    Before the model is loaded, and before anything is proved.
    """
    method = METHODS[manifest.method]
    takes_noise = any(option.name == "noise" for option in method.options)
    shaped = is_shaped(manifest)
    for name, had in (
        ("noise", takes_noise and not shaped),
        ("levels_of", shaped),
        ("denoiser", "denoiser" in manifest.model),
    ):
        if bool(getattr(args, name)) != bool(had):
            needs = "needs" if had else "takes no"
            raise ValueError(f"--rerun {needs} {_flags.flag(name)}, as {args.file} had")
    _grid.require_same(args, manifest)


def _answer(manifest: Manifest, noise: Scheme | None) -> Answer:
    """The answer of the file."""
    if noise is None:
        method, parameters = METHODS[manifest.method], manifest.parameters
        level = parameters.get("sigma", parameters.get("sigma_min", 1.0))
        noise = method.from_parameters(parameters, level=lambda _: level)
    return restored(manifest.answer, noise)
