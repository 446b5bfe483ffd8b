"""A file that is gone on with: of these inputs, and of a model that draws its rows."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import suppress
from heapq import nsmallest
from itertools import chain
from pathlib import Path

import numpy as np

from rsbounds._numerics.decimals import sparse_counts
from rsbounds.certify._job import Counts, Job
from rsbounds.certify._work import Work
from rsbounds.loading import Data
from rsbounds.loading.rows import CorruptInput
from rsbounds.results import Results, Row

FINGERPRINTS = 4  # that are drawn again: the closest decisions
COMPARED = 256  # rows of a file whose inputs are hashed again
LOOKED_AT = 4096  # rows of a file among which the closest decisions are found
#: What outputs of one model may differ by on another machine, and the share of samples
#: that may fall elsewhere.
NEAR, NEAR_COUNTS = 1e-4, 1e-3


def require_same_inputs(path: Path, rows: Sequence[Row], source: Data) -> None:
    """Raise ValueError unless inputs of the file are still those of the data.

    Rows spread over the file are looked at.
    """
    for row in rows[:: len(rows) // COMPARED + 1]:
        with suppress(CorruptInput, IndexError):
            digest = (source.item(row.idx).digest or "-")[:16]
            if digest != row.input:
                raise ValueError(
                    f"{path}: the data have changed: the hash of input {row.idx} was "
                    f"{row.input} and is now {digest}; choose another output file"
                )


def require_same_model(
    out: Path, rows: Sequence[Row], source: Data, job: Job, work: Work
) -> None:
    """ValueError unless the model draws again what rows hold.

    A few fingerprints tell models apart that decide otherwise, and a whole row those
    whose scores differ by little. Of rows that no seed repeats there is nothing to
    compare: the manifest's probe tells models apart.
    """
    inside = Results("", rows).counted.idx < len(source)
    places = np.flatnonzero(inside).tolist()
    if not job.procedure.repeats or not places:
        return
    # The closest decisions first: a slightly different model shows there. Of many rows
    # some that are spread over the file are made, as each takes longer than its cells.
    spread = places[:: len(places) // LOOKED_AT + 1]
    closest = nsmallest(FINGERPRINTS, _leads(rows, spread, job))
    for _, place in closest:
        row = rows[place]
        before = sparse_counts(job.recorded_fingerprint(row) or ())
        again = sparse_counts(work.fingerprint(row.idx))
        if again != before:
            raise _changed(out, row, "the selection counts", before, again)
    # rows without counts tell nothing of their lead, so any of them is taken, another
    # at each start
    place = closest[0][1] if closest else secrets.choice(places)
    _require_same_row(out, rows[place], work)


def _leads(
    rows: Sequence[Row], places: Sequence[int], job: Job
) -> Iterator[tuple[int, int]]:
    """By how much the first class leads in rows that hold it, and their places."""
    for place in places:
        counts = job.recorded_fingerprint(rows[place])
        if counts is not None:
            yield _lead(counts), place


def _require_same_row(out: Path, row: Row, work: Work) -> None:
    """ValueError unless the model gives a row again."""
    for outcome in chain.from_iterable(work.carried_out([row.idx], lambda: False)):
        if outcome.row is None:  # corrupt by now: there is nothing to compare
            return
        for name, before, again in drawn_columns(row, outcome.row):
            if not is_near(before, again, row.n):
                raise _changed(out, row, name, before, again)


def _changed(out: Path, row: Row, name: str, before: str, again: str) -> ValueError:
    """The error of a model that draws a row otherwise than it did."""
    return ValueError(
        f"{out}: the model has changed: input {row.idx} drew {name} {before:.200} and "
        f"now draws {again:.200}; choose another output file, or accept_change=True"
    )


def drawn_columns(row: Row, again: Row) -> Iterator[tuple[str, str, str]]:
    """What a row and the row drawn again state of the samples: name, both as text."""
    for name, drawn in again.extra.items():
        if drawn:  # what refers to true maps is empty without them
            yield name, row.extra.get(name, "-"), drawn
    for name in ("select", "counts"):
        recorded, drawn_counts = getattr(row, name), getattr(again, name)
        yield name, sparse_counts(recorded), sparse_counts(drawn_counts)
    yield "void", str(row.void), str(again.void)


def is_near(before: str, again: str, n: int) -> bool:
    """Whether two columns are the same, as far as machines compute scores alike.

    Of n samples a few may fall elsewhere, and real outputs may differ in their last
    digits.
    """
    numbers, others = _taken_apart(before)
    numbers_again, others_again = _taken_apart(again)
    if others != others_again:
        return False
    real = any("." in number for number in (*numbers, *numbers_again))
    room = 0.0 if real else 2 + NEAR_COUNTS * n
    for number, number_again in zip(numbers, numbers_again, strict=True):
        value, value_again = float(number), float(number_again)
        if real:
            room = NEAR * (1 + abs(value))
        if not abs(value - value_again) <= room:
            return False
    return True


def _taken_apart(text: str) -> tuple[list[str], list[str]]:
    """The numbers in a text, and what stands between them: classes of counts too."""
    parts = re.split(r"(-?(?<![\w.])\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\d:]))", text)
    return parts[1::2], parts[0::2]


def _lead(counts: Counts) -> int:
    """The number of samples by which the first class leads the second."""
    *_, second, first = sorted((0, *counts))
    return first - second
