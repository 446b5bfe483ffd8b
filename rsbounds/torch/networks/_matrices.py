"""Norms of matrices with an error bound, on one thread, and the weights they are made of."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn.utils.parametrize import is_parametrized

from rsbounds._numerics.rounding import EPS
from rsbounds.torch.networks._trust import name

Matrix = NDArray[Any]


def weight(module: nn.Module) -> NDArray[np.float64]:
    """The weight of a layer in float64, if it is one: real, finite and the same at every look."""
    value = module.weight
    assert isinstance(value, torch.Tensor)
    if value.is_complex():
        raise ValueError(f"the weights of {name(module)} must be real; got {value.dtype}")
    if is_parametrized(module) and not torch.equal(value, module.weight):  # type: ignore[arg-type]
        raise ValueError(f"the weights of {name(module)} change from one look to the next")
    array: NDArray[np.float64] = value.detach().cpu().double().numpy()
    if not np.isfinite(array).all():
        raise ValueError(f"the weights of {name(module)} must be finite")
    return array


def spectral_norm(matrices: Matrix | torch.Tensor) -> float:
    """The largest singular value of a stack of matrices, rounded up.

    LAPACK's backward error is below 10 max(m, n) eps. A BLAS with more threads than one spends
    up to a hundred times the time on matrices of this size.
    """
    with one_thread():
        value = float(torch.linalg.svdvals(torch.as_tensor(matrices)).max())
    return value * (1 + 10 * float(max(matrices.shape[-2:])) * EPS)


@contextmanager
def one_thread() -> Iterator[None]:
    """Torch on one thread, and back."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
