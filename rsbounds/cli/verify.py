"""``rsbounds verify``: every claim of a result file against oracle, data and model."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from rsbounds._numerics.checks import count
from rsbounds.certify import Progress
from rsbounds.cli import (
    _audit,
    _engine,
    _given_noise,
    _options,
    _redrawn,
    _rigorous,
    _sigma_bound,
)
from rsbounds.cli._sigma_bound import Finding, Numbered
from rsbounds.loading.callables import shown
from rsbounds.loading.rows import CorruptInput, Data, Item
from rsbounds.results import Manifest, Row, read_rows, some
from rsbounds.schemes import METHODS, Scheme


def add_parser(subparsers: Any) -> None:
    """Add the ``verify`` command."""
    parser = subparsers.add_parser(
        "verify",
        help="check every claim of a result file",
        description="Compute every bound and radius again from the counts and the manifest, in "
        "mpmath and not by the code that wrote them, and report rows above the truth, rows that "
        "don't fit the manifest, duplicates and missing rows; with --data also what doesn't fit "
        "the data and levels that refute the bound of sigma(x), with --anchors, --sigma-function "
        "or --noise levels and bounds that aren't those of the inputs, with --rerun what the model "
        "doesn't draw again. What nothing was given for is taken as stated, and said to be. Exit "
        "status 1 on a finding (extra: verify).",
    )
    add = parser.add_argument
    add("file", metavar="FILE.tsv", type=Path)
    add("--rerun", type=int, metavar="K", help="draw K random rows again (needs --model, --data)")
    add("--model-for", nargs="+", metavar="SIGMA=MODEL", default=[], help="for --rerun: experts")
    add("--sample", type=int, metavar="K", help="compute only K random rows again")
    add("--rigorous", action="store_true", help="prove every bound and radius in ball arithmetic")
    add("--jobs", type=int, default=1, help="processes (1)")
    add("--json", action="store_true", help="print a JSON object")
    _engine.add_model(parser, required=False)
    _engine.add_data(parser, required=False, help="check labels and hashes against the data: ")
    _engine.add_engine(parser)
    _engine.add_sound_noise(parser)
    add("--device", help="where a torch model runs (cpu)")
    _given_noise.add(parser)
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Print what is wrong."""
    try:
        import mpmath  # noqa: F401
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "verify needs mpmath; install it with: pip install mpmath"
        ) from None
    for name in ("rerun", "sample"):
        if getattr(args, name) is not None:
            count(f"--{name}", getattr(args, name), 1)
    if args.rerun is not None and (args.model is None or args.data is None):
        raise ValueError("--rerun needs --model and --data")
    for name in ("model", "denoiser", "model_for"):
        if args.rerun is None and getattr(args, name):
            raise ValueError(f"{_options.flag(name)} goes with --rerun")
    manifest = Manifest.read(args.file)
    if isinstance(manifest.method, str) and manifest.method not in METHODS:
        raise ValueError(
            f"{args.file} is of method {shown(manifest.method)!r}, which rsbounds has no oracle "
            "for: nothing in it can be verified"
        )
    try:
        _audit.check_manifest(manifest)
    except ValueError as error:
        raise ValueError(f"the manifest of {args.file} is damaged: {error}") from None
    _given_noise.check(args, manifest)
    if args.rigorous:
        _rigorous.check(manifest)
    rows = list(enumerate(_rows(args.file), start=2))
    found = [*_structure(rows, manifest), *_sigma_bound.without_data(rows, manifest)]
    chosen = _chosen(args, rows)
    found += _computed(args, chosen, manifest)
    stated = _given_noise.stated(None, manifest, as_seen=False)
    if args.data is not None:
        against, stated = _against_data(args, rows, manifest)
        found += against
    proved = {line for line, _ in chosen} - {a for a, _, b in found if b.startswith("not proved")}
    extent = (len(proved), len(chosen)) if args.rigorous else None
    return _report(args, found, [row for _, row in rows], manifest, extent, stated)


def _rows(path: Path) -> list[Row]:
    if not path.stat().st_size:
        return []
    return read_rows(path)


def _report(
    args: argparse.Namespace,
    found: list[Finding],
    rows: list[Row],
    manifest: Manifest,
    proved: tuple[int, int] | None,
    stated: list[str],
) -> int:
    whole_file = _whole(rows, manifest)
    total = len(found) + len(whole_file)
    if args.json:
        each = [{"line": a, "input": b, "finding": c} for a, b, c in sorted(found)]
        each += [{"line": None, "input": None, "finding": text} for text in whole_file]
        said = {"file": str(args.file), "rows": len(rows), "findings": each, "stated": stated}
        if manifest.corrupt():
            said["corrupt"] = sorted(manifest.corrupt())
        print(json.dumps(said if proved is None else said | {"proved": proved[0]}))
        return int(total > 0)
    for line, index, text in sorted(found):
        print(f"{args.file}:{line}: input {index}: {text}")
    for text in whole_file:
        print(f"{args.file}: {text}")
    if proved is not None:
        print(f"{args.file}: {proved[0]} of {proved[1]} rows proved")
    left = len(manifest.corrupt())
    if left and args.data is None:
        print(f"{args.file}: {left} inputs are said to be corrupt: --data checks whether they are")
    if stated:
        print(f"{args.file}: {_given_noise.line(stated, args, manifest)}")
    computed = (
        f" ({args.sample} of them computed)" if (args.sample or len(rows)) < len(rows) else ""
    )
    print(f"{args.file}: {len(rows)} rows{computed}, {total or 'no'} finding{'s' * (total != 1)}")
    return int(total > 0)


