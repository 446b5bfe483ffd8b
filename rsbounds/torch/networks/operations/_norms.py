"""Norms of matrices, rounded up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rsbounds._numerics.rounding import EPS

Matrix = NDArray[Any]
_KEPT = 256
_norms: dict[tuple[Any, ...], float] = {}


def dense(matrix: Matrix) -> float:
    """The spectral norm of a matrix, or the largest of a stack of them."""
    return kept(matrix, ("dense",), lambda: spectral_norm(torch.from_numpy(matrix)))


def kept(array: Matrix, kind: tuple[Any, ...], norm: Callable[[], float]) -> float:
    """``norm()``, found again by the numbers of ``array`` and by ``kind``."""
    array = np.ascontiguousarray(array)
    key = (blake2b(array.tobytes()).digest(), array.shape, *kind)
    if key not in _norms:
        while len(_norms) >= _KEPT:
            _norms.pop(next(iter(_norms)), None)
        _norms[key] = norm()
    return _norms[key]


def spectral_norm(matrices: torch.Tensor) -> float:
    """The largest singular value of a stack of matrices, rounded up.

    LAPACK's backward error is below 10 max(m, n) eps. It runs on a CPU alone: the
    error of another library is another.
    """
    with one_thread():
        value = float(torch.linalg.svdvals(matrices.cpu()).max())
    return value * (1 + 10 * float(max(matrices.shape[-2:])) * EPS)


def longest_column(matrix: Matrix) -> float:
    """The largest l2 norm of a column, rounded up."""
    longest = float(np.linalg.norm(matrix, axis=0).max())
    return longest * (1 + (len(matrix) + 8) * EPS)


@contextmanager
def one_thread() -> Iterator[None]:
    """Use one thread.

    On matrices of this size more threads take up to a hundred times as long.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
