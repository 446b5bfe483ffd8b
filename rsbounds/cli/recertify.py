"""Certify a result file again from its counts.

Compute new certificates from the counts that a result file has kept: under another
level, bound or method, with or without the runner-up. No model is needed. Each file
holds at its own level; the best of several files, chosen after looking, does not.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rsbounds import trust
from rsbounds._numerics.domains import DIMENSION
from rsbounds._numerics.files import file_hash, require_folder
from rsbounds._numerics.options import as_switch
from rsbounds._numerics.text import shown
from rsbounds.answers import ANSWERS, TopClass, restored
from rsbounds.answers.internal import Stages, read_list
from rsbounds.audit.internal import contradictions
from rsbounds.certificate import FIXED_NOISE, as_drawn
from rsbounds.certify.internal import job_of
from rsbounds.cli import _methods
from rsbounds.cli._flags import flag
from rsbounds.cli._output import Told, add_json, show
from rsbounds.composite import Rule
from rsbounds.confidence import BOUNDS
from rsbounds.loading.internal import guarded
from rsbounds.procedure import Procedure
from rsbounds.results import Manifest, Row
from rsbounds.results.internal import read_rows, write
from rsbounds.schemes import METHODS, Gaussian, Option, Scheme

#: Numbers of the procedure that counts can be certified by again.
NUMBERS = ("alpha", "bound", "runner_up")


def add_options(parser: Any) -> None:
    """Add the options of ``rsbounds recertify``."""
    add = parser.add_argument
    add(
        "files",
        metavar="RUN.tsv",
        type=Path,
        nargs="+",
        help="a result file; with --rule one for each noise level",
    )
    add("--out", required=True, metavar="NEW.tsv", type=Path, help="the new file")
    add("--alpha", type=float, help="probability of error (that of the file)")
    add(
        "--bound",
        choices=_methods.COUNTED,
        help="the confidence bound (that of the file)",
    )
    text = (
        "the code that returned the scheme, for a file of a method that rsbounds "
        "doesn't know"
    )
    add("--method", metavar="MODULE:CALLABLE", help=text)
    add(
        "--method-args",
        metavar="K=V,...",
        help="arguments of CALLABLE, for --method MODULE:CALLABLE",
    )
    add(
        "--runner-up",
        type=_methods.converter(as_switch),
        metavar="{on,off}",
        help="bound the runner-up too (as in the file)",
    )
    for option in _restated():
        text = f"another {option.name} of the answer (that of the file)"
        add(flag(option.name), type=_methods.converter(option.type), help=text)
    text = "a decision list over the noise levels of several runs of the same inputs"
    add("--rule", metavar="RULE.json", type=Path, help=text)
    add_json(parser)


def _restated() -> list[Option]:
    """The options of our answers that counts can be certified under again."""
    answers = [ANSWERS[name] for name in ANSWERS if ANSWERS.is_own(name)]
    return [
        option
        for answer in answers
        for option in answer.options
        if option.name in answer.restated
    ]


def _asked_again(args: argparse.Namespace, manifest: Manifest) -> dict[str, Any]:
    """What the file's answer is to be asked otherwise."""
    asked = {option.name: vars(args)[option.name] for option in _restated()}
    asked = {name: value for name, value in asked.items() if value is not None}
    for name in asked:
        if name not in manifest.answer:
            raise ValueError(
                f"{flag(name)} has no meaning for the answer "
                f"{shown(manifest.answer['name'])}"
            )
    return asked


def run(args: argparse.Namespace) -> None:
    """Run ``rsbounds recertify``."""
    if args.out.exists():
        raise ValueError(f"{args.out} exists: choose another output file")
    require_folder(args.out)
    if args.method_args is not None and not _methods.is_code(args.method):
        raise ValueError("--method-args goes with --method MODULE:CALLABLE")
    manifest, rows = _under_rule(args) if args.rule is not None else _by_answer(args)
    write(args.out, manifest.uncommitted(), rows)
    line = f"{args.out}: {len(rows)} rows certified again"
    warnings = list(manifest.after_looking())
    entries = {"out": str(args.out), "rows": len(rows), "after_looking": warnings}
    restated = [Told(text, {}) for text in manifest.restated()]
    show(args, [Told(line, entries), *restated])


