"""Certified accuracy by the frontier of rows: a radius beside a second number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from rsbounds._numerics.checks import Array
from rsbounds._numerics.decimals import round_radii, short
from rsbounds.results._results import Results

COLUMN = "frontier"
#: What the table of a file shows.
TITLE = (
    "certified accuracy by both numbers of the frontier, a line for each second one "
    "(changes, contrast)"
)
_MOST = 9  # lines for the second numbers as they stand; more of them are rounded


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
    if not any(COLUMN in row.extra for row in file.rows):
        return None
    try:
        pairs = np.array(list(_pairs(file)), dtype=np.float64).reshape(-1, 3)
    except ValueError:  # of three numbers or more, or a stranger's column
        return None
    finite = pairs[((pairs >= 0) & (pairs < np.inf)).all(axis=1)]
    if not finite.size:
        return None
    at = round_radii(finite[:, 1].max()) if radii is None else list(radii)
    beside = np.unique(finite[:, 2]).tolist()
    if len(beside) > _MOST:
        beside = round_radii(beside[-1])
    lines = [["beside", *(f"r={short(radius)}" for radius in at)]]
    for second in beside:
        held = _first_numbers(pairs, second)
        shares = file.counted.share([(held >= radius).sum() for radius in at])
        lines.append([short(second), *(f"{share:.3f}" for share in shares.tolist())])
    return lines


def _pairs(file: Results) -> Iterator[tuple[int, float, float]]:
    """The entries of all rows that are right: the row's place, and both numbers."""
    for place, row in enumerate(file.rows):
        entries = row.extra.get(COLUMN, "-")
        if row.correct and entries != "-":
            for entry in entries.split(";"):
                first, second = entry.split(",")
                yield place, float(first), float(second)


def _first_numbers(pairs: Array, second: float) -> Array:
    """For each row that has one the largest first number beside a second so large."""
    place, first, _ = pairs[pairs[:, 2] >= second].T
    order = np.lexsort((first, place))
    last = np.append(np.diff(place[order]) != 0, True) if place.size else order
    held: Array = first[order][np.asarray(last, dtype=bool)]
    return held
