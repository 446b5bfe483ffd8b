"""Norms of matrices, rounded up."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rsbounds._numerics.rounding import EPS

Matrix = NDArray[Any]
_MOST_NORMS = 256
_norms: dict[tuple[Any, ...], float] = {}


def dense(matrix: Matrix) -> float:
    """The spectral norm of a matrix, or the largest of a stack of them."""
    return cached(matrix, ("dense",), lambda: spectral_norm(torch.from_numpy(matrix)))


def cached(array: Matrix, kind: tuple[Any, ...], norm: Callable[[], float]) -> float:
    """``norm()``, found again by the numbers of ``array`` and by ``kind``."""
    array = np.ascontiguousarray(array)
    key = (blake2b(array.tobytes()).digest(), array.shape, *kind)
    found = _norms.get(key)
    if found is None:
        while len(_norms) >= _MOST_NORMS:
            _norms.pop(next(iter(_norms)), None)
        found = _norms[key] = norm()
    return found


def spectral_norm(matrices: torch.Tensor) -> float:
    """The largest singular value of a stack of matrices, rounded up.

    LAPACK's backward error is below 10 max(m, n) eps. It runs on a CPU alone: the
    error of another library is another. Infinite where a number is not finite.
    """
    if not matrices.isfinite().all():
        return math.inf
    with one_thread():
        value = float(torch.linalg.svdvals(matrices.cpu()).max())
    return value * (1 + 10 * float(max(matrices.shape[-2:])) * EPS)


def longest_column(matrix: Matrix) -> float:
    """The largest l2 norm of a column, rounded up."""
    matrix, power = _scaled(matrix)
    longest = float(np.linalg.norm(matrix, axis=0).max())
    return _times_two_to(power, longest * (1 + (len(matrix) + 8) * EPS))


def frobenius(matrix: Matrix) -> float:
    """The root of the sum of all squares, not rounded up."""
    matrix, power = _scaled(matrix)
    return _times_two_to(power, float(np.linalg.norm(matrix)))


def _scaled(matrix: Matrix) -> tuple[Matrix, int]:
    """A matrix as one of numbers near 1 at most, times a power of two.

    The squares of numbers below 1e-162 would be 0, those above 1e154 infinite.
    """
    power = math.frexp(float(np.abs(matrix).max()))[1]
    return np.ldexp(matrix, -power), power


def _times_two_to(power: int, number: float) -> float:
    try:
        return math.ldexp(number, power)
    except OverflowError:
        return math.inf


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