def _by_answer(args: argparse.Namespace) -> tuple[Manifest, list[Row]]:
    """The certificates of the file's answer by other numbers."""
    if len(args.files) > 1:
        raise ValueError(f"several files need --rule; got {len(args.files)}")
    path, manifest, rows = _read(*args.files)
    scheme = _scheme(args, path, manifest)
    asked = _asked_again(args, manifest)
    answer = restored({**manifest.answer, **asked}, scheme)
    old = manifest.procedure
    looks = BOUNDS[old.bound].looks is not None
    if looks and args.bound not in (None, old.bound):
        raise ValueError(
            f"{path} was sampled until its looks showed enough: the bound "
            f"{args.bound!r}, for a number of samples fixed in advance, would have no "
            "level on its counts"
        )
    if args.runner_up and "asked" in manifest.run:
        raise ValueError(
            f"--runner-up on has no meaning for {path}: its model has two classes, of "
            "which the second has what the first leaves"
        )
    numbers = {name: vars(args)[name] for name in NUMBERS}
    numbers = {name: value for name, value in numbers.items() if value is not None}
    procedure = replace(old, **numbers)
    job = job_of(answer, procedure)
    job.check()
    before = {name: getattr(old, name) for name in NUMBERS}
    before |= {name: manifest.answer[name] for name in asked}
    step = {**_step(path), **before, "method": manifest.method}

    def again(row: Row) -> Row:
        # the scheme may be of others' code
        certificate, columns = guarded(f"input {row.idx}", job.again, row)
        made = Row.of(
            row.idx,
            row.label,
            certificate,
            0.0,
            input=row.input,
            extra={**row.extra, **columns},
        )
        return replace(made, time=row.time)

    new = replace(
        manifest,
        answer=answer.describe(),  # without the true maps, which the file doesn't hold
        procedure=procedure,
        scope=job.scope,
        history=[*manifest.history, step],
    )
    return new, [again(row) for row in rows]


def _scheme(args: argparse.Namespace, path: Path, manifest: Manifest) -> Scheme:
    """The scheme whose radii are computed, of the classifier that was sampled."""
    name = manifest.method
    if _methods.is_code(args.method):
        return _by_code(args, path, manifest)
    if args.method not in (None, name):
        raise ValueError(
            f"--method {args.method} certifies another classifier than {path}, which "
            f"is of method {shown(name)}"
        )
    if name not in METHODS:
        code = manifest.parameters.get("code", {})
        spec = (
            code.get("spec", "MODULE:CALLABLE") if isinstance(code, Mapping) else code
        )
        raise ValueError(
            f"{path} is of method {shown(name)}, which rsbounds doesn't know: give the "
            f"code that returned its scheme, as --method {shown(spec)}"
        )
    scheme = METHODS[name].from_parameters(manifest.parameters)
    if METHODS.is_own(name):  # another package's scope is not the file's to state
        scheme.scope = manifest.scope
    else:
        scheme.scope = as_drawn(scheme.scope, manifest.scope)
    return scheme


def _shape(manifest: Manifest) -> int | tuple[int, ...]:
    """The shape of an input, or its length where the file doesn't say more."""
    parameters = manifest.parameters
    dim = math.ceil(DIMENSION.one("parameters.dim", parameters.get("dim", 1)))
    shape = manifest.data.get("shape", [])
    whole = isinstance(shape, list) and all(isinstance(n, int) for n in shape)
    return tuple(shape) if whole and shape and math.prod(shape) == dim else dim


def _by_code(args: argparse.Namespace, path: Path, manifest: Manifest) -> Scheme:
    """The scheme that code returns, which must be the file's."""
    recorded, what = manifest.parameters, f"--method {args.method}"
    scheme = trust.by_code(args.method, args.method_args, _shape(manifest))
    if isinstance(scheme, Rule):
        raise ValueError(f"{what} returns a rule: give it as --rule RULE.json")
    if scheme.allows_for_rounding(recorded):
        scheme = scheme.on_grid()
    parameters = {
        k: v for k, v in scheme.parameters.items() if k != "code" or "code" in recorded
    }
    scheme.scope = as_drawn(scheme.scope, manifest.scope)
    scope = scheme.scope if scheme.name in METHODS else manifest.scope
    again = replace(manifest, method=scheme.name, scope=scope, parameters=parameters)
    if differences := "; ".join(manifest.differences(again).values()):
        raise ValueError(f"{what} is not what {path} was made with: {differences}")
    return scheme


def _under_rule(args: argparse.Namespace) -> tuple[Manifest, list[Row]]:
    """The certificates of a decision list from one run for each of its noise levels."""
    for option in _restated():
        if vars(args)[option.name] is not None:
            raise ValueError(f"{flag(option.name)} has no meaning with --rule")
    if (args.bound, args.method, args.runner_up) != (None, None, None):
        raise ValueError(
            "--bound, --method and --runner-up have no meaning with --rule"
        )
    answer = read_list(args.rule)
    rule = answer.rule
    runs = by_level(args.files)
    missing = [sigma for sigma in rule.sigmas if sigma not in runs]
    if missing:
        raise ValueError(f"no file is of noise level {missing[0]}, a stage of the rule")
    stages = [runs[sigma] for sigma in rule.sigmas]
    first = stages[0].manifest
    steps = list[Any]()
    for run in stages:  # what was done to each of the files, each step once
        history = (*run.manifest.history, _step(run.path))
        steps += [step for step in history if step not in steps]
    procedure = Procedure(
        n0=first.procedure.n0,
        n=first.procedure.n,
        alpha=first.procedure.alpha if args.alpha is None else args.alpha,
        seed=first.procedure.seed,
    )

    def listed(rows: list[Row]) -> Row:
        select, counts = dense(rows, rule.least_classes)
        certificate, columns = answer.certify(
            Stages(select, lambda stage: counts[stage], procedure.n),
            procedure,
            label=rows[0].label,
            index=rows[0].idx,
        )
        return Row.of(
            rows[0].idx,
            rows[0].label,
            certificate,
            sum(row.seconds for row in rows),
            input=rows[0].input,
            extra=columns,
        )

    new = replace(
        first,
        model={"stages": [stage.manifest.model for stage in stages]},
        answer=answer.describe(),
        method=answer.scheme.name,
        scope=answer.scheme.scope,
        parameters=dict(answer.scheme.parameters),
        procedure=procedure,
        probe={},
        history=[*steps, {"rule": str(args.rule)}],
    )
    return new, [listed(rows) for rows in common(stages)]


