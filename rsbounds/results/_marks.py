"""Names and footnotes as tables and plots show them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rsbounds.certificate import SCOPES
from rsbounds.results._results import Results


def footnote(scope: str) -> str:
    """What a report must add to results of this scope, if anything."""
    if not scope:
        return "the file states no scope"
    return SCOPES[scope].footnote if scope in SCOPES else f"scope: {scope}"


def marked(files: Sequence[Results]) -> tuple[list[str], list[str]]:
    """Short names of the files, with marks, and the footnotes the marks stand for."""
    stems = [Path(f.name).stem for f in files]
    names: list[str] = []
    marks: dict[str, str] = {}
    for file, stem in zip(files, stems, strict=True):
        notes = [footnote(scope) for scope in file.scopes()] + [file.note]
        here = [marks.setdefault(note, f"[{len(marks) + 1}]") for note in notes if note]
        name = stem if stems.count(stem) == 1 else file.name
        names.append(" ".join([name, *here]))
    return names, [f"{mark} {text}" for text, mark in marks.items()]
