"""The port between certification and data: one input at a time, each with its hash."""

from __future__ import annotations

import hashlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import as_integers, count, flag
from rsbounds._numerics.errors import ArgumentError

LARGEST = 2**28  # numbers of one input, 1 GiB in float32: as many as Pillow thinks safe
NUMBERS_OF_TEXT = (
    ": of a text give the numbers of its tokens (rsbounds.sampling.on_strings turns "
    "them back for a model of strings)"
)
_SPREAD = 32  # inputs that stand for the data in its identity


class CorruptInput(ValueError):
    """One input can't be decoded; others may."""


@dataclass(frozen=True, eq=False)  # `x` may be anything
class Item:
    """One input as it was read.

    Attributes
    ----------
    index, label : int
        Its place in the data, from 0, and its class.
    x : ndarray, sparse matrix or None
        float32; int64 for whole numbers that are taken as they are; in CSR form where a
        sparse matrix was stored. None where it can't be decoded.
    digest : str or None
        SHA-256 of what was stored (an array's type, shape and bytes, or an image file's
        bytes) and of the label.
    problem : str, optional
        Why it can't be decoded.
    """

    index: int
    x: Any
    label: int
    digest: str | None
    problem: str | None = None


class Data(AbstractContextManager["Data"], ABC):
    """A data set whose inputs are read when they are asked for.

    Attributes
    ----------
    name : str
        For messages.
    labels : int64 array or None
        All labels, where they can be known without reading the inputs.
    categories : mapping
        The columns of a table that hold codes of categories: place and name.

    With ``whole`` inputs of whole numbers need no scale: they stay what they are.
    """

    def __init__(
        self,
        name: str,
        scale: float | None,
        labels: NDArray[np.int64] | None,
        *,
        whole: bool = False,
        **facts: Any,
    ) -> None:
        self.name = name
        self.labels = labels
        self.categories: Mapping[int, str] = {}
        self._whole = flag("whole", whole) and scale is None
        if self._whole:
            facts["whole"] = True
        self._scale = scale
        self._facts = facts
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        """All but the lock, which a copy has anew; open files can't be copied."""
        return {key: value for key, value in vars(self).items() if key != "_lock"}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock())

    @cached_property
    def identity(self) -> Mapping[str, Any]:
        """How inputs are read, with hashes of labels and contents, for the manifest."""
        facts = {
            "rows": len(self),
            "scale": self._scale,
            **self._facts,
            "x": self._contents(),
        }
        if (shape := self._shape()) is not None:
            facts["shape"] = shape
        if self.labels is not None:
            stored = self.labels.astype("<i8").tobytes()
            facts["labels"] = hashlib.sha256(stored).hexdigest()
        return facts

    @abstractmethod
    def __len__(self) -> int:
        """Number of inputs."""

    @abstractmethod
    def _read(self, i: int) -> tuple[bytes | None, Any, int]:
        """Return input i as stored (None: its numbers), as numbers, and its label.

        The numbers are those before scaling.
        """

    def _shape(self) -> list[int] | None:
        """Shape of the first and the last input; None where it can't be told."""
        return None

    def _contents(self) -> str:
        """Hash of inputs spread over the data.

        Reading all of them may take as long as certifying.
        """
        contents = hashlib.sha256()
        inputs = len(self)
        for i in range(0, inputs, -(-inputs // _SPREAD)):
            try:
                contents.update(str(self.item(i).digest).encode())
            except ValueError:  # an error only if it is to be certified
                contents.update(b"corrupt")
        return contents.hexdigest()

    def item(self, i: int) -> Item:
        """Read input i: float32, divided by the scale, finite; or whole numbers.

        Raises
        ------
        CorruptInput
            If it can't be decoded or isn't finite.
        """
        i = self._place(i)
        with self._lock:
            stored, x, label = self._read(i)
        sparse = is_sparse(x)
        numbers = x if sparse else self._numbers(i, x)
        if stored is None:
            stored = stored_matrix(x) if sparse else stored_array(x)
        digest = hashlib.sha256(stored)
        digest.update(f" label {label}".encode())
        return Item(i, numbers, label, digest.hexdigest())

    def input(self, i: int) -> Any:
        """The numbers of input i."""
        x = self.item(i).x
        assert x is not None
        return x

    def label(self, i: int) -> int:
        """The label of input i."""
        if self.labels is None:
            return self.item(i).label
        return int(self.labels[self._place(i)])

    def _place(self, i: int) -> int:
        """``i`` as one of the inputs; IndexError for a number beyond them."""
        if not isinstance(i, int | np.integer) or isinstance(i, bool):
            raise ArgumentError("i", f"must be a whole number; got {i!r:.60}")
        if not 0 <= i < len(self):
            raise IndexError(f"{self.name}: index must be in [0, {len(self)}); got {i}")
        return int(i)

    def close(self) -> None:
        """Let go of open files."""

    def __exit__(self, *_: object) -> None:
        self.close()

    def _numbers(self, i: int, x: NDArray[Any]) -> Any:
        if self._whole and x.dtype.kind in "biu" and 0 < x.size <= LARGEST:
            if x.dtype == np.uint64 and (x >= 2**63).any():
                raise CorruptInput(f"{self.name}: input {i} must be below 2^63")
            return x.astype(np.int64)
        if x.dtype.kind not in "fiu" or not x.size:
            hint = NUMBERS_OF_TEXT if x.dtype.kind == "U" else ""
            raise ValueError(
                f"{self.name}: input {i} must be numbers; got {x.dtype} of shape "
                f"{x.shape}{hint}"
            )
        if x.size > LARGEST:
            raise CorruptInput(
                f"{self.name}: input {i} has {x.size} numbers; at most {LARGEST} can "
                "be certified"
            )
        if x.dtype.kind != "f":
            require_scale(self.name, x.dtype, self._scale)
        with np.errstate(over="ignore"):
            x = x.astype(np.float32)
        if self._scale not in (None, 1):
            x /= np.float32(self._scale)
        good = np.isfinite(x)
        if not good.all():
            raise CorruptInput(
                f"{self.name}: input {i} must be finite; {int((~good).sum())} of "
                f"{x.size} numbers are not"
            )
        return x


def class_numbers(name: str, y: Any, labels: Sequence[Any] | None) -> NDArray[np.int64]:
    """Labels as class numbers: their places among ``labels``, where they occur there.

    ``labels`` that are text name the classes that numbers stand for, so numbers stay.
    """
    given = np.asarray(y)
    if not labels or (given.dtype.kind != "U" and isinstance(labels[0], str)):
        if given.dtype.kind == "U" and given.size:
            raise ArgumentError(
                name,
                "must be numbers of classes, where the model names none; got "
                f"{str(given.ravel()[0])!r:.40}: number them, or return the model as "
                "rsbounds.loading.Loaded(model, labels=[...])",
            )
        is_real = given.dtype.kind == "f" and np.isfinite(given).all()
        if is_real and (given != np.floor(given)).any():
            raise ArgumentError(
                name,
                "must be a whole number, that of a class; got "
                f"{given.ravel()[0]}: for real outputs pass the inputs alone, in a "
                "file zeros as y",
            )
        return as_integers(name, given)
    places = {label: i for i, label in enumerate(labels)}
    for label in np.unique(given).tolist():
        if label not in places:
            known = ", ".join(map(repr, labels[:9]))
            raise ArgumentError(
                name, f"must be of the model's classes {known}; got {label!r:.40}"
            )
    numbers = [places[label] for label in given.ravel().tolist()]
    return np.array(numbers, np.int64).reshape(given.shape)


def class_number(name: str, y: Any, labels: Sequence[Any] | None) -> int:
    """One label as the number of its class, >= 0."""
    if type(y) in (int, np.int64) and y >= 0 and not labels:
        return int(y)
    if labels or not isinstance(y, int | np.int64) or isinstance(y, bool):
        y = class_numbers(name, y, labels)[()]
    return count(name, y)


def require_scale(name: str, dtype: np.dtype[Any], scale: float | None) -> None:
    """Raise ValueError for whole numbers without a scale.

    Noise of 0.25 on 0 ... 255 would hardly show.
    """
    if scale is None and dtype.kind in "iu":
        raise ArgumentError(
            "scale",
            f"must be given for the whole numbers of {name} (255 for pixels in 0 ... "
            "255, 1 to take the numbers as they are; in Python "
            f"rsbounds.loading.open_data(data, scale=255)); got {dtype}",
        )


def is_sparse(x: Any) -> bool:
    """Whether it is a sparse matrix of SciPy's."""
    return hasattr(x, "tocsr")


def stored_matrix(x: Any) -> bytes:
    """What is hashed of a sparse matrix: its shape, and its arrays in CSR form."""
    matrix = x.tocsr().sorted_indices()
    places = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
    arrays = b"".join(stored_array(part) for part in (*places, matrix.data))
    return f"csr {matrix.shape} ".encode() + arrays


def stored_array(x: Any) -> bytes:
    """What is hashed of an array: its type, shape and numbers, little-endian."""
    array: NDArray[Any] = np.asarray(x, order="C")
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return f"{array.dtype.str} {array.shape} ".encode() + array.tobytes()
