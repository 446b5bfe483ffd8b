"""Files side by side: which can be compared, what marks the others, and what they rest on."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from rsbounds._numerics.text import shown
from rsbounds.certificate import SCOPES
from rsbounds.results._results import Results
from rsbounds.results._text import quoted

NAMES = ("norm", "alpha", "n", "bound")
UNKNOWN = "-"


def as_files(files: Sequence[Results], *, rows: bool = False) -> list[Results]:
    """``files`` as a list, or ValueError; ``rows``: at least one must have rows."""
    if not isinstance(files, list | tuple) or not all(isinstance(file, Results) for file in files):
        raise ValueError(f"files must be a list of Results, as read returns; got {quoted(files)}")
    if rows and not any(file.rows for file in files):
        raise ValueError("files must have at least one row to show; got none")
    return list(files)


def footnote(scope: str) -> str:
    """What a report must add to results of this scope, if anything."""
    if not scope:
        return "the file states no scope"
    return SCOPES[scope].footnote if scope in SCOPES else f"scope: {shown(scope)}"


def marked(files: Sequence[Results]) -> tuple[list[str], list[str]]:
    """Short names of the files, with marks, and the footnotes the marks stand for.

    A footnote tells of a scope, of a norm, alpha, n, bound or inputs that other files don't
    share, of another file that differs in its seed alone, and of what the file lacks.
    """
    stems = [Path(file.name).stem for file in files]
    names: list[str] = []
    marks: dict[str, str] = {}
    for file, stem, apart in zip(files, stems, differences(files), strict=True):
        notes = [*map(footnote, file.scopes()), apart, *file.notes()]
        if any(_differ_in_seed(file, other) for other in files):
            notes.append("runs that differ in their seed alone: the best of them is chosen by luck")
        here = [marks.setdefault(note, f"[{len(marks) + 1}]") for note in notes if note]
        name = stem if stems.count(stem) == 1 else file.name
        names.append(" ".join([shown(name), *here]))
    return names, [f"{mark} {text}" for text, mark in marks.items()]


def terms(file: Results) -> dict[str, str]:
    """Norm, alpha, number of samples and bound of a file; "-" where it doesn't say."""
    rows, manifest = file.rows, file.manifest
    samples = {row.n for row in rows} if manifest is None else {manifest.procedure.n}
    return {
        "norm": _common(_short(row.norm) for row in rows),
        "alpha": _short(manifest.procedure.alpha) if manifest else UNKNOWN,
        "n": _common(str(n) if n else UNKNOWN for n in samples),
        "bound": _common(shown(row.bound) for row in rows),
    }


def setting(files: Sequence[Results]) -> dict[str, str]:
    """Sigma of all files, and what they share of norm, n, alpha, model and data."""
    files = [file for file in files if file.rows]
    levels = [r.sigma for file in files for r in file.rows if not math.isnan(r.sigma)]
    ends = dict.fromkeys(f"{end(levels):.4g}" for end in (min, max)) if levels else {UNKNOWN: None}
    each = [terms(file) | _subject(file) for file in files]
    own = {k: _common(terms[k] for terms in each) for k in ("norm", "n", "alpha", "model", "data")}
    shared = {"norm": own.pop("norm"), "sigma": " to ".join(ends), **own}
    return {name: text for name, text in shared.items() if text not in (UNKNOWN, "several")}


def _subject(file: Results) -> dict[str, str]:
    """Which model and which data, as far as the manifest has a word for them."""
    if file.manifest is None:
        return {"model": UNKNOWN, "data": UNKNOWN}
    model = next((v for v in file.manifest.model.values() if isinstance(v, str)), UNKNOWN)
    data = file.manifest.run.get("data", file.manifest.data.get("kind", UNKNOWN))
    return {"model": shown(model), "data": shown(str(data))}


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
            key = (shown(method), scope, *terms(file).values(), _inputs(file))
            groups.setdefault(key, []).append(file)
    methods = [method for method, *_ in groups]
    apart = differences([group[0] for group in groups.values()])
    labelled = []
    for (method, *_), group, text in zip(groups, groups.values(), apart, strict=True):
        levels = {row.sigma for file in group for row in file.rows}
        if len(group) > 1 and (len(levels) > 1 or any(map(math.isnan, levels))):
            own = text if methods.count(method) > 1 else ""
            luck = any(_differ_in_seed(a, b) for a in group for b in group)
            parts = f"best of {len(group)} runs", method, own, "seeds chosen by luck" * luck
            labelled.append((", ".join(filter(None, parts)), group))
    return labelled


def _differ_in_seed(a: Results, b: Results) -> bool:
    """Whether nothing but the seed tells two runs apart."""
    if a.manifest is None or b.manifest is None:
        return False
    return a.manifest.differences(b.manifest).keys() == {"seed"}


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
