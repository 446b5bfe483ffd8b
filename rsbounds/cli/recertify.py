"""``rsbounds recertify``: new certificates from the counts of a result file, without the model."""

from __future__ import annotations

import argparse
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from rsbounds import composite
from rsbounds._numerics.checks import real
from rsbounds.certificate import ANOTHERS, COMPOSITE, FIXED_NOISE, Certificate
from rsbounds.certify import certify_counts, further
from rsbounds.cli import _own
from rsbounds.cli._made import read_rule
from rsbounds.cli.certify import COUNTED
from rsbounds.cli.merge import LOCK
from rsbounds.loading import file_hash
from rsbounds.results import Manifest, Row, read_rows, write
from rsbounds.schemes import METHODS, Scheme, find

#: Methods of one classifier: radii from the same proven or asserted bounds of sigma(x).
_ALIKE = {"lipschitz", "lipschitz-integrated", "lipschitz-paper"}


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
    add("--bound", choices=COUNTED, help="the confidence bound (that of the file)")
    add("--method", help="another radius from the same parameters")
    add("--runner-up", choices=("on", "off"), help="bound the runner-up too (as in the file)")
    add(
        "--rule",
        metavar="RULE.json",
        type=Path,
        help="a decision list over the noise levels of several runs of the same inputs",
    )
    add("--lock", choices=("flock", "none"), default="flock", help=LOCK)
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Write the new file."""
    if args.out.exists():
        raise ValueError(f"{args.out} exists: choose another output file")
    if args.rule is not None:
        return _under_rule(args)
    if len(args.files) > 1:
        raise ValueError(f"several files need --rule; got {len(args.files)}")
    (path,) = args.files
    manifest = Manifest.read(path)
    rows = read_rows(path)
    _check(path, manifest, args.alpha)
    method = find(args.method or manifest.method)
    lacking = sorted(method.required - manifest.parameters.keys())
    if lacking or method.name == "composite":
        lacking = lacking or ["--rule"]
        raise ValueError(
            f"--method {method.name} needs {', '.join(lacking)}, which {path} does not hold"
        )
    if method.name != manifest.method and not {method.name, manifest.method} <= _ALIKE:
        raise ValueError(
            f"--method {method.name} certifies another classifier than {path}, which is of "
            f"method {manifest.method}: only {', '.join(sorted(_ALIKE))} share theirs"
        )
    if "slack" in manifest.parameters and "slack" not in method.parameters:
        raise ValueError(
            f"--method {method.name} has no radius for sound noise, which {path} is of"
        )
    norm = manifest.parameters.get("norm", 2.0) if "norm" in method.parameters else 2.0
    scheme = method.scheme(_no_level, manifest.parameters, norm)
    scheme = replace(scheme, scope=manifest.scope)
    if method.name not in METHODS:
        what = f"the method {method.name}"
        known = _own.radius(what, method, manifest.parameters)
        scheme = replace(scheme, scope=ANOTHERS, radius=known)
    change: dict[str, Any] = {
        "alpha": manifest.alpha if args.alpha is None else args.alpha,
        "bound": args.bound or manifest.bound,
        "runner_up": manifest.runner_up if args.runner_up is None else args.runner_up == "on",
    }
    source = {"recertified": str(path), "sha256": file_hash(path)}
    source |= {key: getattr(manifest, key) for key in (*change, "method")}
    history = [*manifest.history, source]
    change |= {"method": scheme.method, "scope": scheme.scope, "history": history}
    new = replace(manifest, **change)
    again = [_again(row, scheme, new) for row in rows]
    write(args.out, new, again, lock=args.lock == "flock")
    print(f"{args.out}: {len(rows)} rows certified again")
    return 0


def _check(path: Path, manifest: Manifest, alpha: float | None) -> None:
    if manifest.format == 1:
        raise ValueError(f"{path} keeps one count a row: its full counts are not known")
    if manifest.method == "composite":
        raise ValueError(
            f"{path} is of a composite: certify the runs of its levels again, with --rule"
        )
    if manifest.target_radius is not None:
        raise ValueError(
            f"{path} was sampled until a target radius was decided: a bound for a number "
            "of samples fixed in advance would have no level on its counts"
        )
    if alpha is not None:
        real("--alpha", alpha, 0, 1, closed="neither", nan=False)


def _under_rule(args: argparse.Namespace) -> int:
    """The certificates of a decision list from one run for each of its noise levels."""
    if args.bound or args.method or args.runner_up:
        raise ValueError("--bound, --method and --runner-up have no meaning with --rule")
    rule = read_rule(args.rule)
    runs = {}
    for path in args.files:
        manifest = Manifest.read(path)
        _check(path, manifest, args.alpha)
        if manifest.method != "gaussian":
            raise ValueError(f"{path} is of method {manifest.method}: a rule needs fixed noise")
        if manifest.scope != FIXED_NOISE:  # a list's scope would say nothing of it
            raise ValueError(f"{path} is of scope {manifest.scope!r}: a rule needs {FIXED_NOISE!r}")
        if manifest.level() in runs:
            raise ValueError(f"{path} is the second file of noise level {manifest.level()}")
        runs[manifest.level()] = (path, manifest, read_rows(path))
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
    alpha = first.alpha if args.alpha is None else args.alpha
    tables = [{row.idx: row for row in rows} for _, _, rows in stages]
    common = sorted(set.intersection(*map(set, tables)))
    rows = [_listed(rule, [table[i] for table in tables], first.n, alpha) for i in common]
    sources = [{"recertified": str(path), "sha256": file_hash(path)} for path, _, _ in stages]
    model = {"stages": [manifest.model for _, manifest, _ in stages]}
    new = replace(
        first,
        model=model,
        method="composite",
        scope=COMPOSITE,
        parameters={"rule": rule.to_dict()},
        alpha=alpha,
        bound="clopper-pearson",
        runner_up=True,
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
    made = Row.of(rows[0].idx, rows[0].label, found, 0.0, input=rows[0].input)
    seconds = sum(row.seconds for row in rows)
    return replace(made, time=str(timedelta(seconds=seconds)), extra=further(found))


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
