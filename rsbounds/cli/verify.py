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
import json
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from rsbounds import audit
from rsbounds._numerics.text import abridged, shown
from rsbounds.answers import Answer, restored
from rsbounds.answers._maps import read_truth
from rsbounds.certificate import ASSERTED_ENVELOPE
from rsbounds.cli import _engine, _methods
from rsbounds.results import Manifest, manifest_path, read_card
from rsbounds.schemes import METHODS, Scheme

_NOISE = ("anchors", "sigma_function", "noise", "levels_of")  # what levels depend on

_REDRAWS = "(--rerun draws some again)"
#: What no radius needs, and what compares it.
_BESIDES = {
    "counts": f"the counts {_REDRAWS}",
    "outputs": f"the outputs {_REDRAWS}",
    "data": "labels and inputs (--data)",
    "truth": "agreement with true maps (--truth)",
    "classes": "how many classes maps tell apart (--rerun)",
    "times": "times",
}


def add_options(parser: Any) -> None:
    add = parser.add_argument
    add("file", metavar="FILE.tsv", type=Path)
    add(
        "--rerun",
        type=int,
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
        help="choose the rows of an earlier answer again",
    )
    add(
        "--truth",
        metavar="FILE.npy",
        type=Path,
        help="compare how maps agree with the true ones",
    )
    add(
        "--card",
        metavar="FILE.json",
        type=Path,
        help="compute the card of the file again, and compare it",
    )
    add("--jobs", type=int, default=1, help="processes (1)")
    add("--json", action="store_true", help="print a JSON object")
    add(
        "--strict",
        action="store_true",
        help="exit status 1 on any finding, of radii rounded up in print too",
    )
    text = "of a file without a manifest, as its paper states it"
    for name, kind in (
        ("--sigma", float),
        ("--n", partial(_methods.whole, 1)),
        ("--alpha", float),
    ):
        add(name, type=kind, help=text)
    _engine.add_model(parser, required=False)
    _engine.add_data(
        parser, required=False, help="compare labels and hashes with the data: "
    )
    _engine.add_engine(parser)
    _engine.add_sound_noise(parser)
    add("--device", help="where a torch model runs (cpu)")
    group = parser.add_argument_group(
        "noise levels (with --data)",
        "compared with sigma(x) at each input, and with the bounds that radii rest on; "
        "pictures "
        "that the model's own steps resize or crop need --rerun and --model too",
    )
    for option in _methods.of_all():
        if option.name in _NOISE:
            _methods.add(group, option)


def run(args: argparse.Namespace) -> int:
    noise = [name for name in _NOISE if getattr(args, name) is not None]
    if args.rerun is not None and (args.model is None or args.data is None):
        raise ValueError("--rerun needs --model and --data")
    for name in ("model", "denoiser", "margin"):
        if args.rerun is None and getattr(args, name):
            raise ValueError(f"--{name} goes with --rerun")
    if noise and args.data is None:
        raise ValueError(f"{_methods.flag(noise[0])} needs --data")
    if not manifest_path(args.file).exists() and args.file.is_file():
        return _published(args)
    manifest = Manifest.read(args.file)
    if args.sigma or args.n or args.alpha:
        raise ValueError("--sigma, --n and --alpha are for a file without a manifest")
    compared: dict[str, Any] = {}
    if args.truth is not None:
        compared["truth"] = read_truth(args.truth)
    with ExitStack() as stack:
        if args.data is not None and manifest.method in METHODS:
            loaded = _engine.load(args) if args.model is not None else None
            model = manifest.model if isinstance(manifest.model, dict) else {}
            data = stack.enter_context(
                _engine.open_data(
                    args, loaded, model.get("labels"), method=manifest.method
                )
            )
            x = _engine.first(data)
            scheme = _scheme(args, manifest, x.shape) if noise else None
            compared |= {"data": data, "scheme": scheme}
            if loaded is not None:
                answer = _answer(args, manifest, scheme)
                stages, describe = _engine.stages(args, loaded, answer, x)
                compared |= {
                    "describe": describe,
                    "rerun": args.rerun,
                    "model": _engine.model(args, stages, answer),
                }
        result = audit.verify(
            args.file,
            sample=args.sample,
            jobs=args.jobs,
            seed=args.draw_seed,
            margin=args.margin,
            **compared,
        )
    if args.card is not None:
        own = audit.check_card(read_card(args.card), args.file)
        result = replace(result, findings=result.findings + own)
    return _show(args, result, manifest)


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
    result = audit.verify_printed(
        args.file, sigma=args.sigma, n=args.n, alpha=args.alpha
    )
    return _show(args, result, Manifest())


