"""Tables of numbers and categories as arrays: numbers in units, categories numbered."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import Array, as_floats, check
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.records import Record
from rsbounds._numerics.text import shown
from rsbounds.loading.rows import Data, class_numbers

#: The columns of a table, by their names.
Columns = Mapping[str, NDArray[Any]]
#: What stands in a column of text where a table has nothing: a value as others are.
MISSING = ""


@dataclass(frozen=True, eq=False)
class Table(Record):
    """The rows of a table as one array: first its numbers, then its categories.

    Numbers are divided by the unit of their column, so that one noise level serves all
    of them: sigma times its unit in each column. Categories are the places of their
    values among all of the column, and columns of as many values stand together.

    Attributes
    ----------
    numbers, categories : tuple of str
        Names of the columns, in the order of ``x``.
    units : ndarray of float64
        By which the numbers are divided.
    values : mapping
        The values of each category, in the order of their numbers.
    x, y : ndarray of float32, shape (rows, columns), and of int64, shape (rows,)
        Inputs and classes.
    classes : tuple
        What the classes stand for.
    """

    numbers: tuple[str, ...]
    categories: tuple[str, ...]
    units: Array
    values: Mapping[str, tuple[Any, ...]]
    x: NDArray[np.float32]
    y: NDArray[np.int64]
    classes: tuple[Any, ...]

    @property
    def alphabets(self) -> list[int]:
        """How many values the categories of each block have, at least 2."""
        return list(dict.fromkeys(self._sizes))

    @property
    def splits(self) -> list[int]:
        """The columns at which blocks begin.

        That is behind the numbers, and where categories have another number of values.
        """
        sizes = self._sizes
        places = [i for i, size in enumerate(sizes) if sizes.index(size) == i]
        return [place + len(self.numbers) for place in places if self.numbers or place]

    def blocks(self, sigma: float, keep: float) -> list[dict[str, Any]]:
        """The noise of each group of columns, as result files spell it.

        Gaussian noise of a level, in units, for the numbers; a chance to keep its value
        for each category, whose groups begin at ``splits``.

        Raises
        ------
        ValueError
            If all columns are of one group, which has a method of its own.
        """
        groups: list[dict[str, Any]] = []
        if self.numbers:
            groups.append({"method": "gaussian", "sigma": sigma})
        for values in self.alphabets:
            groups.append({"method": "categorical", "keep": keep, "values": values})
        if len(groups) < 2:
            raise ArgumentError(
                "blocks",
                "must have two groups of columns at least; all columns of this table "
                f"are for the method {groups[0]['method']}",
            )
        return groups

    @property
    def _sizes(self) -> list[int]:
        return [max(len(self.values[name]), 2) for name in self.categories]

    def columns(self, batch: Any) -> dict[str, NDArray[Any]]:
        """A batch of noisy rows by columns, in the table's own units and values."""
        rows = np.asarray(batch)
        own: dict[str, NDArray[Any]] = {}
        for place, name in enumerate(self.numbers):
            own[name] = rows[:, place].astype(np.float64) * self.units[place]
        for place, name in enumerate(self.categories, start=len(self.numbers)):
            # noise may show a second value where a column has one
            values = np.array(self.values[name])
            places = np.minimum(rows[:, place].astype(np.int64), len(values) - 1)
            own[name] = values[places]
        return own


def read_table(
    source: Any,
    target: str,
    *,
    categories: Sequence[str] = (),
    units: Mapping[str, float] | None = None,
    like: Table | None = None,
) -> Table:
    """Read a table of numbers and categories; its columns are split by their kind.

    Parameters
    ----------
    source : path or DataFrame
        ``FILE.csv`` with a line of names, or a frame. Of a file the columns whose
        entries are all numbers are numbers, of a frame those of a type of numbers;
        all others are categories.
    target : str
        The column of the classes.
    categories : sequence of str
        Further columns that are categories, though they hold numbers. Nothing, in a
        column of text, is a value as others are; a class must be there.
    units : mapping, optional
        Units of columns of numbers, > 0; by default the standard deviation of each.
    like : Table, optional
        A table, such as that of the training rows, whose kinds, units, values and
        classes are taken in place of the other arguments.

    Raises
    ------
    ValueError
        If a column is missing or holds what it can't, or a number is missing.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from rsbounds.loading import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "table.csv")
    ...     rows = "age,job,ill", "30,cook,no", "50,smith,yes", "40,cook,no"
    ...     _ = file.write_text("\\n".join(rows))
    ...     table = read_table(file, "ill", units={"age": 10})
    >>> table.numbers, table.categories, table.splits, table.classes
    (('age',), ('job',), [1], ('no', 'yes'))
    >>> table.x.tolist()
    [[3.0, 0.0], [5.0, 1.0], [4.0, 0.0]]
    """
    columns = _columns(source)
    _require_columns("target", [target], columns)
    inputs = [name for name in columns if name != target]
    _require_columns("categories", categories, inputs)
    numbers = [name for name in inputs if name not in categories]
    numbers = [name for name in numbers if columns[name].dtype.kind in "iuf"]
    _require_columns("units", units or {}, numbers)
    if like is None:
        like = _kinds(columns, target, categories, units or {})
    missing = {*like.numbers, *like.categories} - set(columns)
    if missing:
        raise ArgumentError("data", f"must have the column {min(missing)!r:.60}")
    parts = [_numbers(columns[name], name) for name in like.numbers]
    with np.errstate(over="ignore"):
        scaled = [part / unit for part, unit in zip(parts, like.units, strict=True)]
    for name in like.categories:
        scaled.append(_places(columns[name], like.values[name], name))
    if not scaled:
        raise ArgumentError("data", f"must have columns beside {target!r:.60}")
    with np.errstate(over="ignore"):
        x = np.stack(scaled, axis=1).astype(np.float32)
    check("data", x, np.isfinite(x), "finite in float32, in units of its columns")
    y = _classes(columns[target], like.classes, target)
    return Table(
        like.numbers, like.categories, like.units, like.values, x, y, like.classes
    )


