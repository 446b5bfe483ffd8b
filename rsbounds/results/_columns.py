"""Rows as columns: arrays for what is counted, rows made when they are asked for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, product
from typing import Any, overload

import numpy as np

from rsbounds.certificate import ABSTAIN
from rsbounds.results._cells import Column, TextCells, Unplain, blocks_of, seconds_of
from rsbounds.results._row import Row, norm_of, seconds_in

#: What checks the cells of a column of numbers.
_READERS: dict[str, Callable[[TextCells], Column]] = {
    **dict.fromkeys(("idx", "label", "predict", "count", "n", "void"), TextCells.whole),
    **dict.fromkeys(
        ("p_a", "sigma", "z_a", "z_b"), partial(TextCells.numbers, dash=True)
    ),
    "radius": partial(TextCells.numbers, dash=False),
    "correct": TextCells.flags,
}
_COUNTS = ("select", "counts")
_KIND = ("method", "scope")
#: Columns whose numbers are checked, and asked for by nobody after that.
_CHECKED_ALONE = {"count", "void", "z_a", "z_b"}
#: Columns of small whole numbers, kept in as few bytes as hold them.
_SMALL = {"label", "predict", "n"}
#: Columns of which the distinct texts are kept.
_TEXTS = (*_KIND, "norm", "bound")


@dataclass(frozen=True)
class Columns:
    """What tables, plots and cards count, an entry for each row, and distinct values.

    Inputs that weren't sampled, because their selected class is wrong, are
    ``left_out``.
    """

    idx: Column
    correct: Column
    abstains: Column
    left_out: Column
    radius: Column
    p_a: Column
    sigmas: tuple[float, ...]
    norms: tuple[float | str, ...]
    ns: tuple[int, ...]
    bounds: tuple[str, ...]
    kinds: tuple[tuple[str, str], ...]  # method and scope

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Columns:
        """The columns of rows."""
        if isinstance(rows, FileRows):
            return rows.counted
        rows = list(rows)

        def values(name: str) -> list[Any]:
            return [getattr(row, name) for row in rows]

        return cls(
            idx=np.array(values("idx"), np.int64),
            correct=np.array(values("correct"), bool),
            abstains=np.array([row.predict == ABSTAIN for row in rows], bool),
            left_out=np.array(values("is_left_out"), bool),
            radius=np.array(values("radius"), np.float64),
            p_a=np.array(values("p_a"), np.float64),
            sigmas=_distinct_numbers(np.array(values("sigma"), np.float64)),
            norms=tuple(dict.fromkeys(values("norm"))),
            ns=tuple(dict.fromkeys(values("n"))),
            bounds=tuple(dict.fromkeys(values("bound"))),
            kinds=tuple(dict.fromkeys((row.method, row.scope) for row in rows)),
        )


class FileRows(Sequence[Row]):
    """The rows of a plain file, made when they are asked for; all of them are kept.

    They stand in the content from start to end, below names of columns. Raises
    ``Unplain`` where they have to be read row by row.
    """

    def __init__(
        self, content: bytes, start: int, end: int, columns: Sequence[str]
    ) -> None:
        self.columns = tuple(columns)
        self._lines = content, start, end
        header = content[:start]
        if any(edge in header for edge in (b"\t ", b" \t")):
            raise Unplain
        self.room = 0
        self._ends: Column  # of lines
        self._seconds: Column | None  # where all times are of the usual form
        self._values: dict[str, Column]
        self._distinct: dict[str, dict[Any, None]] = {"kind": {}}
        self._read()

    # --- a sequence of rows

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Row, ...]: ...
    def __getitem__(self, at: int | slice) -> Row | tuple[Row, ...]:
        if isinstance(at, slice):
            return tuple(self[i] for i in range(*at.indices(len(self))))
        return Row.parse(self.line(at), self.columns)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return self._rows == tuple(other)

    @cached_property
    def _rows(self) -> tuple[Row, ...]:
        """All rows, made once."""
        content, start, end = self._lines
        lines = content[start:end].decode("ascii").split("\n")[:-1]
        return tuple(Row.parse(line, self.columns) for line in lines)

    def line(self, at: int) -> str:
        """A line of the file, without its end."""
        content, start, _ = self._lines
        place = range(len(self))[at]
        begin = int(self._ends[place - 1]) + 1 if place else start
        return content[begin : int(self._ends[place])].decode("ascii")

    # --- columns

    def cells(self, name: str) -> FileCells:
        """The cells of a column as they stand in the file."""
        return FileCells(self, self.columns.index(name))

    def blocks(self) -> Iterator[dict[str, TextCells]]:
        """The cells of all columns, block by block."""
        for cells in blocks_of(*self._lines, len(self.columns)):
            yield dict(zip(self.columns, cells, strict=True))

    def values(self, name: str) -> Column:
        """A column of numbers; its default in a row where the file has none."""
        default = Row.__dataclass_fields__[name].default
        missing = np.broadcast_to(np.array(default), len(self))
        return self._values.get(name, missing)

    @cached_property
    def counted(self) -> Columns:
        """What is counted of all rows."""
        n, p_a = self.values("n"), self.values("p_a")
        selected = self._values.get("select", np.zeros(len(self), bool))
        return Columns(
            idx=self.values("idx"),
            correct=self.values("correct"),
            abstains=self.values("predict") == ABSTAIN,
            left_out=(n == 0) & selected & np.isnan(p_a),
            radius=self.values("radius"),
            p_a=p_a,
            sigmas=_distinct_numbers(self.values("sigma")),
            norms=tuple(map(norm_of, self._texts("norm"))) or (2.0,),
            ns=tuple(map(int, _distinct_numbers(n))),
            bounds=tuple(self._texts("bound")) or ("clopper-pearson",),
            kinds=tuple(self._distinct["kind"]),
        )

    def seconds(self) -> Column:
        """The seconds of each row, by its time."""
        if "time" not in self.columns:
            return np.zeros(len(self))
        if self._seconds is None:
            texts = self.cells("time")
            return np.array([seconds_in(text) for text in texts], np.float64)
        return self._seconds

    def _read(self) -> None:
        """Check all cells and keep numbers and texts; Unplain where one is unusual."""
        ends: list[Column] = []
        seconds: list[Column | None] = []
        numbers = [n for n in self.columns if n in _READERS or n in _COUNTS]
        values: dict[str, list[Column]] = {
            name: [] for name in numbers if name not in _CHECKED_ALONE
        }
        for block in self.blocks():
            # a copy: without the places of all other cells
            ends.append(block[self.columns[-1]].ends.copy())
            for name in numbers:
                part = self._checked(name, block[name])
                if name in values:
                    values[name].append(_narrow(part) if name in _SMALL else part)
            seconds.append(_seconds_or_none(block))
            self._find(block)
        # each list of parts ends before the next column is joined
        self._ends = np.concatenate(ends)
        ends.clear()
        known = [part for part in seconds if part is not None]
        self._seconds = np.concatenate(known) if len(known) == len(seconds) else None
        seconds.clear()
        known.clear()
        self._values = {name: _joined(values.pop(name)) for name in list(values)}
        if not (self.values("radius") >= 0).all():
            raise Unplain
        try:
            for text in self._texts("norm"):
                norm_of(text)
        except ValueError:
            raise Unplain from None

    def _checked(self, name: str, cells: TextCells) -> Column:
        """The numbers of a column's cells, or where there are class counts."""
        if name in _READERS:
            return _READERS[name](cells)
        there, room = cells.counts()
        self.room += room
        return there

    def _find(self, block: Mapping[str, TextCells]) -> None:
        """Add the distinct texts of a block to those met."""
        texts = {name: block[name].distinct() for name in _TEXTS if name in block}
        for name, found in texts.items():
            self._distinct.setdefault(name, {}).update(found)
        methods, scopes = (texts.get(name, {"": None}) for name in _KIND)
        kinds: Iterable[tuple[str, str]] = product(methods, scopes)
        if len(methods) > 1 and len(scopes) > 1:
            kinds = zip(*(block[name] for name in _KIND), strict=True)
        self._distinct["kind"].update(dict.fromkeys(kinds))

    def _texts(self, name: str) -> dict[str, None]:
        """The distinct texts of a column; none where the file has no such column."""
        return self._distinct.get(name, {})


