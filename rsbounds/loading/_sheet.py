"""Columns of tables in files and frames: text, and numbers where every cell is one."""

from __future__ import annotations

import csv
import gzip
import os
import re
from collections.abc import Callable, Container, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.decimals import number
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.text import shown
from rsbounds.loading.packages import need

#: Endings of tables, which need a target.
TABLES = (".csv", ".csv.gz", ".parquet")
#: What stands in a column of text where a table has nothing: a value as others are.
MISSING = ""
#: The category of what is missing, where a rule for gaps is stated.
GAP = "missing"
_SEPARATORS = {"tab": "\t"}
#: What people write where nothing is known; a class may be called "none" or "-".
_NO_CLASS = ("", "?", "na", "n/a", "nan", "null")
_GAPS = (*_NO_CLASS, "none", "-", ".")
_CODE = re.compile(r"\s*[-+]?(0[0-9]|[0-9.]*_)")


def _with_gaps(column: NDArray[Any]) -> NDArray[Any]:
    """A column of text in which what stands for nothing is ``GAP``."""
    empty = [cell.strip().lower() in _NO_CLASS for cell in column]
    return np.where(empty, GAP, column)


@dataclass(frozen=True)
class Sheet:
    """Columns by their names: numbers, or text until it is known what that is.

    ``place`` says where in the source a row stands, in words.
    """

    columns: dict[str, NDArray[Any]]
    place: Callable[[int], str]
    decimal: str = "."

    def known(
        self,
        target: str,
        categories: Container[str],
        as_text: Container[str],
        *,
        gaps: bool = False,
    ) -> dict[str, NDArray[Any]]:
        """The columns, those whose cells are all numbers as numbers.

        ``gaps``: numbers may be missing, which are NaN, and a text that is missing is
        ``GAP``.

        ``as_text``: columns whose text stays text. ArgumentError for another column
        where some cells are numbers and others are not, unless it is of classes or of
        ``categories``: which it is isn't guessed.
        """
        known = dict(self.columns)
        for name, column in self.columns.items():
            may_mix = name in categories or name == target
            if column.dtype.kind in "iuf":
                empty = np.flatnonzero(np.isnan(column))
                if empty.size and not (may_mix or gaps):
                    self._refuse(name, int(empty[0]), MISSING)
                continue
            if gaps and name != target:
                column = _with_gaps(column)
                known[name] = column
            if name not in as_text:
                known[name] = self._of_text(name, column, may_mix=may_mix)
        return known

    def require_classes(self, target: str) -> None:
        """ArgumentError where a class is missing."""
        column = self.columns[target]
        if column.dtype.kind in "iuf":
            return
        for row, cell in enumerate(column):
            if cell.strip().lower() in _NO_CLASS:
                raise ArgumentError(
                    "data",
                    f"must have a class in every row; {self.place(row)} has "
                    f"{cell!r:.40} in column {target!r:.60}: leave out such rows",
                )

    def _of_text(
        self, name: str, column: NDArray[Any], *, may_mix: bool
    ) -> NDArray[Any]:
        if any(map(_CODE.match, column)):
            return column
        numbers = [self._number(cell) for cell in column]
        others = [row for row, number in enumerate(numbers) if number is None]
        filled = [row for row in others if column[row] != GAP]
        if not filled and len(others) < len(numbers) and not may_mix:
            others = []  # each gap is a number that is not known: NaN
        if not others:
            return np.array(numbers, dtype=np.float64)
        if len(others) == len(numbers) or may_mix:
            return column
        self._refuse(name, others[0], column[others[0]])

    def _refuse(self, name: str, row: int, cell: str) -> NoReturn:
        raise ArgumentError(
            "data",
            f"must have a number in column {name!r:.60}, as other rows have; "
            f"{self.place(row)} has {cell!r:.40}{self._advice(name, cell)}",
        )

    def _number(self, cell: str) -> float | None:
        text = cell.strip()
        if self.decimal != ".":
            if "." in text:
                return None
            text = text.replace(self.decimal, ".")
        with suppress(ValueError):
            value = number(text)
            return value if np.isfinite(value) else None
        return None

    def _advice(self, name: str, cell: str) -> str:
        if cell.strip().lower() in _GAPS:
            return ": say missing='median', fill such cells or leave out their rows"
        if re.fullmatch(r"\s*[-+]?[0-9]+,[0-9]+\s*", cell) and self.decimal == ".":
            return (
                ": of a decimal comma say decimal=',', separators of thousands take out"
            )
        return f"; if it holds categories name it, categories=[{name!r}]"


