"""The cells of a plain table as arrays, column by column.

Plain is what any reader takes the same way: a rectangle of ASCII without blank lines,
and in each column the usual form of its values. ``Unplain`` says that a table is not,
so that rows are to be read one by one, by which errors have the numbers of lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.decimals import MOST_CLASSES

#: An array of numbers or of bytes.
Column: TypeAlias = NDArray[Any]

_TAB, _LINE, _SPACE = 9, 10, 32
_DIGITS = 18  # of a whole number
_WIDEST = 40  # characters of a number
_MOST_BYTES = 10**8  # of a block of cells as an array
_BLOCK = 2**20  # bytes of lines
#: How Python writes most times below ten hours.
_CLOCK = b"0:00:00.000000"
_MARKS = [place for place, sign in enumerate(_CLOCK) if sign != ord("0")]
_SIGNS = np.array([[_CLOCK[place]] for place in _MARKS], np.uint8)
_PLACES = [place for place, sign in enumerate(_CLOCK) if sign == ord("0")]
_IN_NUMBERS = np.zeros(256, bool)
_IN_NUMBERS[list(b"\0+-.0123456789eE")] = True


class Unplain(Exception):
    """A table, or a cell, that has to be read row by row."""


class TextCells:
    """The cells of one column in a block of lines, without a string for each."""

    def __init__(self, content: bytes, starts: Column, ends: Column) -> None:
        self._content = content
        self.starts = starts  # of what stands before a cell: a tab or a line feed
        self.ends = ends

    def __len__(self) -> int:
        return len(self.ends)

    def __iter__(self) -> Iterator[str]:
        starts, ends = self.starts.tolist(), self.ends.tolist()
        for start, end in zip(starts, ends, strict=True):
            yield self._content[start + 1 : end].decode("ascii")

    def distinct(self) -> dict[str, None]:
        """The distinct texts in the order met."""
        packed = self.packed(self.widest())
        same = (packed == packed[0]).all()
        found = dict.fromkeys((packed[:1] if same else packed).tolist())
        return {text.decode("ascii"): None for text in found}

    def widest(self) -> int:
        """Characters of the longest cell."""
        return max(1, int((self.ends - self.starts).max(initial=1)) - 1)

    def packed(self, width: int) -> Column:
        """The cells as an array of bytes of this width; Unplain if one is longer."""
        lengths = self.ends - self.starts - 1
        if lengths.max(initial=0) > width or width * len(lengths) > _MOST_BYTES:
            raise Unplain
        buffer, first = np.frombuffer(self._content, np.uint8), self.starts + 1
        if len(first) and first[-1] + width > len(buffer):
            # the last cells' windows would reach behind the content
            behind = np.zeros(width, np.uint8)
            buffer, first = np.append(buffer[first[0] :], behind), first - first[0]
        shape = (len(buffer) - width + 1,)
        windows = np.ndarray(shape, f"S{width}", buffer, strides=(1,))
        packed: Column = windows[first]
        if lengths.min(initial=width) < width:
            table = packed.view(np.uint8).reshape(-1, width)
            table[np.arange(width) >= lengths[:, None]] = 0
        return packed

    def joined(self, is_in: Column | None = None) -> Column:
        """The bytes of cells one after the other, a line feed behind each."""
        starts = self.starts if is_in is None else self.starts[is_in]
        ends = self.ends if is_in is None else self.ends[is_in]
        lengths = (ends - starts).astype(np.int64)
        behind = np.cumsum(lengths)
        shifts = np.repeat(starts + 1 - (behind - lengths), lengths)
        buffer = np.frombuffer(self._content, np.uint8)
        text: Column = buffer[np.arange(len(shifts)) + shifts]
        text[behind - 1] = _LINE
        return text

    def whole(self) -> Column:
        """The cells as whole numbers of at most 18 digits."""
        return _once(_whole, self.packed(min(self.widest(), _DIGITS + 1)))

    def flags(self) -> Column:
        """The cells as truth values, of 0 and 1."""
        packed = self.packed(1)
        right = packed == b"1"
        if not (right | (packed == b"0")).all():
            raise Unplain
        return np.asarray(right)

    def numbers(self, *, dash: bool) -> Column:
        """The cells as numbers, or inf; ``dash``: NaN where "-" stands."""
        packed = self.packed(min(self.widest(), _WIDEST))
        return _once(partial(_numbers, dash=dash), packed)

    def counts(self) -> tuple[Column, int]:
        """Whether each cell holds class counts, and how many in all, zeros included.

        They stand as class:count pairs in the order of the classes, or as "-".
        """
        buffer = np.frombuffer(self._content, np.uint8)
        is_dash = buffer[self.starts + 1] == ord("-")
        there = ~(is_dash & (self.ends - self.starts == 2))
        return there, _counted(self.joined(there)) if there.any() else 0


def blocks_of(
    content: bytes, start: int, end: int, many: int
) -> Iterator[tuple[TextCells, ...]]:
    """The cells of lines that each end with a line feed, by column, block by block.

    ``start`` is behind a line feed.
    """
    first = start
    while first < end:
        behind = content.rfind(b"\n", first, first + _BLOCK) + 1
        behind = behind or content.find(b"\n", first) + 1
        yield _block(content, first, behind, many)
        first = behind


def _block(content: bytes, start: int, end: int, many: int) -> tuple[TextCells, ...]:
    buffer = np.frombuffer(content, np.uint8)
    text = buffer[start - 1 : end]
    # no other character is below: that of a cell that is not plain would be one
    found = np.flatnonzero(text <= _LINE)
    if (len(found) - 1) % many:
        raise Unplain
    kinds = text[found[1:]].reshape(-1, many)
    if not ((kinds[:, :-1] == _TAB).all() and (kinds[:, -1] == _LINE).all()):
        raise Unplain
    # a cell that begins or ends with a space, or is one
    spaces = np.flatnonzero(text == _SPACE)
    if (text[spaces - 1] <= _LINE).any() or (text[spaces + 1] <= _LINE).any():
        raise Unplain
    marks = found + (start - 1)
    ends = marks[1:].reshape(-1, many)
    starts = marks[:-1].reshape(-1, many)
    return tuple(map(TextCells, [content] * many, starts.T, ends.T))


def _once(read: Callable[[Column], Column], packed: Column) -> Column:
    """What is read from cells, which is read once where all are the same."""
    if (packed == packed[0]).all():
        return np.broadcast_to(read(packed[:1]), packed.shape)
    return read(packed)


def _whole(packed: Column) -> Column:
    """Whole numbers of at most 18 digits."""
    digits = packed.view(np.uint8).reshape(len(packed), -1)
    is_digit = (digits >= ord("0")) & (digits <= ord("9"))
    is_sign = np.zeros_like(is_digit)
    is_sign[:, 0] = digits[:, 0] == ord("-")
    plain = (is_digit | is_sign | (digits == 0)).all()
    many = is_digit.sum(axis=1)
    if not plain or not ((many >= 1) & (many <= _DIGITS)).all():
        raise Unplain
    values = np.zeros(len(packed), np.int64)
    for here, digit in zip(is_digit.T, digits.T, strict=True):
        if here.all():
            values *= 10
            values += digit - ord("0")
        else:
            values[here] = 10 * values[here] + (digit[here] - ord("0"))
    return np.where(is_sign[:, 0], -values, values)


def _numbers(packed: Column, *, dash: bool) -> Column:
    """Numbers of digits, infinities, and "-" for NaN where it may stand."""
    values = np.full(len(packed), np.nan)
    is_number = np.ones(len(packed), bool)
    words = {b"inf": np.inf, b"-inf": -np.inf} | ({b"-": np.nan} if dash else {})
    for text, value in words.items():
        here = packed == text
        values[here] = value
        is_number &= ~here
    digits = packed[is_number]
    if len(digits):
        values[is_number] = _floats(digits)
    if not np.isfinite(values[is_number]).all():
        raise Unplain
    if (np.signbit(values) & (values == 0)).any():  # a zero with a sign
        raise Unplain
    return values


def _floats(packed: Column) -> Column:
    """Numbers of digits; NumPy reads those without an exponent faster as one text."""
    table = packed.view(np.uint8).reshape(len(packed), -1)
    if not _IN_NUMBERS[table].all():
        raise Unplain
    is_digit = (table >= ord("0")) & (table <= ord("9"))
    is_plain = is_digit | (table == 0) | (table == ord("."))
    is_plain[:, 0] |= (table[:, 0] == ord("-")) | (table[:, 0] == ord("+"))
    points = np.flatnonzero(table == ord(".")) // table.shape[1]
    if (
        is_plain.all()
        and is_digit[:, :3].any(axis=1).all()
        and (np.diff(points) > 0).all()
    ):
        text = np.full((len(table), table.shape[1] + 1), _SPACE, np.uint8)
        text[:, :-1] = np.where(table == 0, _SPACE, table)
        return np.fromstring(text.tobytes(), dtype=np.float64, sep=" ")
    try:
        return packed.astype(np.float64)
    except ValueError:
        raise Unplain from None


def _counted(buffer: Column) -> int:
    """How many counts cells hold that each end with a line feed, zeros included."""
    marks = np.flatnonzero((buffer < ord("0")) | (buffer > ord("9")))
    kinds = buffer[marks]
    if len(marks) % 2 or not _are_numbers(marks):
        raise Unplain
    is_last = kinds[1::2] == _LINE
    if (
        not (kinds[::2] == ord(":")).all()
        or not (is_last | (kinds[1::2] == ord(","))).all()
    ):
        raise Unplain
    numbers = buffer.tobytes().translate(bytes.maketrans(b":,\n", b"   "))
    pairs = np.fromstring(numbers, dtype=np.int64, sep=" ").reshape(-1, 2)
    classes, counts = pairs.T
    rises = np.diff(classes) > 0
    if not (rises | is_last[:-1]).all() or not (counts > 0).all():
        raise Unplain
    if not (classes < MOST_CLASSES).all():
        raise Unplain
    return int((classes[is_last] + 1).sum())


def _are_numbers(marks: Column) -> bool:
    """Whether between any two marks there are as many characters as a number has."""
    widths = np.diff(marks, prepend=-1) - 1
    return bool(((widths >= 1) & (widths <= _DIGITS)).all())


def seconds_of(times: TextCells) -> Column:
    """The seconds that texts of the form h:mm:ss say; Unplain for other texts."""
    if times.widest() == len(_CLOCK):
        table = times.packed(len(_CLOCK)).view(np.uint8).reshape(-1, len(_CLOCK)).T
        by_place = table - ord("0")  # of other characters 10 or more
        if (table[_MARKS] == _SIGNS).all() and (by_place[_PLACES] < 10).all():
            return _seconds_by_place(by_place[_PLACES].astype(np.float64))
    buffer = times.joined()
    marks = np.flatnonzero((buffer == ord(":")) | (buffer == _LINE))
    dots = np.flatnonzero(buffer == ord("."))
    digits = (buffer >= ord("0")) & (buffer <= ord("9"))
    if digits.sum() + len(dots) + len(marks) != len(buffer):
        raise Unplain
    if len(marks) != 3 * len(times) or not _are_numbers(marks):
        raise Unplain
    is_end = buffer[marks].reshape(-1, 3) == _LINE
    if is_end[:, :2].any() or not is_end[:, 2].all():
        raise Unplain
    # at most one point in each number, behind a digit
    if (
        not (np.diff(np.searchsorted(marks, dots)) > 0).all()
        or not digits[dots - 1].all()
    ):
        raise Unplain
    numbers = buffer.tobytes().translate(bytes.maketrans(b":\n", b"  "))
    clock = np.fromstring(numbers, dtype=np.float64, sep=" ").reshape(-1, 3)
    return _seconds(*clock.T)


def _seconds_by_place(digits: Column) -> Column:
    """The seconds of the digits of h:mm:ss.ffffff."""
    hours, tens, ones, *places = digits
    millionths = np.zeros(len(hours))
    for place in places:
        millionths = 10 * millionths + place
    # a quotient of whole numbers is rounded once, as the text would be
    return _seconds(hours, 10 * tens + ones, millionths / 1e6)


def _seconds(hours: Column, minutes: Column, seconds: Column) -> Column:
    total: Column = 3600 * hours + 60 * minutes + seconds
    return total
