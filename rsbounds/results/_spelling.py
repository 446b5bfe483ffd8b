"""Cells of other programs' tables, spelled as this package's files spell them."""

from __future__ import annotations

import csv
import re
from contextlib import suppress

from rsbounds.certificate import ABSTAIN

#: What separates the cells of a line, and how messages call it; None is white space.
SEPARATORS: dict[str | None, str] = {
    "\t": "tabs",
    ",": "commas",
    ";": "semicolons",
    None: "spaces",
}
FLAGS = {"True": "1", "False": "0", "true": "1", "false": "0"}
_WHOLE = ("idx", "label", "predict", "correct", "count", "n")
_WRAPPED = re.compile(
    r"(?:(?:tensor|array|np\.\w+)\(\[?|\[)\s*([-+.\w]+)\s*(?:\]?(?:,[^()]*)?\)|\])"
)
_WHOLE_AS_FLOAT = re.compile(r"(-?[0-9]+)\.0*")


def separator_of(header: str) -> str | None:
    """What separates the names of a header: the first of ``SEPARATORS`` in it."""
    return next((mark for mark in SEPARATORS if mark and mark in header), None)


def cells_of(line: str, separator: str | None) -> list[str]:
    """The cells of a line, without the white space around them."""
    line = line.rstrip("\r")
    if separator is None:
        return line.split()
    if separator == "\t":
        return [cell.strip() for cell in line.split("\t")]
    with suppress(csv.Error):
        cells = next(csv.reader([line], delimiter=separator, skipinitialspace=True), [])
        # a tab within a cell would separate two of this package's
        return [" ".join(cell.split()) for cell in cells]
    return [line]


def spelled(column: str, cell: str) -> str:
    """A cell of one of the field's columns: tensor([7]) is 7, 3.0 is 3, True is 1."""
    match = _WRAPPED.fullmatch(cell)
    text = match[1] if match else cell
    if column == "correct":
        text = FLAGS.get(text, text)
    whole = _WHOLE_AS_FLOAT.fullmatch(text) if column in _WHOLE else None
    return whole[1] if whole else text


def is_abstention(predict: str) -> bool:
    return predict == str(ABSTAIN)


def is_below_zero(text: str) -> bool:
    return text.startswith("-") and is_number(text)


def is_number(text: str) -> bool:
    """Whether a text is a number or an infinity; NaN is none."""
    try:
        value = float(text)
    except ValueError:
        return False
    return value == value
