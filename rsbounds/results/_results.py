"""The rows of a result file and what they say."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rsbounds._numerics import checks
from rsbounds._numerics.checks import Array
from rsbounds.certificate import ABSTAIN
from rsbounds.results._file import columns_of
from rsbounds.results._manifest import Manifest, manifest_path
from rsbounds.results._row import Row
from rsbounds.results._text import quoted


@dataclass(frozen=True, repr=False)
class Results:
    """Rows of one certification file; ``note`` says what a report must tell of the file."""

    name: str
    rows: tuple[Row, ...]
    note: str = ""
    manifest: Manifest | None = None

    def __repr__(self) -> str:
        """In a line; the rows are in ``rows``."""
        named = f"{self.name}: " if self.name else ""
        said = f"<Results {named}{len(self.rows)} rows"
        if self.rows:
            said += f", accuracy {self.clean_accuracy():.4f}, abstentions {self.abstention():.4f}"
        return f"{said}>"

    def certified_accuracy(self, radii: Any) -> Array:
        """Share of rows that are correct with radius >= r, for each r; NaN without rows."""
        at = checks.real("radii", radii, 0.0, nan=False)
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
        held = [row.radius for row in self.rows if row.correct]
        try:
            return float(self._share(math.fsum(held)))
        except OverflowError:  # the sum is beyond float64, the average isn't
            return math.fsum(radius / len(self.rows) for radius in held)

    def by_class(self) -> dict[int, Results]:
        """The rows of each label, labels in order."""
        groups: dict[int, list[Row]] = {}
        for row in self.rows:
            groups.setdefault(row.label, []).append(row)
        return {k: replace(self, rows=tuple(groups[k]), note="") for k in sorted(groups)}

    def scopes(self) -> list[str]:
        """The distinct scopes of the rows, in the order met."""
        return list(dict.fromkeys(row.scope for row in self.rows))

    def missing(self) -> list[int]:
        """Indices of inputs that the manifest selects and the file lacks; [] where it can't say."""
        if self.manifest is None:
            return []
        return self.manifest.places({row.idx for row in self.rows})[0]

    def _share(self, total: Any) -> Array:
        total = np.asarray(total, dtype=np.float64)
        return total / len(self.rows) if self.rows else np.full(total.shape, np.nan)


def read(path: str | os.PathLike[str]) -> Results:
    r"""Read a certification file.

    Parameters
    ----------
    path : path-like
        A TSV of the field (``idx label predict radius correct time``) or of
        ``rsbounds certify``, with its manifest if one lies beside it. An empty file has no rows;
        a last line that was cut short is left out; rows that the manifest's selection has and the
        file lacks are counted, and inputs that couldn't be decoded: each with a note.

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
    [C] Cohen, Rosenfeld, Kolter, Certified adversarial robustness via randomized smoothing, 2019:
    the columns, and -1 for an abstention.

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
    manifest = Manifest.read(Path(path)) if manifest_path(Path(path)).exists() else None
    if not text:
        return Results(name, (), "empty file", manifest)
    first, *lines = text.split("\n")
    columns = columns_of(name, first)
    unterminated = len(lines) + 1
    rows: list[Row] = []
    lines_of: dict[int, int] = {}
    scopes: set[str] = set()
    note = ""
    for number, line in enumerate(lines, start=2):
        if not line.strip():
            continue
        try:
            row = Row.parse(line.rstrip("\r"), columns)
            for expected in row.contradictions():
                raise ValueError(expected)
            if row.idx in lines_of:
                raise ValueError(f"each idx once, {row.idx} is on line {lines_of[row.idx]} too")
            if number == unterminated and "scope" in columns and row.scope not in scopes:
                raise ValueError("a scope met before")  # part of a longer one, perhaps
        except ValueError as error:
            if number == unterminated:
                note = f"line {number} is cut short: left out"
                break
            raise ValueError(f"{name}:{number}: expected {error}; got {quoted(line)}") from None
        lines_of[row.idx] = number
        scopes.add(row.scope)
        rows.append(row)
    results = Results(name, tuple(rows), note, manifest)
    missing = len(results.missing())
    if missing:
        note = _joined(note, f"{len(rows)} of {len(rows) + missing} rows")
    corrupt = len(manifest.corrupt() - {row.idx for row in rows}) if manifest else 0
    if corrupt:
        note = _joined(note, f"{corrupt} inputs left out: they can't be decoded")
    return replace(results, note=note)


def _joined(*notes: str) -> str:
    return "; ".join(filter(None, notes))