def _show(args: argparse.Namespace, result: audit.Audit, manifest: Manifest) -> int:
    if args.json:
        names = {"line": "line", "input": "index", "kind": "kind", "finding": "text"}
        each = [{k: getattr(f, v) for k, v in names.items()} for f in result.findings]
        answer = {"file": str(args.file), "rows": result.rows, "findings": each}
        answer |= {"stated": result.stated, "seed": result.seed}
        answer |= {"kinds": result.of_kind(), "notes": result.notes}
        print(
            json.dumps(answer | ({"corrupt": result.corrupt} if result.corrupt else {}))
        )
        return _status(args, result)
    notes = []
    for step in manifest.history:
        if changes := step.get("changes"):
            notes.append(
                f"{step.get('rows')} rows are from before a change: "
                f"{abridged('; '.join(changes))}"
            )
    if commitment := manifest.run.get("commitment"):
        notes.append(
            f"committed as sha256 {commitment}: when that was published shows when"
            + "".join(f"; it does not fix {text}" for text in manifest.unfixed())
        )
    if selection := manifest.selection():
        notes.append(selection)
    if manifest.shard != "0/1":
        notes.append(f"shard {manifest.shard} alone: a part of its run")
    if result.corrupt and args.data is None:
        many = len(result.corrupt)
        notes.append(
            f"{many} inputs are said to be corrupt: --data checks whether they are"
        )
    needed = [name for name in result.stated if name not in _BESIDES]
    if needed:
        notes.append(_taken(needed, args, manifest))
    if result.drawn:
        notes.append(
            f"{result.drawn} of {result.rows} rows drawn again (--draw-seed "
            f"{result.seed}): a file "
            f"with 1 % forged rows passes with probability {result.missed(0.01):.2g}, "
            "with 10 % "
            f"{result.missed(0.1):.2g}"
        )
    if result.votes is not None:
        votes = result.votes
        notes.append(
            f"{votes.changed} of {votes.counted} votes that count changed under other "
            f"settings ({', '.join(votes.settings)}), largest difference of scores "
            f"{votes.largest:.3g}"
        )
    some = f" ({result.proved} of them proved)" if result.proved < result.rows else ""
    notes += result.notes
    many = len(result.findings)
    each = ", ".join(f"{k} {kind}" for kind, k in result.of_kind().items())
    notes.append(
        f"{result.rows} rows{some}, {many or 'no'} finding{'s' * (many != 1)}"
        f"{f' ({each})' if each else ''}{_besides(result.stated, manifest)}"
    )
    findings = [finding.at(args.file) for finding in result.findings]
    findings = list(map(abridged, findings))
    for line in findings + [f"{args.file}: {note}" for note in notes]:
        print(shown(line))
    return _status(args, result)


def _status(args: argparse.Namespace, result: audit.Audit) -> int:
    """1 on a finding that fails, and with ``--strict`` on any."""
    return int(result.fails or (args.strict and bool(result.findings)))


def _besides(stated: tuple[str, ...], manifest: Manifest) -> str:
    """What is taken as stated and no radius needs, behind the number of findings."""
    words = [word for name, word in _BESIDES.items() if name in stated]
    if manifest.procedure.noise_source == "os":
        words = [word.replace(_REDRAWS, "(no seed draws them again)") for word in words]
    return f"; as the file states them: {', '.join(words)}" if words else ""


