"""Tables of other programs, told in the columns of the field."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.text import quoted, shown
from rsbounds.certificate import ABSTAIN, Norm
from rsbounds.results._row import COLUMNS, FIELD
from rsbounds.results._spelling import (
    FLAGS,
    SEPARATORS,
    cells_of,
    is_abstention,
    is_below_zero,
    is_number,
    separator_of,
    spelled,
)

#: Columns of logs of adaptive smoothing (Lyu et al. 2024), by the field's names.
_OF_LOGS = {"linf_radius": "radius", "prob_lb": "p_a"}
#: What ``columns`` may name; the other columns of a run are said by a manifest.
NAMED = (*FIELD, "time", "count", "n", "p_a", "sigma")
#: In place of the name of a column: the number of the row, from 0.
ROW_NUMBER = "#"
#: Columns that tables of intervals are given, for what they call radius and class.
OF_INTERVALS = ("margin", "class")
_OF_INTERVAL = str(Norm(moved="transformation", whole_group=True).spelled)
_MARGINS = (
    "radii were margins left at the last step: one of 0 or more certifies a whole "
    "interval of transformations, which the file doesn't state"
)
_FLAGS_IN_WORDS = (
    "column correct says True and False, as tables of margins do: radii are taken as "
    "radii, since none is below 0 beside a class and no last line begins with CleanACC"
)


@dataclass(frozen=True)
class Reading:
    """What a caller says of a file that no manifest describes.

    ``columns``: for a column of the field the name of the file's, or ``ROW_NUMBER``;
    ``norm``: that of the radii, None where the file is to say it.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    norm: float | str | None = None

    @classmethod
    def of(cls, columns: Any, norm: Any) -> Reading:
        """Check the arguments ``columns`` and ``norm`` of a reader."""
        if not isinstance(columns, Mapping | None):
            raise ArgumentError(
                "columns",
                f"must be a mapping of the field's names, such as radius, to the "
                f"file's; got {type(columns).__name__}",
            )
        for name, column in (columns or {}).items():
            if name not in NAMED or not isinstance(column, str):
                raise ArgumentError(
                    "columns",
                    f"must give for one of {', '.join(NAMED)} the name of a column of "
                    f"the file; got {name!r:.40} for {column!r:.40}",
                )
        return cls(columns or {}, None if norm is None else Norm.of(norm).spelled)

    def require_nothing(self) -> None:
        """ArgumentError for what is said of a file whose manifest says it."""
        for name, value in (("columns", self.columns), ("norm", self.norm)):
            if value:
                raise ArgumentError(
                    name, "is for files without a manifest; leave it out here"
                )


class ForeignTable(NamedTuple):
    """The names of columns, a line for each row, and what became of cells."""

    columns: tuple[str, ...]
    lines: list[str]
    note: str = ""


def as_the_field(header: str, lines: Sequence[str], reading: Reading) -> ForeignTable:
    """Tell a table without a manifest in the field's columns.

    ValueError names the line, from 1, and what was expected; an ArgumentError the
    columns that must be named.
    """
    if tuple(header.strip().split("\t"))[: len(COLUMNS)] == COLUMNS:
        reading.require_nothing()
        return ForeignTable(tuple(header.strip().split("\t")), list(lines))
    return _Foreign(header, lines, reading).told()


