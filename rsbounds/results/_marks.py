"""Names, footnotes and numbers as tables and plots show them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_DOWN, Decimal
from pathlib import Path

from rsbounds.results._results import Results

_UNMARKED = (
    "fixed noise",
    "sigma(x) with a proven envelope",
    "sigma(x), mu(x) with proven bounds",
)
_MEANING = {
    "memory-based": "memory-based: holds for the classifier together with what it has stored",
    "fixed noise at this input only": "fixed noise at this input only: no certificate of the "
    "classifier that chooses its noise anew at every input",
    "": "the file states no scope",
}


def truncated(radius: float, digits: int) -> str:
    """``radius`` cut (never rounded up) to ``digits`` decimals; "-" for NaN."""
    if math.isnan(radius):
        return "-"
    if math.isinf(radius):
        return "inf"
    return str(Decimal(radius).quantize(Decimal(10) ** -digits, ROUND_DOWN))


def marked(files: Sequence[Results]) -> tuple[list[str], list[str]]:
    """Short names of the files, with marks, and the footnotes the marks stand for."""
    stems = [Path(f.name).stem for f in files]
    names: list[str] = []
    marks: dict[str, str] = {}
    for file, stem in zip(files, stems, strict=True):
        said = [_MEANING.get(s, f"scope: {s}") for s in file.scopes() if s not in _UNMARKED]
        said += [file.note] if file.note else []
        here = [marks.setdefault(text, f"[{len(marks) + 1}]") for text in said]
        name = stem if stems.count(stem) == 1 else file.name
        names.append(" ".join([name, *here]))
    return names, [f"{mark} {text}" for text, mark in marks.items()]