def _taken(names: list[str], args: argparse.Namespace, manifest: Manifest) -> str:
    """What radii rest on and is taken as stated, and which options would compare it."""
    if not manifest.method:
        return f"taken as stated, not verified: {', '.join(names)}"
    words = {name: "each row's sigma" if name == "sigma" else name for name in names}
    text = f"taken as stated, not verified: {', '.join(words.values())}"
    method = METHODS[manifest.method]
    absent = "noise" if _is_shaped(manifest) else "levels_of"
    noise = [
        option.name
        for option in method.options
        if option.name in _NOISE and option.name != absent
    ]
    options = [name for name in ("data", *noise) if getattr(args, name) is None]
    could = {"dim", "sigma"}
    if manifest.scope != ASSERTED_ENVELOPE:
        could |= method.domains.keys()
    compared = [word for name, word in words.items() if name in could]
    if not (compared and options):
        return text
    all_of_them = "them" if len(names) > 1 else "it"
    what = all_of_them if len(compared) == len(names) else ", ".join(compared)
    return f"{text} ({' with '.join(map(_methods.flag, options))} compares {what})"


def _scheme(
    args: argparse.Namespace, manifest: Manifest, shape: tuple[int, ...]
) -> Scheme:
    """The noise of the command line, made with the manifest's other options."""
    method = METHODS[manifest.method]
    names = {option.name for option in method.options}
    stated = dict(manifest.parameters)
    flag = ""
    for name in _NOISE:
        if getattr(args, name) is None:
            continue
        flag = _methods.flag(name)
        if name not in names:
            raise ValueError(
                f"{flag} has no meaning for a file of method {manifest.method}"
            )
        stated[name] = getattr(args, name)
    if args.levels_of is not None:
        levels = stated.get("levels")
        stated["sigma"] = levels.get("factor") if isinstance(levels, dict) else None
    given = _methods.Given(shape, "slack" in stated)
    if args.sigma_function and "lip" in names and manifest.scope != ASSERTED_ENVELOPE:
        stated |= {"lip": None, "sigma_min": None}  # the network proves its own
        function, _ = given.function(flag, args.sigma_function)
        if not hasattr(function, "scheme"):
            raise ValueError(
                f"scope is {manifest.scope!r} in {args.file}: {flag} proves no bounds"
            )
    options = {
        option.name: stated.get(option.name, option.default)
        for option in method.options
    }
    lacking = [name for name, value in options.items() if value is ...]
    if lacking:
        raise ValueError(
            f"{flag} can't be compared: {args.file} doesn't say its "
            f"{', '.join(lacking)}"
        )
    return method.from_options(options, given)


def _is_shaped(manifest: Manifest) -> bool:
    """Whether the noise of a run has a level for each axis, from a file."""
    return isinstance(manifest.parameters.get("levels"), dict)


def _answer(
    args: argparse.Namespace, manifest: Manifest, noise: Scheme | None
) -> Answer:
    """The answer of the file; ValueError unless the command line has all that its run
    had.
    """
    method = METHODS[manifest.method]
    parameters = manifest.parameters
    takes_noise = any(option.name == "noise" for option in method.options)
    shaped = _is_shaped(manifest)
    for name, had in (
        ("noise", takes_noise and not shaped),
        ("levels_of", shaped),
        ("denoiser", "denoiser" in manifest.model),
        # a run from Python says nothing of its sampler
        ("sound_noise", manifest.engine.get("sound_noise", args.sound_noise)),
    ):
        if bool(getattr(args, name)) != bool(had):
            needs = "needs" if had else "takes no"
            raise ValueError(
                f"--rerun {needs} {_methods.flag(name)}, as {args.file} had"
            )
    grid = manifest.engine.get("grid", args.grid)
    if args.grid != grid:
        raise ValueError(f"--rerun needs --grid {grid}, as {args.file} had")
    if noise is None:
        level = parameters.get("sigma", parameters.get("sigma_min", 1.0))
        noise = method.from_parameters(parameters, level=lambda _: level)
    return restored(manifest.answer, noise)
