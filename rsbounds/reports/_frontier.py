"""Certified accuracy by the frontier of rows: a radius beside a second number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from rsbounds._numerics.checks import Array
from rsbounds._numerics.decimals import round_radii, short
from rsbounds.answers import Flag
from rsbounds.answers.internal import FLAGGED, alarm_labels
from rsbounds.certificate import Norm
from rsbounds.results import Results, Row
from rsbounds.schemes import METHODS, Scheme

COLUMN = "frontier"
TITLE = "{} {}; one line for each k"
_RIGHT = "certified accuracy"
_FLAGGED = "share of the inputs to flag that stay flagged"
_OF_CHANGES = "at radius r while up to k categories also change"
_OF_KINDS = "against {} up to r and {} up to k"
_MOST = 9  # lines for the second numbers as they stand; more of them are rounded


def frontier_title(file: Results) -> str:
    """What the table of a file's frontier shows, in words."""
    norms = [Norm.of(norm) for norm in file.counted.norms]
    beside = norms and all(norm.changes is not None for norm in norms)
    changes = _OF_CHANGES if beside else _OF_KINDS.format(*_kinds(file))
    return TITLE.format(_FLAGGED if _alarms(file) else _RIGHT, changes)


def _kinds(file: Results) -> tuple[str, str]:
    """What both numbers count, as the file's scheme says."""
    method = file.manifest.method if file.manifest else ""
    return METHODS.get(method, Scheme).frontier_kinds


def frontier_table(
    file: Results, radii: Sequence[float] | None = None
) -> list[list[str]] | None:
    """Lines of a table: shares of rows that are right, by both numbers of a frontier.

    Parameters
    ----------
    file : Results
    radii : sequence of float, optional
        Where to look at the first numbers; by default round ones.

    Returns
    -------
    list of list of str or None
        The first line is the head. None where rows have no frontier of two numbers: of
        three kinds of changes or more a page has no room.
    """
    if not file.has_column(COLUMN):
        return None
    try:
        pairs = np.array(list(_pairs(_certified(file))), dtype=np.float64).reshape(
            -1, 3
        )
    except ValueError:  # of three numbers or more, or a stranger's column
        return None
    finite = pairs[((pairs >= 0) & (pairs < np.inf)).all(axis=1)]
    if not finite.size:
        return None
    at = list(_round(finite[:, 1]) if radii is None else radii)
    beside = np.unique(finite[:, 2]).tolist()
    if len(beside) > _MOST:
        beside = _round(finite[:, 2])
    lines = [["beside", *(f"r={short(radius)}" for radius in at)]]
    for second in beside:
        firsts = _first_numbers(pairs, second)
        shares = [(firsts >= radius).sum() / _total(file) for radius in at]
        lines.append([short(second), *(f"{share:.3f}" for share in shares)])
    return lines


def _round(numbers: Array) -> list[float]:
    """Round numbers up to the largest; whole ones where they count something."""
    return round_radii(numbers.max(), whole=bool((numbers % 1 == 0).all()))


def _alarms(file: Results) -> tuple[int, ...]:
    """The labels that are to be flagged; none of a file of another answer."""
    if file.answer != Flag.name or file.manifest is None:
        return ()
    return alarm_labels(file.manifest.answer["flagged"])


def _certified(file: Results) -> list[Row]:
    """The rows that are right, or flagged as they are to be."""
    alarms = _alarms(file)
    if not alarms:
        return [row for row in file.rows if row.correct]
    return [row for row in file.rows if row.label in alarms and row.predict == FLAGGED]


def _total(file: Results) -> int:
    """The number of rows of which shares are taken."""
    alarms = _alarms(file)
    return sum(not alarms or row.label in alarms for row in file.rows)


def _pairs(rows: Sequence[Row]) -> Iterator[tuple[int, float, float]]:
    """The entries of rows: the row's place among them, and both numbers."""
    for place, row in enumerate(rows):
        entries = row.extra.get(COLUMN, "-")
        if entries != "-":
            for entry in entries.split(";"):
                first, second = entry.split(",")
                yield place, float(first), float(second)


def _first_numbers(pairs: Array, second: float) -> Array:
    """For each row that has one the largest first number beside a second so large."""
    place, first, _ = pairs[pairs[:, 2] >= second].T
    order = np.lexsort((first, place))
    last = np.append(np.diff(place[order]) != 0, True) if place.size else order
    largest: Array = first[order][np.asarray(last, dtype=bool)]
    return largest
