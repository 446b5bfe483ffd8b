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
from rsbounds.certificate import ANOTHERS, COMPOSITE, Certificate
from rsbounds.certify import certify_counts, further
from rsbounds.cli import _build, _options, _runs, _user_scheme
from rsbounds.loading import file_hash
from rsbounds.loading.callables import shown
from rsbounds.results import Manifest, Row, write
from rsbounds.schemes import METHODS, Method, Scheme, find
from rsbounds.schemes._scheme import DIMENSION

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
    add("--bound", choices=_options.COUNTED, help="the confidence bound (that of the file)")
    add(
        "--method",
        help="another radius from the same parameters; of a file whose method code returned, that "
        "MODULE:CALLABLE",
    )
    add("--method-args", metavar="K=V,...", help="arguments of CALLABLE, for such a --method")
    add("--runner-up", choices=("on", "off"), help="bound the runner-up too (as in the file)")
    add(
        "--rule",
        metavar="RULE.json",
        type=Path,
        help="a decision list over the noise levels of several runs of the same inputs",
    )
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
    write(args.out, new, again)
    print(f"{args.out}: {len(rows)} rows certified again")
    return 0


def _scheme(
    args: argparse.Namespace, path: Path, manifest: Manifest, rows: Sequence[Row]
) -> Scheme:
    """The scheme whose radii are computed, of the classifier that was sampled."""
    name = args.method or manifest.method
    if not isinstance(name, str):
        raise ValueError(f"the manifest of {path} is damaged: method must be text; got {name!r}")
    if args.method is not None and _options.is_code(args.method):
        found = _by_code(args, path, manifest)
    elif name in METHODS:
        found = _own_scheme(METHODS[name], path, manifest)
    else:
        found = _anothers(name, path, manifest, rows)
    for row in rows:
        if row.norm != found.norm:
            raise ValueError(
                f"{path}: norm of input {row.idx} is {row.norm}, {found.norm} by method {name}"
            )
    return found


def _own_scheme(method: Method, path: Path, manifest: Manifest) -> Scheme:
    lacking = sorted(method.required - manifest.parameters.keys())
    if lacking or method.name == "composite":
        lacking = lacking or ["--rule"]
        raise ValueError(
            f"--method {method.name} needs {', '.join(lacking)}, which {path} does not hold"
        )
    if method.name != manifest.method and not {method.name, manifest.method} <= _ALIKE:
        raise ValueError(_another_classifier(method.name, path, manifest))
    if "slack" in manifest.parameters and "slack" not in method.parameters:
        raise ValueError(
            f"--method {method.name} has no radius for sound noise, which {path} is of"
        )
    norm = manifest.parameters.get("norm", 2.0) if "norm" in method.parameters else 2.0
    return replace(method.scheme(_no_level, manifest.parameters, norm), scope=manifest.scope)


def _anothers(name: str, path: Path, manifest: Manifest, rows: Sequence[Row]) -> Scheme:
    """The scheme of a method that another package registers."""
    code = manifest.parameters.get("code", {})
    try:
        method = find(name)
    except ValueError as error:
        if name != manifest.method or not isinstance(code, Mapping) or "entry_point" in code:
            raise
        raise ValueError(
            f"{error}; {path} is of it: give the code that returned its scheme, as --method "
            f"{shown(code.get('spec', 'MODULE:CALLABLE'))}"
        ) from None
    if name != manifest.method:
        raise ValueError(_another_classifier(name, path, manifest))
    radius = _user_scheme.radius(f"the method {name}", method, manifest.parameters)
    norm = rows[0].norm if rows else 2.0  # which its parameters don't tell
    return Scheme(name, ANOTHERS, _no_level, radius, manifest.parameters, norm)


def _by_code(args: argparse.Namespace, path: Path, manifest: Manifest) -> Scheme:
    """The scheme that code returns, which must be the file's."""
    known, what = manifest.parameters, f"--method {args.method}"
    dim = DIMENSION.one("parameters.dim", known["dim"]) if "dim" in known else 1
    found = _build.by_code(args.method, args.method_args, math.ceil(dim), "slack" in known)
    if isinstance(found, composite.Rule):
        raise ValueError(f"{what} returns a rule: give it as --rule RULE.json")
    own = {k: v for k, v in found.parameters.items() if k != "code" or "code" in known}
    scope = found.scope if found.method in METHODS else manifest.scope
    again = replace(manifest, method=found.method, scope=scope, parameters=own)
    if differences := manifest.differences(again.normal()):
        raise ValueError(f"{what} is not what {path} was made with: {'; '.join(differences)}")
    return found


def _another_classifier(name: str, path: Path, manifest: Manifest) -> str:
    return (
        f"--method {name} certifies another classifier than {path}, which is of method "
        f"{shown(manifest.method)}: only {', '.join(sorted(_ALIKE))} share theirs"
    )


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
    write(args.out, new, rows)
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
    made = Row.of(row.idx, row.label, found, 0.0, input=row.input, extra=row.extra)
    return replace(made, time=row.time)


def _no_level(x: Any) -> float:
    raise AssertionError("the levels are those of the rows")
