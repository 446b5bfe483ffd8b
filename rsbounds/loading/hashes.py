"""Which model was it: hashes of files and of parameters."""

from __future__ import annotations

import hashlib
import os
import sys
from typing import Any


def is_torch(model: Any) -> bool:
    """Whether ``model`` is a torch module, without importing torch to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def file_hash(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def parameters_hash(model: Any) -> str | None:
    """SHA-256 of a torch module's parameters and buffers; None for anything else."""
    if not is_torch(model):
        return None
    import torch

    parameters = hashlib.sha256()
    for key, value in sorted(model.state_dict().items()):
        array = value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
        parameters.update(f"{key} {value.dtype} {tuple(value.shape)}".encode())
        parameters.update(array.tobytes())
    return parameters.hexdigest()
