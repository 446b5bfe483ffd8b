"""The rows of a certification file and what they say."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rsbounds._numerics import checks as _checks
from rsbounds._numerics.checks import Array
from rsbounds.certificate import ABSTAIN
from rsbounds.results._fields import real, short, whole

COLUMNS = ("idx", "label", "predict", "radius", "correct")


class Row(NamedTuple):
    """One certified input; ``scope`` is "" where the file has no such column."""

    idx: int
    label: int
    predict: int
    radius: float
    correct: bool
    scope: str


@dataclass(frozen=True)
class Results:
    """Rows of one certification file; ``note`` says what a report must tell of the file."""

    name: str
    rows: tuple[Row, ...]
    note: str = ""

    def certified_accuracy(self, radii: Any) -> Array:
        """Share of rows that are correct with radius >= r, for each r; NaN without rows."""
        at = _checks.real("radii", radii, 0.0, nan=False)
        held = np.sort([row.radius for row in self.rows if row.correct])
        return self._share(len(held) - np.searchsorted(held, at))

    def clean_accuracy(self) -> float:
        """Accuracy of the smoothed classifier; an abstention counts as an error."""
        return float(self._share(sum(row.correct for row in self.rows)))

    def abstention(self) -> float:
        """Share of rows that abstain (predict = -1)."""
        return float(self._share(sum(row.predict == ABSTAIN for row in self.rows)))

    def average_radius(self) -> float:
        """Average certified radius; a row that is not correct counts as radius 0."""
        return float(self._share(math.fsum(row.radius for row in self.rows if row.correct)))

    def by_class(self) -> dict[int, Results]:
        """The rows of each label, labels in order."""
        labels = sorted({row.label for row in self.rows})
        return {
            k: Results(self.name, tuple(row for row in self.rows if row.label == k)) for k in labels
        }

    def scopes(self) -> list[str]:
        """The distinct scopes of the rows, in the order met."""
        return list(dict.fromkeys(row.scope for row in self.rows))

    def _share(self, total: Any) -> Array:
        total = np.asarray(total, dtype=np.float64)
        return total / len(self.rows) if self.rows else np.full(total.shape, np.nan)


def read(path: str | os.PathLike[str]) -> Results:
    r"""Read a certification file.

    Parameters
    ----------
    path : path-like
        A TSV of the field (``idx label predict radius correct time``) or of
        ``rsbounds certify``. An empty file has no rows; a last line that was cut short
        is left out, with a note.

    Returns
    -------
    Results

    Raises
    ------
    ValueError
        For a malformed line, or one that contradicts itself: names the file, the line and
        what was expected.
    OSError
        For a file that can't be read.

    References
    ----------
    [C] Cohen, Rosenfeld, Kolter 2019: the columns, and -1 for an abstention.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "run.tsv"
    >>> _ = file.write_text("idx\tlabel\tpredict\tradius\tcorrect\ttime\n"
    ...                     "0\t7\t7\t0.75\t1\t0:00:01\n1\t2\t-1\t0.0\t0\t0:00:01\n")
    >>> results = read(file)
    >>> results.certified_accuracy([0, 0.75, 1])
    array([0.5, 0.5, 0. ])
    >>> results.average_radius(), results.abstention()
    (0.375, 0.5)
    """
    name = os.fspath(path)
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"{name}: expected tab-separated text in UTF-8") from None
    if not text:
        return Results(name, (), "empty file")
    first, *lines = text.split("\n")
    header = first.strip().split("\t")
    if tuple(header[:5]) != COLUMNS:
        expected = f"a header that starts with {' '.join(COLUMNS)}, separated by tabs"
        raise ValueError(f"{name}:1: expected {expected}; got {short(first)}")
    unterminated = len(lines) + 1
    cut = f"line {unterminated} is cut short: left out"
    rows: list[Row] = []
    lines_of: dict[int, int] = {}
    for number, line in enumerate(lines, start=2):
        if not line.strip():
            continue
        try:
            row = _parse(line.split("\t"), header)
            if row.idx in lines_of:
                raise ValueError(f"each idx once, {row.idx} is on line {lines_of[row.idx]} too")
        except ValueError as error:
            if number == unterminated:
                return Results(name, tuple(rows), cut)
            raise ValueError(f"{name}:{number}: expected {error}; got {short(line)}") from None
        scoped = "scope" in header
        if number == unterminated and scoped and row.scope not in {r.scope for r in rows}:
            return Results(name, tuple(rows), cut)  # part of a longer scope, perhaps
        lines_of[row.idx] = number
        rows.append(row)
    return Results(name, tuple(rows))


def _parse(fields: list[str], header: list[str]) -> Row:
    if len(fields) != len(header):
        raise ValueError(f"{len(header)} fields separated by tabs")
    idx, label, predict = (_named(*named) for named in zip(COLUMNS[:3], fields, strict=False))
    try:
        radius = real(fields[3].strip().lower())
    except ValueError:
        radius = math.nan
    if not radius >= 0:
        raise ValueError("a number >= 0 in column radius")
    if fields[4].strip() not in ("0", "1"):
        raise ValueError("0 or 1 in column correct")
    scope = fields[header.index("scope")] if "scope" in header else ""
    correct = fields[4].strip() == "1"
    if predict == ABSTAIN and (correct or radius):
        raise ValueError("radius 0 and correct 0 where predict is -1")
    if correct != (predict == label != ABSTAIN):
        raise ValueError("correct 1 where predict is the label, else 0")
    return Row(idx, label, predict, radius, correct, scope)


def _named(column: str, field: str) -> int:
    try:
        return whole(field.strip())
    except ValueError as error:
        raise ValueError(f"{error} in column {column}") from None
