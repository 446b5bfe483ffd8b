"""What the numbers of files rest on: what they share, what marks them apart."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from rsbounds._numerics.text import shown
from rsbounds.certificate import SCOPES
from rsbounds.results import Results

NAMES = ("norm", "alpha", "n", "bound")
_NUMBERS = ("inputs", "total")  # which follow from the data and the selection
UNKNOWN, SEVERAL = "-", "several"


def terms(file: Results) -> dict[str, str]:
    """What the numbers of a file rest on, as text; "-" where it doesn't say.

    ``inputs`` is a hash of which inputs of which data they are.
    """
    counted, manifest = file.counted, file.manifest
    levels = [sigma for sigma in counted.sigmas if not math.isnan(sigma)]
    ends = dict.fromkeys(f"{end(levels):.4g}" for end in (min, max) if levels)
    facts: dict[str, Iterable[str]] = {
        "norm": map(_short, counted.norms),
        "sigma": [" to ".join(ends) or UNKNOWN],
        "n": (str(n) if n else UNKNOWN for n in counted.ns),
        "bound": map(shown, counted.bounds),
    }
    if manifest is not None:
        data = {
            name: part for name, part in manifest.data.items() if name not in _NUMBERS
        }
        identity = json.dumps([data, manifest.shard], sort_keys=True, default=repr)
        digest = hashlib.sha256(identity.encode()).hexdigest()[:8]
        named = (manifest.model.get(name) for name in ("spec", "network"))
        models = [shown(name) for name in named if isinstance(name, str)]
        facts |= {
            "n": [str(manifest.procedure.n)],
            "alpha": [_short(manifest.procedure.alpha)],
            "model": models[:1],
            "data": [shown(manifest.run.get("data", data.get("kind", UNKNOWN)))],
            "inputs": [digest if data else UNKNOWN],
        }
    return {
        name: _common(facts.get(name, ()))
        for name in ("norm", "sigma", "n", "alpha", "model", "data", "bound", "inputs")
    }


def setting(files: Sequence[Results]) -> dict[str, str]:
    """What the files with rows have in common, as far as it is stated."""
    terms_of_files = [terms(file) for file in files if file.rows]
    common = (
        {
            name: _common(terms_of_file[name] for terms_of_file in terms_of_files)
            for name in terms_of_files[0]
        }
        if terms_of_files
        else {}
    )
    return {
        name: text for name, text in common.items() if text not in (UNKNOWN, SEVERAL)
    }


def footnote(scope: str) -> str:
    """What a report must add to results of this scope, if anything."""
    if not scope:
        return "the file states no scope"
    return SCOPES[scope].footnote if scope in SCOPES else f"scope: {shown(scope)}"


def marked(files: Sequence[Results]) -> tuple[list[str], list[str]]:
    """Short names of the files, with marks, and the footnotes the marks stand for.

    A footnote tells of a scope, of a norm, alpha, n, bound or inputs that other files
    don't share, of another file that differs in its seed alone, and of what the file
    lacks.
    """
    stems = [_stem(file.name) for file in files]
    notes = list[list[str]]()
    for file, apart in zip(files, _differences(files), strict=True):
        notes.append([*map(footnote, file.scopes()), apart, *file.notes()])
        others = (other.manifest for other in files if other.manifest)
        if file.manifest and any(
            file.manifest.differences(m).keys() == {"seed"} for m in others
        ):
            text = (
                "runs that differ in their seed alone: the best of them is chosen by "
                "luck"
            )
            notes[-1].append(text)
    named = zip(stems, files, strict=True)
    return numbered(
        [s if stems.count(s) == 1 else file.name for s, file in named], notes
    )


def _stem(name: str) -> str:
    """A file's name without its ending, which sigma_0.50 of the field does not have."""
    path = Path(name)
    return path.stem if path.suffix[1:].isalpha() else path.name


def numbered(
    names: Iterable[str], notes: Iterable[Iterable[str]]
) -> tuple[list[str], list[str]]:
    """Names with the marks of their notes, and the notes behind their marks."""
    marks = dict[str, str]()
    here = [
        [marks.setdefault(n, f"[{len(marks) + 1}]") for n in own_notes if n]
        for own_notes in notes
    ]
    marked = [
        " ".join([shown(name), *own_notes])
        for name, own_notes in zip(names, here, strict=True)
    ]
    return marked, [f"{mark} {text}" for text, mark in marks.items()]


def without_marks(name: str) -> str:
    """A name as it was before it was marked."""
    return re.sub(r"(?: \[\d+\])*$", "", name)


def noted_by_name(
    names: Iterable[str], footnotes: Iterable[str], labels: Iterable[str]
) -> list[str]:
    """Each footnote behind the labels of the marked names that it is about."""
    pairs = list(zip(names, labels, strict=True))
    told = []
    for note in footnotes:
        mark, _, text = note.partition(" ")
        noted = [label for name, label in pairs if mark in name.split()]
        told.append(f"{', '.join(noted)}: {text}")
    return told


def comparable(files: Sequence[Results]) -> list[tuple[str, list[Results]]]:
    """Several runs at several noise levels whose certificates say the same.

    A label, and the runs.

    Method, scope, terms and inputs are equal, and the scope is that of a certificate of
    the classifier that is run, or none is stated: only then the best of the runs at a
    radius says something. The label has the terms that tell the groups apart.
    """
    groups: dict[tuple[str, ...], list[Results]] = {}
    for file in files:
        kinds = file.counted.kinds
        method, scope = kinds[0] if len(kinds) == 1 else ("", "of several")
        if not scope or (scope in SCOPES and SCOPES[scope].valid):
            stated_terms = terms(file)
            key = (
                shown(method),
                scope,
                *(stated_terms[name] for name in (*NAMES, "inputs")),
            )
            groups.setdefault(key, []).append(file)
    labelled = []
    apart = _differences([group[0] for group in groups.values()])
    for (method, *_), group, text in zip(groups, groups.values(), apart, strict=True):
        levels = {sigma for file in group for sigma in file.counted.sigmas}
        if len(group) > 1 and (len(levels) > 1 or any(map(math.isnan, levels))):
            parts = f"best of {len(group)} runs", method, text
            labelled.append((", ".join(filter(None, parts)), group))
    return labelled


def _differences(files: Sequence[Results]) -> list[str]:
    """Name what of each file's terms and inputs not all others share.

    In words; "" if nothing.
    """
    names = (*NAMES, "inputs")
    terms_of_files = [
        terms(file) if file.rows else dict.fromkeys(names, UNKNOWN) for file in files
    ]
    values = {
        name: {terms_of_file[name] for terms_of_file in terms_of_files} - {UNKNOWN}
        for name in names
    }
    return [
        ", ".join(
            f"{name} {terms_of_file[name]}"
            if terms_of_file[name] != UNKNOWN
            else f"{name} not stated"
            for name in names
            if file.rows and len(values[name]) > (terms_of_file[name] != UNKNOWN)
        )
        for file, terms_of_file in zip(files, terms_of_files, strict=True)
    ]


def _short(value: float | str) -> str:
    return str(value).removesuffix(".0")


def _common(values: Iterable[str]) -> str:
    distinct = set(values) or {UNKNOWN}
    return distinct.pop() if len(distinct) == 1 else SEVERAL
