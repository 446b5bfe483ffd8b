"""Tables of numbers and categories as arrays: numbers in units, categories numbered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import Array, as_floats, check, choice
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.records import Record
from rsbounds.loading._sheet import GAP, sheet_of
from rsbounds.loading.rows import class_numbers

#: The columns of a table, by their names.
Columns = Mapping[str, NDArray[Any]]
#: What stands for a missing number, by the names of columns.
Filled = Mapping[str, float]
#: The rules by which missing numbers are filled in.
RULES: Mapping[str, Callable[[NDArray[Any]], Any]] = {
    "median": np.median,
    "mean": np.mean,
}


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
    x, y : ndarray of float64, shape (rows, columns), and of int64, shape (rows,)
        Inputs and classes.
    classes : tuple
        What the classes stand for.
    missing : str or None
        The rule by which numbers that are missing are filled in.
    fills : mapping
        What stands for a missing number, for each column that may miss some. The
        category "NAME missing" of such a column says whether it does.
    """

    numbers: tuple[str, ...]
    categories: tuple[str, ...]
    units: Array
    values: Mapping[str, tuple[Any, ...]]
    x: NDArray[np.float64]
    y: NDArray[np.int64]
    classes: tuple[Any, ...]
    missing: str | None = None
    fills: Mapping[str, float] = field(default_factory=dict)

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
        by_name: dict[str, NDArray[Any]] = {}
        for place, name in enumerate(self.numbers):
            by_name[name] = rows[:, place].astype(np.float64) * self.units[place]
        for place, name in enumerate(self.categories, start=len(self.numbers)):
            # noise may show a second value where a column has one
            values = np.array(self.values[name])
            places = np.minimum(rows[:, place].astype(np.int64), len(values) - 1)
            by_name[name] = values[places]
        return by_name


