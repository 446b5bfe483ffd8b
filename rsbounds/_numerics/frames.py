"""What a frame says of its columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import check


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


def require_numbers_kept(name: str, frame: Any, array: NDArray[Any]) -> None:
    """ArgumentError where one type for all columns of a pandas frame changes numbers.

    ``array`` has that type: float64 beside whole numbers above 2^53, for instance.
    """
    is_frame = hasattr(frame, "columns") and hasattr(frame, "iloc")
    if not is_frame or array.dtype.kind != "f":
        return
    for place, kind in enumerate(frame.dtypes):
        if kind.kind in "iu":
            column = frame.iloc[:, place]
            is_there = column.notna().to_numpy()
            numbers = column.to_numpy()[is_there]
            is_kept = array[is_there, place] == numbers.astype(np.longdouble)
            check(name, numbers, is_kept, "numbers that float64 holds")