class FileCells(Sequence[str]):
    """One column's cells as they stand in a file, without a string for each."""

    def __init__(self, rows: FileRows, place: int) -> None:
        self._rows = rows
        self._place = place

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        if isinstance(at, slice):
            return [self[i] for i in range(*at.indices(len(self)))]
        return self._rows.line(at).split("\t")[self._place]

    def __iter__(self) -> Iterator[str]:
        name = self._rows.columns[self._place]
        return chain.from_iterable(block[name] for block in self._rows.blocks())


def seconds_of_rows(rows: Iterable[Row]) -> Column:
    """The seconds of each row, by its time."""
    if isinstance(rows, FileRows):
        return rows.seconds()
    return np.array([row.seconds for row in rows], np.float64)


def _seconds_or_none(block: Mapping[str, TextCells]) -> Column | None:
    """The seconds that a block's times say; None where one is unusual."""
    with suppress(KeyError, Unplain):
        return seconds_of(block["time"])
    return None


def _narrow(values: Column) -> Column:
    """Whole numbers in as few bytes as hold them all; one number, where all are it."""
    if values.strides == (0,):
        return values
    least = np.result_type(*map(np.min_scalar_type, (values.min(), values.max(), -1)))
    return values.astype(least)


def _joined(parts: Sequence[Column]) -> Column:
    """The parts of a column one after the other; one number, where all are the same."""
    first = parts[0][0]
    many = sum(map(len, parts))
    if all(part.strides == (0,) and part[0] == first for part in parts):
        return np.broadcast_to(first, many)
    return np.concatenate(parts)


def _distinct_numbers(values: Column) -> tuple[float, ...]:
    """The distinct numbers in the order met, NaN once."""
    if not len(values):
        return ()
    first = values[0]
    if (values == first).all() or np.isnan(values).all():
        return (first.item(),)
    numbers: list[float] = values.tolist()
    # NaN, which is not itself, would be kept again for each row
    return tuple(dict.fromkeys(math.nan if x != x else x for x in numbers))
