"""``rsbounds recertify``: new certificates from the counts of a result file, without the model."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rsbounds import composite
from rsbounds._numerics.checks import real
from rsbounds.certificate import COMPOSITE
from rsbounds.certify import Procedure, certify_evidence, further
from rsbounds.cli import _build, _options, _runs
from rsbounds.loading import file_hash
from rsbounds.loading.callables import shown
from rsbounds.results import Manifest, Row, write
from rsbounds.schemes import METHODS, Scheme
from rsbounds.schemes._scheme import DIMENSION


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
    add("files", metavar="RUN.tsv", type=Path, nargs="+")
    add("--out", required=True, metavar="NEW.tsv", type=Path)
    add("--alpha", type=float, help="probability of error (that of the file)")
    add("--bound", choices=_options.COUNTED, help="the confidence bound (that of the file)")
    add(
        "--method",
        metavar="MODULE:CALLABLE",
        help="the code that returned the scheme, for a file of a method that rsbounds doesn't know",
    )
    add("--method-args", metavar="K=V,...", help="arguments of CALLABLE, for such a --method")
    add("--runner-up", choices=("on", "off"), help="bound the runner-up too (as in the file)")
    add(
        "--rule",
        metavar="RULE.json",
        type=Path,
        help="a decision list over the noise levels of several runs of the same inputs",
    )
    _options.add_lock(parser)
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Write the new file."""
    if args.out.exists():
        raise ValueError(f"{args.out} exists: choose another output file")
    _options.check_code(args)
    if args.alpha is not None:
        real("--alpha", args.alpha, 0, 1, closed="neither", nan=False)
    if args.rule is not None:
        return _under_rule(args)
    if len(args.files) > 1:
        raise ValueError(f"several files need --rule; got {len(args.files)}")
    path, manifest, rows = _runs.read(*args.files)
    scheme = _scheme(args, path, manifest, rows)
    old = manifest.procedure
    procedure = replace(
        old,
        alpha=old.alpha if args.alpha is None else args.alpha,
        bound=args.bound or old.bound,
        runner_up=old.runner_up if args.runner_up is None else args.runner_up == "on",
    )
    source = {"recertified": str(path), "sha256": file_hash(path)}
    source |= {key: getattr(old, key) for key in ("alpha", "bound", "runner_up")}
    history = [*manifest.history, source | {"method": manifest.method}]
    new = replace(manifest, procedure=procedure, scope=scheme.scope, history=history)
    again = [_again(row, scheme, procedure) for row in rows]
    write(args.out, new, again, lock=args.lock == "flock")
    print(f"{args.out}: {len(rows)} rows certified again")
    return 0


def _scheme(
    args: argparse.Namespace, path: Path, manifest: Manifest, rows: Sequence[Row]
) -> Scheme:
    """The scheme whose radii are computed, of the classifier that was sampled."""
    name = manifest.method
    if not isinstance(name, str):
        raise ValueError(f"the manifest of {path} is damaged: method must be text; got {name!r}")
    if args.method is not None and _options.is_code(args.method):
        scheme = _by_code(args, path, manifest)
    elif args.method not in (None, name):
        raise ValueError(
            f"--method {args.method} certifies another classifier than {path}, which is of method "
            f"{shown(name)}"
        )
    elif name in METHODS:
        try:
            scheme = METHODS[name].from_parameters(manifest.parameters)
        except ValueError as error:
            raise ValueError(f"the manifest of {path} is damaged: {error}") from None
        scheme.scope = manifest.scope
    else:
        code = manifest.parameters.get("code", {})
        spec = code.get("spec", "MODULE:CALLABLE") if isinstance(code, Mapping) else code
        raise ValueError(
            f"{path} is of method {shown(name)}, which rsbounds doesn't know: give the code that "
            f"returned its scheme, as --method {shown(spec)}"
        )
    for row in rows:
        if row.norm != scheme.norm:
            raise ValueError(
                f"{path}: norm of input {row.idx} is {row.norm}, {scheme.norm} by method {name}"
            )
    return scheme


def _by_code(args: argparse.Namespace, path: Path, manifest: Manifest) -> Scheme:
    """The scheme that code returns, which must be the file's."""
    known, what = manifest.parameters, f"--method {args.method}"
    dim = DIMENSION.one("parameters.dim", known["dim"]) if "dim" in known else 1
    found = _build.by_code(args.method, args.method_args, math.ceil(dim), "slack" in known)
    if isinstance(found, composite.Rule):
        raise ValueError(f"{what} returns a rule: give it as --rule RULE.json")
    own = {k: v for k, v in found.parameters.items() if k != "code" or "code" in known}
    scope = found.scope if found.name in METHODS else manifest.scope
    again = replace(manifest, method=found.name, scope=scope, parameters=own)
    if differences := manifest.differences(again.normal()):
        raise ValueError(f"{what} is not what {path} was made with: {'; '.join(differences)}")
    return found


def _under_rule(args: argparse.Namespace) -> int:
    """The certificates of a decision list from one run for each of its noise levels."""
    if args.bound or args.method or args.runner_up:
        raise ValueError("--bound, --method and --runner-up have no meaning with --rule")
    rule = _build.read_rule(args.rule)
    runs = _runs.by_level(args.files)
    missing = [sigma for sigma in rule.sigmas if sigma not in runs]
    if missing:
        raise ValueError(f"no file is of noise level {missing[0]}, a stage of the rule")
    stages = [runs[sigma] for sigma in rule.sigmas]
    first = stages[0][1]
    for path, manifest, _ in stages[1:]:
        same = replace(manifest, parameters=first.parameters, probe=first.probe, model=first.model)
        found = first.differences(same)
        if found:
            raise ValueError(f"{path} is not of the run of {stages[0][0]}: {'; '.join(found)}")
    alpha = first.procedure.alpha if args.alpha is None else args.alpha
    procedure = replace(first.procedure, alpha=alpha, bound="clopper-pearson", runner_up=True)
    tables = [{row.idx: row for row in rows} for _, _, rows in stages]
    common = sorted(set.intersection(*map(set, tables)))
    rows = [_listed(rule, [table[i] for table in tables], first.procedure.n, alpha) for i in common]
    sources = [{"recertified": str(path), "sha256": file_hash(path)} for path, _, _ in stages]
    model = {"stages": [manifest.model for _, manifest, _ in stages]}
    new = replace(
        first,
        model=model,
        method="composite",
        scope=COMPOSITE,
        parameters={"rule": rule.to_dict()},
        procedure=procedure,
        probe={},
        history=[*first.history, *sources],
    )
    write(args.out, new, rows, lock=args.lock == "flock")
    print(f"{args.out}: {len(rows)} rows certified again")
    return 0


def _listed(rule: composite.Rule, rows: list[Row], n: int, alpha: float) -> Row:
    width = max([rule.least_classes, *(len(c) for r in rows for c in (r.select, r.counts))])
    select, counts = (
        [[*c, *[0] * (width - len(c))] for c in each]
        for each in ([r.select for r in rows], [r.counts for r in rows])
    )
    found = composite.certify_counts(rule, select, counts, n, alpha)
    first, seconds = rows[0], sum(row.seconds for row in rows)
    extra = further(found)
    return Row.of(first.idx, first.label, found, seconds, input=first.input, extra=extra)


def _again(row: Row, scheme: Scheme, procedure: Procedure) -> Row:
    certificate = certify_evidence(scheme, row.sigma, row.select, row.counts, procedure, row.idx)
    made = Row.of(row.idx, row.label, certificate, 0.0, input=row.input, extra=row.extra)
    return replace(made, time=row.time)
