"""Batches of one shape, for models that are compiled for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

CELLS, ROWS = 2**18, 512  # numbers of one compiled batch, and its rows at most
#: A model as a function of batches.
Function = Callable[[NDArray[Any]], Any]


def one_shape(function: Function) -> Function:
    """Give one shape for each input to a function that is compiled for each shape.

    Batches are cut in pieces of as many rows as about 2^18 numbers make, 16 to 512; the
    last one is filled up with zeros.
    """

    def in_one_shape(batch: NDArray[Any]) -> NDArray[Any]:
        rows = min(max(CELLS // max(batch[:1].size, 1), 16), ROWS)
        return in_pieces(lambda piece: _numbers(function(piece)), batch, rows)

    return in_one_shape


def in_pieces(function: Function, batch: NDArray[Any], rows: int) -> NDArray[Any]:
    """Call a function of batches of exactly ``rows`` rows on any number of rows."""
    filler = np.zeros((-len(batch) % rows, *batch.shape[1:]), batch.dtype)
    filled = np.concatenate([batch, filler])
    returned = [function(part) for part in np.split(filled, len(filled) // rows)]
    for part in returned:
        if np.shape(part)[:1] != (rows,):
            raise ValueError(
                f"the model must return {rows} rows for {rows}; got {np.shape(part)}"
            )
    return np.concatenate(returned)[: len(batch)]


def _numbers(returned: Any) -> NDArray[Any]:
    """An array of any device in a type of NumPy's: bfloat16 is none."""
    array = np.asarray(returned)
    return array.astype(np.float32) if array.dtype.kind == "V" else array