def sheet_of(source: Any, separator: str | None, decimal: str) -> Sheet:
    """The columns of a frame, or of a file by its ending."""
    if hasattr(source, "columns") and hasattr(source, "to_numpy"):
        sheet = _of_frame(source)
    elif not isinstance(source, str | os.PathLike):
        raise ArgumentError(
            "data", f"must be FILE.csv or a frame; got {type(source).__name__}"
        )
    elif os.fspath(source).endswith(".parquet"):
        sheet = _of_frame(_parquet(source))
    else:
        return _of_file(Path(source), separator, _decimal(decimal))
    for name, value, default in (
        ("separator", separator, None),
        ("decimal", decimal, "."),
    ):
        if value != default:
            raise ArgumentError(name, f"is for CSV files; got {value!r:.20}")
    return sheet


def _decimal(decimal: str) -> str:
    if decimal not in (".", ","):
        raise ArgumentError("decimal", f"must be '.' or ','; got {decimal!r:.20}")
    return decimal


def _parquet(path: str | os.PathLike[str]) -> Any:
    """The frame in a parquet file."""
    pandas = need("pandas", f"{shown(path)}")
    need("pyarrow", f"{shown(path)}")
    try:
        return pandas.read_parquet(path)
    except OSError:
        raise
    except Exception as error:  # pyarrow's own kinds
        text = " ".join(str(error).split())
        raise ArgumentError(
            "data", f"{shown(path)} must be a parquet file; {text:.200}"
        ) from error


def _of_frame(frame: Any) -> Sheet:
    names = [str(name) for name in frame.columns]
    _require_distinct("the frame", names)
    columns = {
        name: _of_series(frame.iloc[:, place]) for place, name in enumerate(names)
    }
    return Sheet(columns, lambda row: f"row {row}")


def _of_series(series: Any) -> NDArray[Any]:
    """A column as numbers where its type is one of numbers, else as text."""
    values = series.to_numpy()
    if values.dtype.kind in "iuf":
        return np.asarray(values)
    return np.array(list(map(_text, series)), dtype=object)


def _text(value: Any) -> str:
    """A value of a frame as text; what frames have for nothing is ``MISSING``."""
    text = str(value)
    is_gap = text in ("None", "nan", "NaT", "<NA>") and not isinstance(value, str)
    return MISSING if is_gap else text


def _of_file(path: Path, separator: str | None, decimal: str) -> Sheet:
    try:
        names, rows, lines = _rows(path, _SEPARATORS.get(separator or "", separator))
    except (UnicodeDecodeError, csv.Error, EOFError, gzip.BadGzipFile) as error:
        raise ArgumentError(
            "data", f"{shown(path)} must be a CSV file in UTF-8; {error}"
        ) from None
    if not rows:
        raise ArgumentError("data", f"{shown(path)} must have a line of names and rows")
    _require_distinct(shown(path), names)
    _require_names(path, names)
    for line, row in zip(lines, rows, strict=True):
        if len(row) != len(names):
            raise ArgumentError(
                "data",
                f"{shown(path)}, line {line}, must have {len(names)} entries; got "
                f"{len(row)}",
            )
    columns = {
        name: np.array([row[i] for row in rows], dtype=object)
        for i, name in enumerate(names)
    }
    return Sheet(columns, lambda row: f"line {lines[row]}", decimal)


def _rows(
    path: Path, separator: str | None
) -> tuple[list[str], list[list[str]], list[int]]:
    """The names, the rows that aren't empty, and the line that each ends on."""
    if separator is not None and len(separator) != 1:
        raise ArgumentError(
            "separator", f"must be one character, or tab; got {separator!r:.20}"
        )
    opener: Any = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
        if separator is None:
            _require_commas(path, file.readline())
            file.seek(0)
        reader = csv.reader(file, delimiter=separator or ",")
        names = next(reader, [])
        rows = []
        lines = []
        for row in reader:
            if row:
                rows.append(row)
                lines.append(reader.line_num)
    return names, rows, lines


def _require_commas(path: Path, first: str) -> None:
    """ArgumentError where something else than a comma seems to separate names."""
    for name, separator in ((";", ";"), ("tab", "\t"), ("|", "|")):
        if separator in first and "," not in first:
            raise ArgumentError(
                "separator",
                f"must be given: no comma stands in the first line of {shown(path)}, "
                f"but separator={name!r} may be meant",
            )


def _require_distinct(where: str, names: Sequence[str]) -> None:
    for place, name in enumerate(names):
        if name in names[:place]:
            raise ArgumentError(
                "data",
                f"{where} must have each name once; columns {names.index(name) + 1} "
                f"and {place + 1} are both {name!r:.60}: rename one",
            )


def _require_names(source: Any, names: Sequence[str]) -> None:
    """ArgumentError where the first line of a file seems to be a row of numbers.

    Names may be numbers, as those of pixels are, that count up.
    """
    try:
        numbers = [float(name) for name in names if name]
    except ValueError:
        return
    whole = all(number.is_integer() for number in numbers)
    if not whole or numbers != sorted(numbers):
        raise ArgumentError(
            "data",
            f"{shown(source)} must begin with a line of names; got the numbers "
            f"{', '.join(names):.60}: write one name for each column above them",
        )
