"""Which rows a decision list was fitted to: inputs, and digests of their counts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence

from rsbounds._numerics.decimals import sparse_counts
from rsbounds.results._row import Row

#: Samples on other classes than the first: counts of fewer may agree by chance.
_UNDECIDED = 5


def digests(rows: Iterable[Row]) -> list[str]:
    """What a rule keeps of the rows that it is fitted to: input and digest of each."""
    return [
        f"{row.input}:{_digest(sparse_counts(row.select), sparse_counts(row.counts))}"
        for row in rows
    ]


def chosen_on(fitted: Sequence[str], rows: Iterable[Row]) -> int:
    """How many rows are of inputs that the rule was fitted to, whatever was drawn."""
    inputs = _inputs(fitted)
    return sum(row.input in inputs for row in rows)


def _inputs(fitted: Sequence[str]) -> set[str]:
    return {text.partition(":")[0] for text in fitted} - {"-"}


def is_fitted_on(fitted: Sequence[str], rows: Sequence[Row]) -> bool:
    """Whether rows of a list hold counts that its rule was fitted to.

    They do where at least half of a stage's rows, of inputs that both have, have the
    same counts. Rows, and not files, are compared: files grow and are merged.
    """
    known = set(fitted)
    inputs = _inputs(fitted)
    compared = dict[int, int]()
    same = dict[int, int]()
    for row in rows:
        if row.input not in inputs:
            continue
        for stage, digest in _of_stages(row):
            compared[stage] = compared.get(stage, 0) + 1
            same[stage] = same.get(stage, 0) + (f"{row.input}:{digest}" in known)
    return any(2 * same[stage] >= many for stage, many in compared.items())


def _of_stages(row: Row) -> Iterator[tuple[int, str]]:
    """The stages of a row of a list that can be told apart, with their digests."""
    select = row.extra.get("stage_select", "").split(";")
    counts = row.extra.get("stage_counts", "").split(";")
    for stage, texts in enumerate(zip(select, counts, strict=False)):
        digest = _digest(*texts)
        if digest:
            yield stage, digest


def _digest(select: str, counts: str) -> str:
    """The digest of counts; "" where almost all samples fell on one class."""
    numbers = [part.rpartition(":")[2] for part in counts.split(",")]
    if not all(number.isdecimal() for number in numbers):
        return ""  # a stage that was not drawn
    many = [int(number) for number in numbers]
    if sum(many) - max(many) < _UNDECIDED:
        return ""
    return hashlib.sha256(f"{select} {counts}".encode()).hexdigest()[:16]
