"""``rsbounds recertify``: new certificates from the counts of a result file, without the model."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from rsbounds._numerics.checks import choice, real
from rsbounds.certificate import Certificate
from rsbounds.certify import certify_counts
from rsbounds.confidence import BOUNDS
from rsbounds.loading import file_hash
from rsbounds.results import Manifest, Row, read_rows, write
from rsbounds.schemes import METHODS, Scheme


def add_parser(subparsers: Any) -> None:
    """Add the ``recertify`` command."""
    parser = subparsers.add_parser(
        "recertify",
        help="certify a result file again from its counts",
        description="Compute new certificates from the counts that a result file has kept: under "
        "another level, bound or method, with or without the runner-up. No model is needed. Each "
        "file holds at its own level; the best of several files, chosen after looking, does not.",
    )
    add = parser.add_argument
    add("file", metavar="RUN.tsv", type=Path)
    add("--out", required=True, metavar="NEW.tsv", type=Path)
    add("--alpha", type=float, help="probability of error (that of the file)")
    add("--bound", choices=tuple(BOUNDS), help="the confidence bound (that of the file)")
    add("--method", choices=tuple(METHODS), help="another radius from the same parameters")
    add("--runner-up", choices=("on", "off"), help="bound the runner-up too (as in the file)")
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Write the new file."""
    if args.out.exists():
        raise ValueError(f"{args.out} exists: choose another output file")
    manifest = Manifest.read(args.file)
    rows = read_rows(args.file)
    _check(args, manifest)
    method = METHODS[choice("--method", args.method or manifest.method, tuple(METHODS))]
    lacking = sorted(method.required - manifest.parameters.keys())
    if lacking:
        raise ValueError(
            f"--method {method.name} needs {', '.join(lacking)}, which {args.file} does not hold"
        )
    scheme = method.scheme(_no_level, manifest.parameters, manifest.parameters.get("norm", 2.0))
    if method.name == manifest.method:
        scheme = replace(scheme, scope=manifest.scope)
    change: dict[str, Any] = {
        "alpha": manifest.alpha if args.alpha is None else args.alpha,
        "bound": args.bound or manifest.bound,
        "runner_up": manifest.runner_up if args.runner_up is None else args.runner_up == "on",
    }
    source = {"recertified": str(args.file), "sha256": file_hash(args.file)}
    source |= {key: getattr(manifest, key) for key in (*change, "method")}
    new = replace(
        manifest,
        method=scheme.method,
        scope=scheme.scope,
        history=[*manifest.history, source],
        **change,
    )
    write(args.out, new, [_again(row, scheme, new) for row in rows])
    print(f"{args.out}: {len(rows)} rows certified again")
    return 0


def _check(args: argparse.Namespace, manifest: Manifest) -> None:
    if manifest.format == 1:
        raise ValueError(f"{args.file} keeps one count a row: its full counts are not known")
    if manifest.method == "composite":
        raise ValueError(f"{args.file} is of a composite: use fit-rule and certify for those")
    if manifest.target_radius is not None:
        raise ValueError(
            f"{args.file} was sampled until a target radius was decided: a bound for a number "
            "of samples fixed in advance would have no level on its counts"
        )
    if args.alpha is not None:
        real("--alpha", args.alpha, 0, 1, closed="neither", nan=False)


def _again(row: Row, scheme: Scheme, manifest: Manifest) -> Row:
    known = {key: getattr(manifest, key) for key in ("n0", "n", "alpha", "seed", "bound")}
    found: Certificate = certify_counts(
        scheme,
        row.sigma,
        row.select,
        row.counts,
        index=row.idx,
        runner_up=manifest.runner_up,
        **known,
    )
    made = Row.of(row.idx, row.label, found, 0.0, input=row.input)
    return replace(made, time=row.time, extra=row.extra)


def _no_level(x: Any) -> float:
    raise AssertionError("the levels are those of the rows")