def _whole(rows: list[Row], manifest: Manifest) -> list[str]:
    """What is wrong with the file as a whole."""
    if not rows:
        return ["has no rows"]
    missing = manifest.places({row.idx for row in rows})[0]
    if missing:
        return [f"{len(rows)} of {len(rows) + len(missing)} rows: {some(missing)} missing"]
    return []


def _structure(rows: list[Numbered], manifest: Manifest) -> Iterator[Finding]:
    """Duplicates and strangers."""
    seen: set[int] = set()
    rank, size = manifest.share()
    skip, top = int(manifest.data.get("skip", 1)), int(manifest.data.get("max", -1))
    total = manifest.data.get("inputs")
    for line, row in rows:
        if row.idx in seen:
            yield line, row.idx, "appears twice"
        seen.add(row.idx)
        place, rest = divmod(row.idx, skip)
        beyond = total is not None and place >= total
        if rest or place % size != rank or 0 <= top <= row.idx or beyond:
            yield line, row.idx, "is not one of the inputs the manifest names"


def _chosen(args: argparse.Namespace, rows: list[Numbered]) -> list[Numbered]:
    if args.sample is not None and args.sample < len(rows):
        return Random(0).sample(rows, args.sample)
    return rows


def _computed(args: argparse.Namespace, rows: list[Numbered], manifest: Manifest) -> list[Finding]:
    """The rows computed again."""
    progress = Progress(len(rows), "row")
    check = partial(_row, str(args.file), manifest, args.rigorous)
    found: list[Finding] = []
    if args.jobs > 1:
        with ProcessPoolExecutor(args.jobs) as pool:
            for said in progress.over(pool.map(check, rows, chunksize=8)):
                found += said
    else:
        for said in progress.over(map(check, rows)):
            found += said
    return found


def _row(file: str, manifest: Manifest, rigorous: bool, numbered: Numbered) -> list[Finding]:
    from mpmath import mp

    line, row = numbered
    try:
        with mp.workdps(_audit.DIGITS + 10):
            said = list(_audit.findings(row, manifest))
            if rigorous:
                said += _rigorous.findings(row, manifest)
            return [(line, row.idx, text) for text in said]
    except (ValueError, ArithmeticError, TypeError) as error:  # numbers beyond all measure
        raise ValueError(f"{file}:{line}: the oracle can't tell: {error}") from error


def _left_out(manifest: Manifest, total: int) -> Iterator[Finding]:
    """Inputs that the data have and the manifest's number of them leaves out."""
    told = manifest.data.get("inputs")
    skip, top = int(manifest.data.get("skip", 1)), int(manifest.data.get("max", -1))
    selected = len(range(0, total if top < 0 else min(top, total), skip))
    if told is not None and told < selected:
        text = f"is left out: the manifest names {told} inputs, {selected} are selected of the data"
        yield 0, told * skip, text


def _larger(manifest: Manifest, x: Any) -> Iterator[str]:
    """Whether an input has more numbers than the dimension that the radii are for."""
    dim = manifest.parameters.get("dim") if "dim" in METHODS[manifest.method].domains else None
    if dim is not None and x is not None and np.size(x) > dim:
        yield f"has {np.size(x)} numbers, dim is {dim} in the manifest"


def _against_data(
    args: argparse.Namespace, rows: list[Numbered], manifest: Manifest
) -> tuple[list[Finding], list[str]]:
    """Labels, hashes, levels and, for some rows, counts; and what is left as it is stated."""
    loaded = _engine.load(args) if args.model is not None else None
    with _engine.open_data(args, loaded) as data:
        scheme = _given_noise.scheme(args, manifest, data)
        as_seen = loaded is not None or "preprocessing" not in data.identity
        pairs = _sigma_bound.Pairs(rows if as_seen else [], manifest)
        stated = _given_noise.stated(scheme, manifest, as_seen)
        found = [*_left_out(manifest, len(data)), *_readable(manifest, data)]
        inside = [(line, row) for line, row in rows if row.idx < len(data)]
        for line, row in rows:
            if not row.idx < len(data):
                found.append((line, row.idx, f"the data have {len(data)} inputs"))
                continue
            item = data.item(row.idx)
            texts = _at_input(row, item, manifest, scheme, as_seen)
            found += ((line, row.idx, text) for text in texts)
            pairs.add(line, row, item.x)
        found += pairs.findings()
        if loaded is None or not inside:
            return found, stated
        redraw = _redrawn.redraw(args, loaded, data, manifest, inside[0][1].sigma, scheme)
        chosen = Random(manifest.procedure.seed + 1).sample(inside, min(args.rerun, len(inside)))
        for line, row in chosen:
            found += ((line, row.idx, text) for text in redraw(data.input(row.idx), row))
    print(f"{args.file}: {len(chosen)} rows drawn again", file=sys.stderr)
    return found, stated


def _at_input(
    row: Row, item: Item, manifest: Manifest, scheme: Scheme | None, as_seen: bool
) -> Iterator[str]:
    """What contradicts one input of the data."""
    if row.label != item.label:
        yield f"label is {row.label}, {item.label} in the data"
    digest = (item.digest or "-")[:16]
    if row.input not in ("-", digest):
        yield f"input is {row.input}, {digest} in the data"
    if scheme is not None:
        yield from _given_noise.findings(scheme, row, item.x)
    if as_seen:
        yield from _larger(manifest, item.x)


def _readable(manifest: Manifest, data: Data) -> Iterator[Finding]:
    """Inputs that were left out as corrupt, and aren't."""
    for index in sorted(manifest.corrupt()):
        with suppress(CorruptInput, IndexError):
            data.item(index)
            yield 0, index, "is left out as corrupt, but can be decoded"
