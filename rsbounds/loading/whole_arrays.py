"""Arrays that are needed at once: anchors, and data sets that fit in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import whole
from rsbounds.loading.archives import CORRUPT
from rsbounds.loading.callables import reason, shown


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
    except CORRUPT as error:
        wanted = " and ".join(names)
        detail = str(error) if type(error) is ValueError else reason(error)
        raise ValueError(
            f"{path} must be an npz file with {wanted}; got {shown(detail)}"
        ) from error


def _inputs(path: Path, stored: NDArray[Any]) -> NDArray[np.float32]:
    if stored.dtype.kind != "f" or stored.ndim < 2 or not stored.size:
        raise ValueError(
            f"{path}: x must be floating point of shape (count, ...); "
            f"got {stored.dtype} of shape {stored.shape}"
        )
    with np.errstate(over="ignore"):
        x = stored.astype(np.float32)
    good = np.isfinite(x.reshape(len(x), -1)).all(axis=1)
    if not good.all():
        raise ValueError(
            f"{path}: x must be finite; {int((~good).sum())} of {len(x)} inputs are not, "
            f"the first at index {int(np.argmin(good))}"
        )
    return x
