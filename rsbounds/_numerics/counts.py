"""Class counts as files and samplers give them: trailing zeros may be missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.errors import ArgumentError


def padded(counts: Sequence[int] | NDArray[Any], width: int) -> NDArray[np.int64]:
    """Checked counts of the first classes as counts of ``width`` classes: zeros follow.

    Parameters
    ----------
    counts : sequence of int, shape (classes,)
        Whole numbers >= 0 that fit int64.
    width : int
        At least ``classes``; ValueError otherwise, as no count may be dropped.
    """
    if len(counts) > width:
        raise ArgumentError(
            "counts", f"must be of at most {width} classes; got {len(counts)}"
        )
    result = np.zeros(width, dtype=np.int64)
    result[: len(counts)] = counts
    return result


def total(counts: NDArray[np.int64]) -> int:
    """The sum of all counts, exact: int64 would wrap around beyond 2^63."""
    if counts.size and int(counts.max()) > (2**63 - 1) // counts.size:
        return sum(counts.ravel().tolist())
    return int(counts.sum())
