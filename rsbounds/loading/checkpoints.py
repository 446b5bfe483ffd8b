"""Weights from a file that runs nothing: safetensors, or torch's ``weights_only``."""

import os
from functools import partial
from pickle import UnpicklingError
from typing import Any

from rsbounds._numerics.files import opened
from rsbounds._numerics.text import shown
from rsbounds.loading.callables import guarded, reason
from rsbounds.loading.packages import need

_NESTED = ("state_dict", "model_state_dict", "model")


def read_weights(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a checkpoint's tensors by name, on the CPU, without running its code.

    ValueError if the file would run code when read.

    Parameters
    ----------
    path : path
        A safetensors file (by its ending), or one of ``torch.save`` that holds tensors
        and plain containers alone. The weights may lie under "state_dict",
        "model_state_dict" or "model", and their names may begin with "module."
        (DataParallel).

    Examples
    --------
    >>> import tempfile, pathlib, torch
    >>> from rsbounds.loading.checkpoints import read_weights
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "linear.pt")
    ...     torch.save({"state_dict": {"module.weight": torch.zeros(2)}}, file)
    ...     list(read_weights(file))
    ['weight']
    """
    opened(path).close()  # missing, a directory, unreadable, a device: in plain words
    torch = need("torch", "a checkpoint")
    name = shown(os.fspath(path))
    if name.endswith(".safetensors"):
        kind = "a safetensors file"
        load = need("safetensors.torch", name).load_file
    else:
        kind = (
            "a file of torch.save with tensors alone, so that reading it runs nothing"
        )
        load = partial(torch.load, map_location="cpu", weights_only=True)
    try:
        weights: Any = load(path)
    except UnpicklingError as error:  # torch's text says how to run the file's code
        raise ValueError(
            f"{name} must be {kind}: torch.save(model.state_dict(), FILE) writes one"
        ) from error
    except Exception as error:
        raise ValueError(f"{name} must be {kind}: {reason(error)}") from error
    for key in _NESTED:
        if isinstance(weights, dict) and isinstance(weights.get(key), dict):
            weights = weights[key]
    if not isinstance(weights, dict) or not all(
        isinstance(k, str) and isinstance(v, torch.Tensor) for k, v in weights.items()
    ):
        raise ValueError(
            f"{name} must map names to tensors; got {type(weights).__name__}"
        )
    return {key.removeprefix("module."): value for key, value in weights.items()}


def load_weights(what: str, model: Any, path: str | os.PathLike[str]) -> None:
    """Put a checkpoint's tensors into ``model``; every name must match."""
    weights = read_weights(path)
    guarded(
        f"{what}: checkpoint {shown(os.fspath(path))}",
        lambda: model.load_state_dict(weights),
    )
