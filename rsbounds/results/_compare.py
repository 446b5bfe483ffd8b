"""What radii rest on besides model and data: which files can be compared, and what marks others."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from rsbounds.certificate import SCOPES
from rsbounds.results._results import Results

NAMES = ("norm", "alpha", "n", "bound")
UNKNOWN = "-"


def footnote(scope: str) -> str:
    """What a report must add to results of this scope, if anything."""
    if not scope:
        return "the file states no scope"
    return SCOPES[scope].footnote if scope in SCOPES else f"scope: {scope}"


def marked(files: Sequence[Results]) -> tuple[list[str], list[str]]:
    """Short names of the files, with marks, and the footnotes the marks stand for.

    A footnote tells of a scope, of a norm, alpha, n, bound or inputs that other files don't
    share, and of what the file lacks.
    """
    stems = [Path(file.name).stem for file in files]
    names: list[str] = []
    marks: dict[str, str] = {}
    for file, stem, apart in zip(files, stems, differences(files), strict=True):
        notes = [*map(footnote, file.scopes()), apart, *file.notes()]
        here = [marks.setdefault(note, f"[{len(marks) + 1}]") for note in notes if note]
        name = stem if stems.count(stem) == 1 else file.name
        names.append(" ".join([name, *here]))
    return names, [f"{mark} {text}" for text, mark in marks.items()]


def terms(file: Results) -> dict[str, str]:
    """Norm, alpha, number of samples and bound of a file; "-" where it doesn't say."""
    rows, manifest = file.rows, file.manifest
    samples = {row.n for row in rows} if manifest is None else {manifest.procedure.n}
    return {
        "norm": _common(_short(row.norm) for row in rows),
        "alpha": _short(manifest.procedure.alpha) if manifest else UNKNOWN,
        "n": _common(str(n) if n else UNKNOWN for n in samples),
        "bound": _common(row.bound for row in rows),
    }


def differences(files: Sequence[Results]) -> list[str]:
    """For each file what of its terms and inputs not all others share, in words; "" if nothing."""
    each = [terms(file) | {"inputs": _inputs(file)} if file.rows else {} for file in files]
    values = {
        name: {own.get(name, UNKNOWN) for own in each} - {UNKNOWN} for name in (*NAMES, "inputs")
    }
    return [
        ", ".join(
            f"{name} {value}" if value != UNKNOWN else f"{name} not stated"
            for name, value in own.items()
            if len(values[name]) > (value != UNKNOWN)
        )
        for own in each
    ]


def comparable(files: Sequence[Results]) -> list[tuple[str, list[Results]]]:
    """Several runs at several noise levels whose certificates say the same: a label, and the runs.

    Method, scope, terms and inputs are equal, and the scope is that of a certificate of the
    classifier that is run, or none is stated: only then the best of the runs at a radius says
    something. The label has the terms that tell groups of one method apart.
    """
    groups: dict[tuple[str, ...], list[Results]] = {}
    for file in files:
        kinds = {(row.method, row.scope) for row in file.rows}
        if len(kinds) != 1:
            continue
        ((method, scope),) = kinds
        if not scope or (scope in SCOPES and SCOPES[scope].valid):
            key = (method, scope, *terms(file).values(), _inputs(file))
            groups.setdefault(key, []).append(file)
    methods = [method for method, *_ in groups]
    apart = differences([group[0] for group in groups.values()])
    labelled = []
    for (method, *_), group, text in zip(groups, groups.values(), apart, strict=True):
        levels = {row.sigma for file in group for row in file.rows}
        if len(group) > 1 and (len(levels) > 1 or any(map(math.isnan, levels))):
            own = text if methods.count(method) > 1 else ""
            parts = (f"best of {len(group)} runs", method, own)
            labelled.append((", ".join(filter(None, parts)), group))
    return labelled


def _inputs(file: Results) -> str:
    """Which inputs of which data they are, as a hash; "-" where the file doesn't say."""
    data = file.manifest.data if file.manifest else {}
    data = {name: part for name, part in data.items() if name != "inputs"}
    if not data or not file.manifest:
        return UNKNOWN
    text = json.dumps([data, file.manifest.shard], sort_keys=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _short(value: float) -> str:
    return repr(float(value)).removesuffix(".0")


def _common(values: Iterable[str]) -> str:
    distinct = set(values)
    return (distinct.pop() if len(distinct) == 1 else "several") if distinct else UNKNOWN
