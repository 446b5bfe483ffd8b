"""Which files and which model was it: hashes of files, of code and of parameters."""

import hashlib
import os
import sys
from typing import Any

import numpy as np

from rsbounds._numerics.files import opened as opened
from rsbounds.loading.held import held_arrays


def is_torch(model: Any) -> bool:
    """Whether ``model`` is a torch module, without importing torch to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def file_hash(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a file."""
    with opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def code_hash(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a Python file without its empty lines and comment lines.

    (Not of its syntax tree, which differs between versions of Python.)
    """
    with opened(path) as file:
        lines = [line.rstrip() for line in file.read().splitlines()]
    code = [line for line in lines if line and not line.lstrip().startswith(b"#")]
    return hashlib.sha256(b"\n".join(code)).hexdigest()


def parameters_hash(model: Any) -> str | None:
    """SHA-256 of the parameters and buffers, or arrays, of a model; None without.

    Arrays are found by :mod:`rsbounds.loading.held`.
    """
    if not is_torch(model):
        return _arrays_hash(model)
    import torch

    parameters = hashlib.sha256()
    for key, value in sorted(model.state_dict().items()):
        try:
            flat = value.detach().cpu().contiguous().reshape(-1)
            array = flat.view(torch.uint8).numpy()
        except (AttributeError, RuntimeError) as error:
            raise ValueError(
                f"the model's {key!r} must be a tensor that holds numbers; got "
                f"{type(value).__name__}: quantized modules and parameters on the "
                "device meta can't be certified"
            ) from error
        parameters.update(f"{key} {value.dtype} {tuple(value.shape)}".encode())
        parameters.update(array.tobytes())
    return parameters.hexdigest()


def _arrays_hash(model: Any) -> str | None:
    """SHA-256 of the arrays that a model holds, and of where they lie."""
    arrays = hashlib.sha256()
    none = arrays.hexdigest()
    for path, array in held_arrays(model):
        arrays.update(f"{path} {array.dtype} {array.shape}".encode())
        arrays.update(np.ascontiguousarray(array).tobytes())
    found = arrays.hexdigest()
    return None if found == none else found