class TableData(Data):
    """The rows of a table, for certification."""

    def __init__(self, table: Table, name: str) -> None:
        self.table = table
        super().__init__(
            shown(name), None, table.y, kind="table", shape=list(table.x.shape[1:])
        )
        self.categories = dict(enumerate(table.categories, start=len(table.numbers)))

    def __len__(self) -> int:
        return len(self.table.x)

    def _read(self, i: int) -> tuple[None, NDArray[Any], int]:
        return None, self.table.x[i], int(self.table.y[i])


def _require_columns(
    argument: str, names: Iterable[str], columns: Iterable[str]
) -> None:
    """ArgumentError unless names are of these columns."""
    known = list(columns)
    for name in names:
        if name not in known:
            raise ArgumentError(
                argument,
                f"must be of the columns {', '.join(known):.300}; got {name!r:.60}",
            )


def _columns(source: Any) -> Columns:
    if hasattr(source, "columns") and hasattr(source, "to_numpy"):
        return {str(name): _of_frame(source[name]) for name in source.columns}
    if not isinstance(source, str | os.PathLike):
        raise ArgumentError(
            "data", f"must be FILE.csv or a frame; got {type(source).__name__}"
        )
    try:
        with Path(source).open(encoding="utf-8-sig", newline="") as file:
            names, *rows = list(csv.reader(file)) or [[]]
    except (UnicodeDecodeError, csv.Error) as error:
        raise ArgumentError(
            "data", f"{shown(source)} must be a CSV file in UTF-8; {error}"
        ) from None
    rows = [row for row in rows if row]
    if not rows or len(set(names)) != len(names):
        raise ArgumentError(
            "data", f"{shown(source)} must have a line of names, each once, and rows"
        )
    for number, row in enumerate(rows, start=2):
        if len(row) != len(names):
            raise ArgumentError(
                "data",
                f"{shown(source)}, line {number}, must have {len(names)} entries; "
                f"got {len(row)}",
            )
    return {name: _of_text([row[i] for row in rows]) for i, name in enumerate(names)}


def _of_frame(series: Any) -> NDArray[Any]:
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


def _of_text(entries: Sequence[str]) -> NDArray[Any]:
    """A column as numbers where all of its entries are, else as text."""
    try:
        return np.array([float(entry) if entry else np.nan for entry in entries])
    except ValueError:
        return np.array(entries, dtype=object)


def _kinds(
    columns: Columns,
    target: str,
    categories: Sequence[str],
    units: Mapping[str, float],
) -> Table:
    """What the columns of a table are, without its rows."""
    others = [name for name in columns if name != target]
    of_numbers = [
        name
        for name in others
        if columns[name].dtype.kind in "iuf" and name not in categories
    ]
    values = {
        name: tuple(np.unique(columns[name]).tolist())
        for name in others
        if name not in of_numbers
    }
    own = {name: _deviation(columns[name], name) for name in of_numbers} | dict(units)
    chosen = as_floats(
        "units", [own[name] for name in of_numbers], 0.0, closed="neither", nan=False
    )
    classes = tuple(np.unique(columns[target]).tolist())
    ordered = sorted(values, key=lambda name: max(len(values[name]), 2))
    nothing = np.zeros((0, 0), np.float32), np.zeros(0, np.int64)
    return Table(
        tuple(of_numbers), tuple(ordered), np.asarray(chosen), values, *nothing, classes
    )


def _numbers(column: NDArray[Any], name: str) -> Array:
    if column.dtype.kind not in "iuf":
        raise ArgumentError(
            "data", f"must have numbers in column {name!r:.60}; got {column[0]!r:.40}"
        )
    numbers = column.astype(np.float64)
    with _in_column(name):
        check("data", numbers, np.isfinite(numbers), "finite: fill gaps")
    return numbers


def _deviation(column: NDArray[Any], name: str) -> float:
    """The standard deviation of a column, or 1 of one whose numbers are the same."""
    numbers = _numbers(column, name)
    with np.errstate(over="ignore", invalid="ignore"):
        deviation = float(np.std(numbers))
    with _in_column(name):
        finite = np.isfinite(deviation)
        check("data", deviation, finite, "of a finite deviation")
    return deviation or 1.0


@contextmanager
def _in_column(name: str) -> Iterator[None]:
    """Say of an error of the data in which column it is."""
    try:
        yield
    except ArgumentError as error:
        problem = f"{error.problem}, in column {name!r:.60}"
        raise ArgumentError("data", problem) from None


def _places(column: NDArray[Any], values: Sequence[Any], name: str) -> Array:
    places = {value: float(place) for place, value in enumerate(values)}
    for value in column.tolist():
        if value not in places:
            known = ", ".join(map(repr, values[:9]))
            raise ArgumentError(
                "data",
                f"must have in column {name!r:.60} one of {known:.200}; got "
                f"{value!r:.40}",
            )
    return np.array([places[value] for value in column.tolist()])


def _classes(
    column: NDArray[Any], classes: Sequence[Any], target: str
) -> NDArray[np.int64]:
    """Classes of whole numbers are their own numbers, of text their places."""
    with _in_column(target):
        if column.dtype.kind in "iuf":
            return class_numbers("data", column, None)
        gaps = np.flatnonzero(column == MISSING)
        if gaps.size:
            raise ArgumentError(
                "data", f"must have a class in every row; got none in row {gaps[0]}"
            )
        return class_numbers("data", column.astype(str), list(classes))
