"""The rows of a result file and what they say."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import numpy as np

from rsbounds._numerics import checks
from rsbounds._numerics.checks import Array
from rsbounds._numerics.text import shown
from rsbounds.certificate import ABSTAIN
from rsbounds.results._file import load
from rsbounds.results._manifest import Manifest
from rsbounds.results._row import Row
from rsbounds.results._text import as_path, some


@dataclass(frozen=True, repr=False)
class Results:
    """Rows of one certification file; ``note`` is what a report must tell of how it was read."""

    name: str
    rows: tuple[Row, ...]
    note: str = ""
    manifest: Manifest | None = None

    def __repr__(self) -> str:
        """In a line; the rows are in ``rows``."""
        name = f"{self.name}: " if self.name else ""
        text = f"<Results {name}{len(self.rows)} rows"
        if self.rows:
            text += f", accuracy {self.clean_accuracy():.4f}, abstentions {self.abstention():.4f}"
        return f"{text}>"

    def certified_accuracy(self, radii: Any) -> Array:
        """Share of rows that are correct with radius >= r, for each r; NaN without rows."""
        at = checks.as_floats("radii", radii, 0.0, nan=False)
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
        return {k: replace(self, rows=tuple(groups[k])) for k in sorted(groups)}

    def scopes(self) -> list[str]:
        """The distinct scopes of the rows, in the order met."""
        return list(dict.fromkeys(row.scope for row in self.rows))

    def missing(self) -> list[int]:
        """Indices of inputs that the manifest selects and the file lacks; [] where it can't say."""
        return self.manifest.places({row.idx for row in self.rows})[0] if self.manifest else []

    def rate(self) -> float:
        """Rows a second of one worker, by the rows' own times; NaN where they don't say."""
        seconds = sum(row.seconds for row in self.rows)
        return len(self.rows) / seconds if seconds > 0 else math.nan

    def notes(self) -> list[str]:
        """How the file was read, how far the run is, what it leaves out, and how it came about."""
        return [shown(note) for note in (self.note, *self._history(), *self._progress()) if note]

    def _progress(self) -> Iterator[str]:
        if missing := self.missing():
            done, rate = len(self.rows), self.rate()
            text = f"{done} of {done + len(missing)} rows"
            if rate > 1e-6:
                left = timedelta(seconds=math.ceil(len(missing) / rate))
                text += f", {rate:.3g} a second for one worker, {left} left for one"
            yield f"{text}: {some(missing)} missing"

    def _history(self) -> Iterator[str]:
        if self.manifest is None:
            return
        if self.manifest.shard != "0/1":
            yield f"shard {self.manifest.shard} alone: a part of its run"
        certified, fitted = set[str](), set[str]()
        for step in self.manifest.history:
            if changes := step.get("changes"):
                yield f"{step.get('rows')} rows are from before a change: {'; '.join(changes)}"
            certified |= {step.get("sha256", "")}
            fitted |= {*step.get("fitted", ())}
        if certified & fitted:
            yield "the rule was fitted on the rows that it certifies: its level does not hold"
        if left := self.manifest.corrupt() - {row.idx for row in self.rows}:
            yield f"{len(left)} inputs left out: they can't be decoded"

    def _share(self, total: Any) -> Array:
        total = np.asarray(total, dtype=np.float64)
        return total / len(self.rows) if self.rows else np.full(total.shape, np.nan)


def read(path: str | os.PathLike[str]) -> Results:
    r"""Read a certification file.

    Parameters
    ----------
    path : path-like
        A TSV of the field (``idx label predict radius correct time``, -1 for an abstention, as
        Cohen, Rosenfeld and Kolter 2019 wrote it) or of ``rsbounds certify``, with its manifest
        if one lies beside it. An unfinished last line of ours is left out, with a note.

    Returns
    -------
    Results

    Raises
    ------
    ValueError
        For a malformed line, one that contradicts itself, stands twice or is of no input of the
        run: names the file, the line and what was expected. For an argument that is no path.
    OSError
        For a file that can't be read.

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
    place = as_path("path", path)
    _, rows, note, _, manifest = load(place)
    return Results(os.fspath(path), tuple(rows), note, manifest)
