"""Names and footnotes as tables and plots show them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rsbounds.certificate import SCOPES
from rsbounds.results._results import Results
from rsbounds.results._terms import differences


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
    stems = [Path(f.name).stem for f in files]
    names: list[str] = []
    marks: dict[str, str] = {}
    for file, stem, apart in zip(files, stems, differences(files), strict=True):
        notes = [*map(footnote, file.scopes()), apart, file.note]
        here = [marks.setdefault(note, f"[{len(marks) + 1}]") for note in notes if note]
        name = stem if stems.count(stem) == 1 else file.name
        names.append(" ".join([name, *here]))
    return names, [f"{mark} {text}" for text, mark in marks.items()]