class _Foreign:
    """A table that is told anew: names of columns, and cells by line."""

    def __init__(self, header: str, lines: Sequence[str], reading: Reading) -> None:
        self.header = header
        self.lines = lines
        self.reading = reading
        self.separator = separator_of(header)
        self.columns = cells_of(header, self.separator)
        self.rows = {
            number: cells_of(line, self.separator)
            for number, line in enumerate(lines, start=2)
            if line.strip()
        }
        self.notes = list[str]()
        self.is_summed_up = False
        self.is_linf = False

    def told(self) -> ForeignTable:
        """The table in the field's columns and spelling."""
        self._drop_summary()
        self._drop_cut_line()
        self._drop_index()
        self._require_cells()
        self._name_columns()
        self._add_columns()
        self._require_columns()
        if not self.rows:
            self.notes.append("a header alone: no rows")
        flags = self._cells("correct")
        is_in_words = bool(flags) and all(flag in FLAGS for flag in flags)
        self._spell()
        if is_in_words and self._has_margins():
            self._tell_margins()
        elif is_in_words:
            self.notes.append(_FLAGS_IN_WORDS)
        self._tell_abstentions()
        lines = [""] * (max(self.rows, default=1) - 1)
        for number, cells in self.rows.items():
            lines[number - 2] = "\t".join(cells)
        # a line end behind the last row, as files of the field have it
        return ForeignTable(tuple(self.columns), [*lines, ""], "; ".join(self.notes))

    def _drop_summary(self) -> None:
        """Leave out the line that ends a finished table of intervals."""
        last = max(self.rows, default=None)
        if last is not None and self.lines[last - 2].startswith("CleanACC = "):
            self.is_summed_up = True
            del self.rows[last]

    def _drop_cut_line(self) -> None:
        """Leave out a last line that was cut.

        That is one without a line end that has too few cells, or whose last cell says
        more when it is cut, as 1.2e-05 does; a scope too.
        """
        unended = len(self.lines) + 1
        cells = self.rows.get(unended)
        if cells is None:
            return
        missing = len(self.columns) - len(cells)
        of_numbers = [
            self.reading.columns.get(name, name) for name in ("radius", "p_a")
        ]
        may_be_cut = (
            self.columns[-1] in (*of_numbers, *_OF_LOGS, "scope") or not cells[-1]
        )
        if missing > 0 or (not missing and may_be_cut):
            del self.rows[unended]
            self.notes.append(f"line {unended} is cut short: left out")

    def _drop_index(self) -> None:
        """Leave out the numbers of rows that pandas writes in front."""
        lengths = set(map(len, self.rows.values()))
        in_front = self.separator is None and self.header[:1].isspace()
        if in_front and lengths == {len(self.columns) + 1}:
            self.columns.insert(0, "")
        if self.columns[:1] and self.columns[0] in ("", "Unnamed: 0"):
            self.columns.pop(0)
            for cells in self.rows.values():
                del cells[0]

    def _require_cells(self) -> None:
        separated = f"separated by {SEPARATORS[self.separator]}"
        for number, cells in self.rows.items():
            if len(cells) != len(self.columns):
                expected = f"{len(self.columns)} fields {separated}"
                raise LineError(number, expected, self.lines[number - 2])

    def _name_columns(self) -> None:
        """Rename columns as they are said to be, or as logs are known to call them."""
        renamed = {column: name for name, column in self.reading.columns.items()}
        for column in renamed:
            if column != ROW_NUMBER and self.columns.count(column) != 1:
                raise ArgumentError(
                    "columns",
                    f"must name columns of the file, {self._listed()}; got "
                    f"{column!r:.60}",
                )
        known = dict(renamed)
        if "radius" not in {*self.columns, *renamed.values()}:
            known = _OF_LOGS | known
            self.is_linf = "linf_radius" in self.columns
        # of two columns the one that is named; the other keeps its place, unused
        taken = {known[name] for name in self.columns if name in known}
        taken |= self.reading.columns.keys()
        self.columns = [
            known.get(name, f"{name} (unused)" if name in taken else name)
            for name in self.columns
        ]

    def _add_columns(self) -> None:
        """Add what is no column of the file: row numbers, flags, the norm."""
        if self.reading.columns.get("idx") == ROW_NUMBER:
            self._add("idx", [str(place) for place in range(len(self.rows))])
        if {"label", "predict"} <= set(self.columns) and "correct" not in self.columns:
            pairs = zip(self._cells("label"), self._cells("predict"), strict=True)
            same = [spelled("label", a) == spelled("predict", b) for a, b in pairs]
            self._add("correct", [str(int(flag)) for flag in same])
            self.notes.append("no column correct: it is 1 where predict is the label")
        norm = self.reading.norm
        if norm is not None and "norm" in self.columns:
            raise ArgumentError("norm", "is a column of the file; leave it out here")
        if norm is None and self.is_linf and "norm" not in self.columns:
            norm = math.inf
        if norm is not None:
            self._add("norm", [str(norm)] * len(self.rows))

    def _require_columns(self) -> None:
        lacking = [name for name in FIELD if name not in self.columns]
        are_distinct = len(set(self.columns)) == len(self.columns)
        if are_distinct and not lacking:
            return
        if are_distinct and self.rows and len(lacking) < len(FIELD):
            wanted = ",".join(f"{name}=NAME" for name in lacking)
            hint = f"; idx={ROW_NUMBER} numbers the rows" if "idx" in lacking else ""
            raise ArgumentError(
                "columns",
                f"must say which column is {' and which is '.join(lacking)}, as "
                f"{wanted}: the file has {self._listed()}{hint}",
            )
        expected = f"a header of distinct columns, with {' '.join(FIELD)}"
        raise LineError(1, expected, self.header)

    def _add(self, name: str, cells: Sequence[str]) -> None:
        self.columns = [*self.columns, name]
        for row, cell in zip(self.rows.values(), cells, strict=True):
            row.append(cell)

    def _cells(self, name: str) -> list[str]:
        if name not in self.columns:
            return []
        place = self.columns.index(name)
        return [cells[place] for cells in self.rows.values()]

    def _listed(self) -> str:
        return shown(", ".join(self.columns))[:300]

    def _spell(self) -> None:
        places = [(i, n) for i, n in enumerate(self.columns) if n in NAMED[:-1]]
        for cells in self.rows.values():
            for place, name in places:
                if name != "time":
                    cells[place] = spelled(name, cells[place])

    def _predicted(self) -> Iterator[tuple[list[str], int, int]]:
        """Each row with the places of its class and of its radius."""
        predict, radius = map(self.columns.index, ("predict", "radius"))
        for cells in self.rows.values():
            yield cells, predict, radius

    def _has_margins(self) -> bool:
        """Whether a table with flags in words shows that its radii are margins.

        A log of the field whose flags were printed as True and False looks the same.
        """
        return self.is_summed_up or any(
            is_below_zero(cells[radius]) and not is_abstention(cells[predict])
            for cells, predict, radius in self._predicted()
        )

    def _tell_margins(self) -> None:
        """Rotations or scalings, sampled step by step (Li et al. 2021, TSS).

        A margin is how much of an l2 radius was left at the last step: below 0 the
        steps ended there and nothing is certified, whatever the class. What the table
        calls the radius and the class stand in columns of their own.
        """
        correct = self.columns.index("correct")
        margins = self._cells("radius")
        classes = self._cells("predict")
        for cells, predict, radius in self._predicted():
            if is_abstention(cells[predict]) or is_below_zero(cells[radius]):
                cells[predict], cells[radius] = str(ABSTAIN), "0"
                cells[correct] = "0"
            elif is_number(cells[radius]):
                cells[radius] = "inf"
        if "norm" not in self.columns:
            self._add("norm", [_OF_INTERVAL] * len(self.rows))
        for name, column in zip(OF_INTERVALS, (margins, classes), strict=True):
            self._add(name, column)
        self.notes.append(_MARGINS)

    def _tell_abstentions(self) -> None:
        """Radii of abstentions that are below 0 certify nothing: they become 0."""
        changed = 0
        for cells, predict, radius in self._predicted():
            if is_abstention(cells[predict]) and is_below_zero(cells[radius]):
                changed += float(cells[radius]) < 0
                cells[radius] = "0"
        if changed:
            self.notes.append(f"{changed} abstentions with a radius below 0 have 0")


class LineError(ValueError):
    """What was expected on a line of a file."""

    def __init__(self, line: int, expected: str, got: str) -> None:
        super().__init__(f"expected {expected}; got {quoted(got)}")
        self.line = line