class CertifiedFile(NamedTuple):
    """A result file with its manifest."""

    path: Path
    manifest: Manifest
    rows: list[Row]


def _read(path: Path) -> CertifiedFile:
    """A run of one classifier, of a number of samples that was fixed in advance.

    ValueError for any other, whose counts earn nothing by a bound for so many samples,
    and for rows that contradict their manifest.
    """
    manifest = Manifest.read(path)
    if manifest.procedure.ends_at_target:
        raise ValueError(
            f"{path} was sampled until a target radius was decided: a bound for a "
            "number of samples fixed in advance would have no level on its counts"
        )
    rows = read_rows(path)
    for wrong in contradictions(path, manifest, rows):
        raise ValueError(wrong.at(path))
    return CertifiedFile(path, manifest, rows)


def by_level(paths: Iterable[Path]) -> dict[float, CertifiedFile]:
    """Runs of fixed noise by their levels, in the order given.

    ValueError for another noise, two files of one level, or runs that differ in more
    than their model and its level.
    """
    runs: dict[float, CertifiedFile] = {}
    for path in paths:
        run = _read(path)
        if run.manifest.procedure.may_stop:
            raise ValueError(
                f"{path} has fewer samples of some inputs: a rule needs the same "
                "number of every input"
            )
        if run.manifest.procedure.void_against:
            raise ValueError(
                f"{path} has votes by a margin of its own run: certify the rule itself "
                "with one margin for all levels"
            )
        method, scope = run.manifest.method, run.manifest.scope
        answer = run.manifest.answer["name"]
        if answer != TopClass.name:
            raise ValueError(
                f"{path} answers {shown(answer)}: a rule needs runs of one class each"
            )
        if method != Gaussian.name:
            raise ValueError(
                f"{path} is of method {shown(method)}: a rule needs fixed noise"
            )
        if scope != FIXED_NOISE:  # the list's own scope would hide it
            raise ValueError(
                f"{path} is of scope {scope!r}: a rule needs {FIXED_NOISE!r}"
            )
        level = float(run.manifest.parameters["sigma"])
        if level in runs:
            raise ValueError(f"{path} is the second file of noise level {level}")
        runs[level] = run
        first = next(iter(runs.values()))
        of_first = {
            name: getattr(first.manifest, name)
            for name in ("parameters", "probe", "model")
        }
        again = replace(run.manifest, **of_first)
        if differences := "; ".join(first.manifest.differences(again).values()):
            raise ValueError(f"{path} is not of the run of {first.path}: {differences}")
    return runs


def common(runs: Sequence[CertifiedFile]) -> list[list[Row]]:
    """The rows of each input that all runs have, in the order of the inputs.

    ValueError if an input is another in one of the runs, by its label or its hash, or
    has none.
    """
    tables = [{row.idx: row for row in run.rows} for run in runs]
    indices = sorted(set.intersection(*map(set, tables)))
    for i in indices:
        for run, table in zip(runs, tables, strict=True):
            for name, field in (("label", "label"), ("hash", "input")):
                a, b = getattr(tables[0][i], field), getattr(table[i], field)
                if a != b or b == "-":
                    raise ValueError(
                        f"{run.path} is of other data than {runs[0].path}: the {name} "
                        f"of input {i} is {b}, and {a} there"
                    )
    return [[table[i] for table in tables] for i in indices]


def dense(rows: Sequence[Row], width: int = 0) -> NDArray[np.int64]:
    """Counts that choose and that bound, shape (2, levels, classes)."""
    phases = [[row.select for row in rows], [row.counts for row in rows]]
    width = max([width, *(len(counts) for level in phases for counts in level)])
    return np.array(
        [[[*c, *[0] * (width - len(c))] for c in level] for level in phases]
    )


def _step(path: Path) -> dict[str, Any]:
    """The step of a history that says which file was certified again."""
    return {"recertified": str(path), "sha256": file_hash(path)}
