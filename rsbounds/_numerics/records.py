"""Equality of records whose fields may be NaN or arrays."""

from dataclasses import fields
from typing import Any

import numpy as np


class Record:
    """Base of dataclasses (``eq=False``) that are equal if they say the same.

    A field that is NaN says that there is no value, so it equals another NaN. (Fields
    compared as floats are would make such a record differ from itself; compared as
    members of tuples, from a copy of itself.) Arrays are equal if all of their bytes
    are; as fields of an ordinary dataclass they could not be compared at all.
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
    return tuple(_comparable(getattr(record, f.name)) for f in fields(record))


def _comparable(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.shape, value.dtype.str, value.tobytes()
    if isinstance(value, tuple):
        return tuple(map(_comparable, value))
    return value if value == value else None
