"""Tables of other programs, told in the columns of the field."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from rsbounds.certificate import ABSTAIN, WHOLE_GROUP
from rsbounds.results._row import FIELD

#: Columns of logs of adaptive smoothing, by the field's names.
_OF_LOGS = {"linf_radius": "radius", "prob_lb": "p_a"}
_TIMED = (*FIELD, "time")
_FLAGS = {"True": "1", "False": "0"}
_OF_INTERVAL = f"{WHOLE_GROUP}transformation"
_MARGINS = (
    "radii were margins left at the last step: one of 0 or more certifies a whole "
    "interval of transformations, which the file doesn't state"
)


class Table(NamedTuple):
    """The names of columns, a line for each row, and what became of the radii."""

    columns: tuple[str, ...]
    lines: list[str]
    note: str = ""


def as_the_field(columns: tuple[str, ...], lines: list[str]) -> Table:
    """Tell a table without a manifest in the field's columns; others stay as is."""
    filled = [line for line in lines if line.strip()]
    if columns == _TIMED and filled and _is_summary(filled[-1]):
        filled.pop()
    # a single row of the field's would turn every radius into a margin
    if columns == _TIMED and filled and all(map(_is_of_interval, filled)):
        return _of_intervals(filled)
    return _of_log(columns, lines)


def _of_log(names: tuple[str, ...], lines: list[str]) -> Table:
    """A log of adaptive smoothing (Lyu et al. 2024) with the columns of the field.

    Its names have spaces around them, and radii of abstentions are below 0: they are
    scores below one half.
    """
    stripped = tuple(_OF_LOGS.get(name.strip(), name.strip()) for name in names)
    if "norm" in stripped or "linf_radius" not in map(str.strip, names):
        return Table(names, lines)
    if not set(FIELD) <= set(stripped):
        return Table(names, lines)
    others = [name for name in stripped if name not in FIELD]
    order = [stripped.index(name) for name in (*FIELD, *others)]
    result = []
    for line in lines:
        cells = _cells(line)
        if len(cells) != len(stripped):
            result.append(line)  # the reader of rows says what is wrong
            continue
        abstains = cells[stripped.index("predict")] == str(ABSTAIN)
        place = stripped.index("radius")
        if abstains and cells[place].startswith("-"):
            cells[place] = "0"
        result.append("\t".join([*(cells[i] for i in order), str(math.inf)]))
    return Table((*FIELD, *others, "norm"), result)


def _of_intervals(lines: Sequence[str]) -> Table:
    """Rotations or scalings, sampled step by step (Li et al. 2021, TSS).

    Such a file says True and False, and how much of an l2 radius was left at the last
    step: below 0 the steps ended there and nothing is certified, whatever the class.
    What it calls the radius and the class stand in columns of their own.
    """
    result = []
    for line in lines:
        index, label, predict, margin, flag, time = _cells(line)
        if predict == str(ABSTAIN) or margin.startswith("-"):
            own = [str(ABSTAIN), "0", "0"]
        else:
            own = [predict, "inf" if _is_number(margin) else margin, _FLAGS[flag]]
        cells = [index, label, *own, time, _OF_INTERVAL, margin, predict]
        result.append("\t".join(cells))
    return Table((*_TIMED, "norm", "margin", "class"), result, _MARGINS)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.rstrip("\r").split("\t")]


def _is_of_interval(line: str) -> bool:
    cells = _cells(line)
    return len(cells) == len(_TIMED) and cells[FIELD.index("correct")] in _FLAGS


def _is_summary(line: str) -> bool:
    """Whether it is the line that ends a finished table of intervals."""
    return line.startswith("CleanACC = ")


def _is_number(text: str) -> bool:
    try:
        return float(text) >= 0
    except ValueError:
        return False
