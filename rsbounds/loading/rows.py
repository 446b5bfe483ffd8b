"""The port between certification and a data set: one input at a time, each with its hash."""

from __future__ import annotations

import hashlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


class CorruptInput(ValueError):
    """One input can't be decoded; others may."""


@dataclass(frozen=True)
class Item:
    """One input as it was read.

    Attributes
    ----------
    index : int
        Which one.
    x : float32 array or None
        The input; None if it can't be decoded.
    label : int
        Its label, >= 0.
    digest : str or None
        SHA-256 of what was stored (an array's type, shape and bytes, or an image file's bytes)
        and of the label.
    problem : str or None
        Why x is None.
    """

    index: int
    x: NDArray[np.float32] | None
    label: int
    digest: str | None
    problem: str | None = None


class Data(ABC):
    """A data set whose inputs are read when they are asked for.

    Attributes
    ----------
    name : str
        For messages.
    identity : mapping
        For the manifest: kind, number of rows, how they are read, a hash of the labels where
        those are known at once. The inputs' own hashes are those of the items.
    labels : int64 array or None
        All labels, where they can be known without reading the inputs.
    """

    name: str
    identity: Mapping[str, Any]
    labels: NDArray[np.int64] | None = None

    def __init__(self, scale: float | None) -> None:
        self._scale = scale
        self._lock = threading.Lock()

    @abstractmethod
    def __len__(self) -> int:
        """Number of inputs."""

    @abstractmethod
    def _read(self, i: int) -> tuple[bytes, NDArray[Any], int]:
        """What is stored of input i (hashed), its numbers before scaling, its label."""

    def item(self, i: int) -> Item:
        """Read input i: float32, divided by the scale, finite.

        Raises
        ------
        CorruptInput
            If it can't be decoded or isn't finite.
        """
        if not 0 <= i < len(self):
            raise IndexError(f"{self.name}: index must be in [0, {len(self)}); got {i}")
        with self._lock:
            stored, x, label = self._read(i)
        digest = hashlib.sha256(stored)
        digest.update(f" label {label}".encode())
        return Item(i, self._numbers(i, x), label, digest.hexdigest())

    def input(self, i: int) -> NDArray[np.float32]:
        """The numbers of input i."""
        x = self.item(i).x
        assert x is not None
        return x

    def label(self, i: int) -> int:
        """The label of input i."""
        return int(self.labels[i]) if self.labels is not None else self.item(i).label

    def close(self) -> None:  # noqa: B027 (most have nothing to close)
        """Let go of open files."""

    def __enter__(self) -> Data:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _numbers(self, i: int, x: NDArray[Any]) -> NDArray[np.float32]:
        if x.dtype.kind not in "fiu" or not x.size:
            raise ValueError(
                f"{self.name}: input {i} must be numbers; got {x.dtype} of shape {x.shape}"
            )
        require_scale(self.name, x.dtype, self._scale)
        with np.errstate(over="ignore"):
            x = x.astype(np.float32)
        if self._scale not in (None, 1):
            x /= np.float32(self._scale)
        if not (good := np.isfinite(x)).all():
            raise CorruptInput(
                f"{self.name}: input {i} must be finite; {int((~good).sum())} of {x.size} "
                "numbers are not"
            )
        return x


def require_scale(name: str, dtype: np.dtype[Any], scale: float | None) -> None:
    """ValueError for whole numbers without a scale: 0 ... 255 under noise of 0.25 is a trap."""
    if scale is None and dtype.kind in "iu":
        raise ValueError(
            f"{name}: x must be floating point, or come with a scale to divide by (255 for "
            f"pixels in 0 ... 255, 1 to take the numbers as they are; in Python "
            f"rsbounds.loading.as_data(data, scale=255)); got {dtype}"
        )


def labels_hash(labels: NDArray[np.int64]) -> str:
    """SHA-256 of the labels as little-endian 64-bit numbers."""
    return hashlib.sha256(labels.astype("<i8").tobytes()).hexdigest()


def stored_array(x: NDArray[Any]) -> bytes:
    """What is hashed of an array: its type, shape and numbers, little-endian."""
    x = np.asarray(x, order="C")
    x = x.astype(x.dtype.newbyteorder("<"), copy=False)
    return f"{x.dtype.str} {x.shape} ".encode() + x.tobytes()