def read_table(
    source: Any,
    target: str,
    *,
    categories: Sequence[str] = (),
    units: Mapping[str, float] | None = None,
    like: Table | None = None,
    missing: str | None = None,
    separator: str | None = None,
    decimal: str = ".",
) -> Table:
    """Read a table of numbers and categories; its columns are split by their kind.

    Parameters
    ----------
    source : path or DataFrame
        ``FILE.csv`` (or ``.csv.gz``) with a line of names, ``FILE.parquet`` (by pandas
        and pyarrow), or a frame. Columns whose entries are all numbers are numbers, of
        a frame those of a type of numbers; columns of text are categories, codes such
        as 01234 among them. One in which some entries are numbers and others aren't is
        refused, and so is a column without a name: it may number the rows.
    target : str
        The column of the classes.
    categories : sequence of str
        Further columns that are categories, though they hold numbers. Nothing, in a
        column of text, is a value as others are; a class must be there.
    units : mapping, optional
        Units of columns of numbers, > 0; by default the standard deviation of each.
    like : Table, optional
        A table, such as that of the training rows, whose kinds, units, values and
        classes are taken in place of the other arguments, and its rule for gaps.
    missing : {"median", "mean"}, optional
        The rule by which missing numbers are filled in, from those of their column; a
        category of its own, "NAME missing", says where. In a column of text what is
        missing is the category "missing". By default a missing number is refused.
    separator : str, optional
        What separates the entries of a CSV file, one character or "tab"; by default a
        comma.
    decimal : {".", ","}
        What stands in its numbers before the decimals.

    Raises
    ------
    ValueError
        If a column is missing or holds what it can't, or a number is missing and no
        rule is stated.

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
    sheet = sheet_of(source, separator, decimal)
    _require_no_index(sheet.columns)
    columns: Columns = sheet.columns
    _require_columns("target", [target], columns)
    inputs = [name for name in columns if name != target]
    _require_columns("categories", categories, inputs)
    if like is not None:
        missing = like.missing
    if missing is not None:
        choice("missing", missing, tuple(RULES))
    columns = sheet.known(target, categories, _of_text(like), gaps=missing is not None)
    numbers = [name for name in inputs if name not in categories]
    numbers = [name for name in numbers if columns[name].dtype.kind in "iuf"]
    _require_columns("units", units or {}, numbers)
    fills = _fills(columns, numbers, missing) if like is None else like.fills
    columns = _filled(columns, fills)
    if like is None:
        like = _kinds(columns, target, categories, units or {})
        like = replace(like, missing=missing, fills=fills)
    absent = {*like.numbers, *like.categories} - set(columns)
    if absent:
        raise ArgumentError("data", f"must have the column {min(absent)!r:.60}")
    sheet.require_classes(target)
    parts = [_numbers(columns[name], name) for name in like.numbers]
    with np.errstate(over="ignore"):
        scaled = [part / unit for part, unit in zip(parts, like.units, strict=True)]
    for name in like.categories:
        scaled.append(_places(columns[name], like.values[name], name))
    if not scaled:
        raise ArgumentError("data", f"must have columns beside {target!r:.60}")
    x = np.stack(scaled, axis=1)
    with np.errstate(over="ignore"):
        good = np.isfinite(x.astype(np.float32))
    check("data", x, good, "finite in float32, in units of its columns")
    y = _classes(columns[target], like.classes, target)
    return replace(like, x=x, y=y)


def _require_columns(
    argument: str, names: Iterable[str], columns: Iterable[str]
) -> None:
    """ArgumentError unless names are of these columns."""
    known = list(columns)
    for name in names:
        if name not in known:
            # quoted: a name may begin with a space
            listed = ", ".join(map(repr, known))
            raise ArgumentError(
                argument, f"must be of the columns {listed:.300}; got {name!r:.60}"
            )


def _require_no_index(columns: Columns) -> None:
    """ArgumentError for a column without a name, as pandas writes row numbers.

    It would become an input of the model, with noise on it.
    """
    for place, name in enumerate(columns, start=1):
        if not name.strip() or name.startswith("Unnamed: "):
            raise ArgumentError(
                "data",
                f"must have a name for each column; column {place} has none: if it "
                "numbers the rows, write the table without it (to_csv(index=False)), "
                "else name it",
            )


def _fills(columns: Columns, numbers: Sequence[str], rule: str | None) -> Filled:
    """What stands for a missing number, in each column that misses some."""
    if rule is None:
        return {}
    known = {name: columns[name][~np.isnan(columns[name])] for name in numbers}
    for name, column in known.items():
        if not column.size:
            raise ArgumentError(
                "data", f"must have a number in column {name!r:.60}; all are missing"
            )
    return {
        name: float(RULES[rule](column))
        for name, column in known.items()
        if len(column) < len(columns[name])
    }


def _filled(columns: Columns, fills: Filled) -> Columns:
    """The columns without gaps in those of numbers, and where there were some."""
    filled = dict(columns)
    for name, fill in fills.items():
        indicator = f"{name} missing"
        if indicator in columns:
            raise ArgumentError(
                "data", f"must have no column {indicator!r:.60}, a name that is made"
            )
        column = columns.get(name, np.array([]))
        if all(value == GAP for value in column):  # no cell says that it holds numbers
            column = np.full(len(column), np.nan)
        if name in columns and column.dtype.kind in "iuf":
            gaps = np.isnan(column)
            filled[name] = np.where(gaps, fill, column)
            filled[indicator] = np.where(gaps, "yes", "no")
    return filled


def _of_text(like: Table | None) -> list[str]:
    """Categories of another table that are text, though this one's may look else."""
    values = {} if like is None else like.values
    return [
        name
        for name, in_column in values.items()
        if any(isinstance(v, str) for v in in_column)
    ]


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
    unit_of = {name: _deviation(columns[name], name) for name in of_numbers} | dict(
        units
    )
    chosen = as_floats(
        "units",
        [unit_of[name] for name in of_numbers],
        0.0,
        closed="neither",
        nan=False,
    )
    classes = tuple(np.unique(columns[target]).tolist())
    ordered = sorted(values, key=lambda name: max(len(values[name]), 2))
    nothing = np.zeros((0, 0)), np.zeros(0, np.int64)
    return Table(
        tuple(of_numbers), tuple(ordered), np.asarray(chosen), values, *nothing, classes
    )


def _numbers(column: NDArray[Any], name: str) -> Array:
    if column.dtype.kind not in "iuf":
        raise ArgumentError(
            "data", f"must have numbers in column {name!r:.60}; got {column[0]!r:.40}"
        )
    with _in_column(name):
        numbers = as_floats("data", column, exact=True)
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
        return class_numbers("data", column.astype(str), list(classes))
