"""Rows as columns: arrays for what is counted, rows made when they are asked for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, product
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

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
#: Rows from one whose place is kept to the next; those between are found from it.
_STRIDE = 64
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
        self._many = content.count(b"\n", start, end)
        self._begins: list[int] = []  # of every 64th line
        self._seconds: float | None = 0.0  # where all times are of the usual form
        self._values: dict[str, Column]
        self._distinct: dict[str, dict[Any, None]] = {"kind": {}}
        self._read()

    # --- a sequence of rows

    def __len__(self) -> int:
        return self._many

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
        content, _, _ = self._lines
        mark, further = divmod(range(len(self))[at], _STRIDE)
        begin = self._begins[mark]
        for _ in range(further):
            begin = content.index(b"\n", begin) + 1
        return content[begin : content.index(b"\n", begin)].decode("ascii")

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

    def seconds(self) -> float:
        """The seconds of all rows together, by their times."""
        if self._seconds is None:
            return _total([seconds_in(text) for text in self.cells("time")])
        return self._seconds

    def _read(self) -> None:
        """Check all cells and keep numbers and texts; Unplain where one is unusual."""
        numbers = [n for n in self.columns if n in _READERS or n in _COUNTS]
        counted = [name for name in numbers if name not in _CHECKED_ALONE]
        values = {name: _Filled(len(self)) for name in counted}
        before = 0
        for block in self.blocks():
            begins = block[self.columns[0]].starts + 1
            self._begins += begins[-before % _STRIDE :: _STRIDE].tolist()
            before += len(begins)
            for name in numbers:
                part = self._checked(name, block[name])
                if name in values:
                    values[name].add(_narrow(part) if name in _SMALL else part)
            self._add_seconds(block)
            self._find(block)
        self._values = {name: filled.column for name, filled in values.items()}
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

    def _add_seconds(self, block: Mapping[str, TextCells]) -> None:
        """Add the times of a block to the total; none is known if one is unusual."""
        if self._seconds is None or "time" not in block:
            return
        try:
            self._seconds = _total(seconds_of(block["time"]), self._seconds)
        except Unplain:
            self._seconds = None

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


class _Filled:
    """A column of so many numbers, filled block by block.

    One number stands for all as long as there is no other. Parts that were kept until
    all are read would take twice the memory of the column.
    """

    def __init__(self, many: int) -> None:
        self._many = many
        self._at = 0
        self.column: Column

    def add(self, part: Column) -> None:
        """Put numbers behind those that are there."""
        end = self._at + len(part)
        if self._at == 0:
            self.column = np.broadcast_to(part[0], self._many)
        kind = np.promote_types(self.column.dtype, part.dtype)
        if not self.column.flags.writeable:
            if (part == self.column[0]).all():
                self._at = end
                return
            several = np.empty(self._many, kind)
            several[: self._at] = self.column[0]
            self.column = several
        self.column = self.column.astype(kind, copy=False)
        self.column[self._at : end] = part
        self._at = end


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


def seconds_of_rows(rows: Iterable[Row]) -> float:
    """The seconds of all rows together, by their times."""
    if isinstance(rows, FileRows):
        return rows.seconds()
    return _total([row.seconds for row in rows])


def _total(seconds: ArrayLike, before: float = 0.0) -> float:
    """A sum one after the other, as the clock went: blocks don't change it."""
    return float(np.add.accumulate(np.append(before, seconds))[-1])


def _narrow(values: Column) -> Column:
    """Whole numbers in as few bytes as hold them all."""
    # signed types alone: NumPy joins one of 64 bits without a sign as floats
    for least in (np.int8, np.int16, np.int32):
        limits = np.iinfo(least)
        if limits.min <= values.min() and values.max() <= limits.max:
            return values.astype(least)
    return values


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
