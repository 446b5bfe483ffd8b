"""Equality of records whose fields may be NaN."""

from dataclasses import fields
from typing import Any


class Record:
    """Base of dataclasses (``eq=False``) that are equal if they say the same.

    A field that is NaN says that there is no value, so it equals another NaN. (Fields
    compared as floats are would make such a record differ from itself; compared as
    members of tuples, from a copy of itself.)
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return _content(self) == _content(other)

    def __hash__(self) -> int:
        return hash(_content(self))


def _content(record: Any) -> tuple[Any, ...]:
    """The fields' values, None for NaN: no field that may be NaN may be None."""
    values = (getattr(record, f.name) for f in fields(record))
    return tuple(value if value == value else None for value in values)
