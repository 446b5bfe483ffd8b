"""What a command is given: a model, data, a share of the inputs."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import os
import re
import sys
import traceback
import zipfile
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import whole


def build(option: str, spec: str) -> Any:
    """What the CALLABLE of ``MODULE:CALLABLE`` returns; it must be callable itself."""
    name, _, attribute = spec.partition(":")
    if not name or not attribute:
        raise ValueError(f"{option} must be MODULE:CALLABLE; got {spec!r}")
    importlib.import_module("rsbounds_ext")  # the installed one, even in a clone of this project
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    built = guarded(
        f"{option} {spec}", lambda: attrgetter(attribute)(importlib.import_module(name))()
    )
    if not callable(built):
        raise ValueError(
            f"{option} {spec} must return a torch module or a callable on a batch; "
            f"got {type(built).__name__}"
        )
    return built


def guarded(what: str, call: Callable[[], Any]) -> Any:
    """The value of ``call()``; an exception of the user's code becomes a ValueError."""
    try:
        return call()
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        reason = str(error).partition("\n")[0]
        raise ValueError(
            f"{what} failed: {type(error).__name__}: {reason} ({where.filename}:{where.lineno})"
        ) from error


def is_torch(model: Any) -> bool:
    """Whether ``model`` is a torch module, without importing torch to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def fingerprint(spec: str, model: Any) -> dict[str, str | None]:
    """The spec of a model and hashes of its source file and of its parameters."""
    source = inspect.getsourcefile(importlib.import_module(spec.partition(":")[0]))
    parameters = hashlib.sha256()
    if is_torch(model):
        import torch

        for key, value in sorted(model.state_dict().items()):
            array = value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
            parameters.update(f"{key} {value.dtype} {tuple(value.shape)}".encode())
            parameters.update(array.tobytes())
    return {
        "spec": spec,
        "source": file_hash(source) if source else None,
        "parameters": parameters.hexdigest() if is_torch(model) else None,
    }


def file_hash(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def inputs(path: Path) -> NDArray[np.float32]:
    """The array ``x`` of an npz file: finite floating-point inputs, float32."""
    return _inputs(path, _arrays(path, "x")["x"])


def labelled_inputs(path: Path) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The arrays ``x`` and ``y`` of an npz file."""
    arrays = _arrays(path, "x", "y")
    x = _inputs(path, arrays["x"])
    y = whole(f"{path}: y", arrays["y"])
    if y.shape != x.shape[:1]:
        raise ValueError(
            f"{path}: y must have one label for each of the {len(x)} inputs; got shape {y.shape}"
        )
    return x, y


def share(text: str | None) -> tuple[int, int, str]:
    """This process's share (i, N) of the inputs and where it comes from.

    From ``i/N`` (i counts from 0), else torchrun's environment, else SLURM's, else 0/1.
    """
    if text is not None:
        return *parts("--shard", text), "--shard"
    for origin, rank, size in (
        ("torchrun", "RANK", "WORLD_SIZE"),
        ("SLURM", "SLURM_PROCID", "SLURM_NTASKS"),
    ):
        if rank in os.environ and size in os.environ:
            text = f"{os.environ[rank]}/{os.environ[size]}"
            return *parts(f"{rank}/{size} in the environment", text), origin
    return 0, 1, "default"


def parts(name: str, text: Any) -> tuple[int, int]:
    """The i and N of ``i/N``, or ValueError."""
    found = re.fullmatch(r"([0-9]{1,18})/([0-9]{1,18})", str(text))
    if not found or not int(found[1]) < int(found[2]):
        raise ValueError(f"{name} must be i/N with 0 <= i < N; got {text!r}")
    return int(found[1]), int(found[2])


def _arrays(path: Path, *names: str) -> dict[str, NDArray[Any]]:
    try:
        archive = np.load(path, allow_pickle=False)
        if isinstance(archive, np.ndarray):
            raise ValueError("a single array")
        with archive:
            missing = [name for name in names if name not in archive]
            if missing:
                raise ValueError(f"only the arrays {', '.join(archive.files) or '(none)'}")
            return {name: archive[name] for name in names}
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        wanted = " and ".join(names)
        raise ValueError(f"{path} must be an npz file with {wanted}; got {error}") from error


def _inputs(path: Path, x: NDArray[Any]) -> NDArray[np.float32]:
    if x.dtype.kind != "f" or x.ndim < 2 or not x.size:
        raise ValueError(
            f"{path}: x must be floating point of shape (count, ...); "
            f"got {x.dtype} of shape {x.shape}"
        )
    with np.errstate(over="ignore"):
        x = x.astype(np.float32)
    good = np.isfinite(x.reshape(len(x), -1)).all(axis=1)
    if not good.all():
        raise ValueError(
            f"{path}: x must be finite; {int((~good).sum())} of {len(x)} inputs are not, "
            f"the first at index {int(np.argmin(good))}"
        )
    return x
