"""Where tensors are: counts that stay there, a model's home and precision, memory that ran out."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rsbounds._numerics.checks import choice

CELLS = {"cpu": 2**18, "cuda": 2**25}
_NO_MEMORY = ("out of memory", "can't allocate memory", "ALLOC_FAILED", "not enough memory")


class Counts:
    """Counts that stay on their device until NumPy asks for them."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self._tensor = tensor

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self._tensor.cpu().numpy().astype(dtype or np.int64)


def autocast_type(name: str | None) -> torch.dtype | None:
    """The type of a mixed precision, by its name."""
    known = {"bfloat16": torch.bfloat16, "float16": torch.float16}
    return known[choice("autocast", name, tuple(known))] if name is not None else None


def home(model: torch.nn.Module) -> torch.device:
    """Where the first parameter or buffer of a model is."""
    tensors = (*model.parameters(), *model.buffers())
    return tensors[0].device if tensors else torch.device("cpu")


def memory_failure(error: RuntimeError) -> str:
    """The first line of an error that says that memory ran out; any other is raised again.

    The allocators, cuDNN and cuBLAS each have words of their own.
    """
    text = str(error)
    if isinstance(error, torch.OutOfMemoryError) or any(words in text for words in _NO_MEMORY):
        return text.partition("\n")[0]
    raise error
