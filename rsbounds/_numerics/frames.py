"""What a frame says of its columns."""

from __future__ import annotations

from typing import Any


def category_columns(table: Any) -> dict[int, str]:
    """The columns of a pandas frame that aren't of a type of numbers: place and name.

    Empty of anything else: an array does not say that its numbers are codes.
    """
    kinds: Any = getattr(table, "dtypes", None)
    if not hasattr(table, "columns") or not hasattr(kinds, "items"):
        return {}
    return {
        place: str(name)
        for place, (name, kind) in enumerate(kinds.items())
        if kind.kind not in "iuf"
    }
