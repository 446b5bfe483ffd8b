"""Certify a result file again from its counts.

Compute new certificates from the counts that a result file has kept: under another level or
bound, with or without the runner-up. No model is needed. Each file holds at its own level;
the best of several files, chosen after looking, does not.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from rsbounds._numerics.text import shown
from rsbounds.certificate import COMPOSITE
from rsbounds.certify import certify_evidence
from rsbounds.cli import _methods, _options, _runs
from rsbounds.results import Manifest, Row, write
from rsbounds.schemes import METHODS


def add_options(parser: Any) -> None:
    """Add the options."""
    add = parser.add_argument
    add("files", metavar="RUN.tsv", type=Path, nargs="+")
    add("--out", required=True, metavar="NEW.tsv", type=Path)
    add("--alpha", type=float, help="probability of error (that of the file)")
    add("--bound", choices=_options.COUNTED, help="the confidence bound (that of the file)")
    add("--runner-up", choices=("on", "off"), help="bound the runner-up too (as in the file)")
    text = "a decision list over the noise levels of several runs of the same inputs"
    add("--rule", metavar="RULE.json", type=Path, help=text)


def run(args: argparse.Namespace) -> None:
    """Write the new file."""
    if args.out.exists():
        raise ValueError(f"{args.out} exists: choose another output file")
    manifest, rows = _under_rule(args) if args.rule is not None else _by_scheme(args)
    write(args.out, manifest.uncommitted(), rows)
    print(f"{args.out}: {len(rows)} rows certified again")


def _by_scheme(args: argparse.Namespace) -> tuple[Manifest, list[Row]]:
    """The certificates of the file's scheme by other numbers."""
    if len(args.files) > 1:
        raise ValueError(f"several files need --rule; got {len(args.files)}")
    path, manifest, rows = _runs.read(*args.files)
    if manifest.method not in METHODS:
        raise ValueError(
            f"{path} is of method {shown(manifest.method)}, whose radius rsbounds doesn't know"
        )
    scheme = METHODS[manifest.method].from_parameters(manifest.parameters)
    scheme.scope = manifest.scope
    old, runner_up = manifest.procedure, args.runner_up and args.runner_up == "on"
    changes = {"alpha": args.alpha, "bound": args.bound, "runner_up": runner_up}
    given = {name: value for name, value in changes.items() if value is not None}
    procedure = _options.procedure(**old.to_dict() | given)
    changed = {name: getattr(old, name) for name in changes}
    source = {**_runs.source(path), **changed, "method": manifest.method}
    history = [*manifest.history, source]
    new = replace(manifest, procedure=procedure, scope=scheme.scope, history=history)

    def again(row: Row) -> Row:
        evidence = (row.sigma, row.select, row.counts, procedure, row.idx)
        certificate = certify_evidence(scheme, *evidence)
        made = Row.of(row.idx, row.label, certificate, 0.0, input=row.input, extra=row.extra)
        return replace(made, time=row.time)

    return new, [again(row) for row in rows]


def _under_rule(args: argparse.Namespace) -> tuple[Manifest, list[Row]]:
    """The certificates of a decision list from one run for each of its noise levels."""
    if args.bound or args.runner_up:
        raise ValueError("--bound and --runner-up have no meaning with --rule")
    rule = _methods.read_rule(args.rule)
    fitted = json.loads(args.rule.read_text(encoding="utf-8")).get("fitted", [])
    if not isinstance(fitted, list) or not all(isinstance(file, str) for file in fitted):
        raise ValueError(f"{args.rule} is not a rule: fitted must be a list of hashes")
    runs = _runs.by_level(args.files)
    if missing := [sigma for sigma in rule.sigmas if sigma not in runs]:
        raise ValueError(f"no file is of noise level {missing[0]}, a stage of the rule")
    stages = [runs[sigma] for sigma in rule.sigmas]
    first, steps = stages[0].manifest, list[Any]()
    for run in stages:  # what was done to each of the files, each step once
        own = (*run.manifest.history, _runs.source(run.path))
        steps += [step for step in own if step not in steps]
    alpha = first.procedure.alpha if args.alpha is None else args.alpha
    numbers = {"alpha": alpha, "bound": "clopper-pearson", "runner_up": True}
    procedure = _options.procedure(**first.procedure.to_dict() | numbers)
    rows = [_runs.listed(rule, own, procedure.n, alpha) for own in _runs.common(stages)]
    new = replace(
        first,
        model={"stages": [stage.manifest.model for stage in stages]},
        method="composite",
        scope=COMPOSITE,
        parameters={"rule": rule.to_dict()},
        procedure=procedure,
        probe={},
        history=[*steps, {"rule": str(args.rule), "fitted": fitted}],
    )
    return new, rows
