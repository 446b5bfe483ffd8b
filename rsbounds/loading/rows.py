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

from rsbounds._numerics.checks import as_integers, count, flag, on_host
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.text import shown

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
        float32 or float64, as it was stored; int64 for whole numbers that are taken as
        they are; in CSR form where a sparse matrix was stored. None where it can't be
        decoded.
    digest : str or None
        SHA-256 of ``x``, its shape and its numbers whatever their type, and of the
        label: the same wherever the input is stored.
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
    reserved : mapping
        The numbers that no input has and noise must not show by chance, such as that of
        [SEP]: number and name.
    ordered_classes : int
        How many classes there are where they are numbered in the order of their names
        alone, which must then be all of the model's; else 0.
    step : str
        What to do where they aren't.

    With ``whole`` inputs of whole numbers need no scale: they stay what they are.
    """

    step = ""

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
        self.reserved: Mapping[int, str] = {}
        self.ordered_classes = 0
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
            "scale": self._divisor(),
            **self._facts,
            "x": self._contents(),
        }
        if (shape := self._shape()) is not None:
            facts["shape"] = shape
        if (labels := self._all_labels()) is not None:
            stored = labels.astype("<i8").tobytes()
            facts["labels"] = hashlib.sha256(stored).hexdigest()
        return facts

    @abstractmethod
    def __len__(self) -> int:
        """Number of inputs."""

    @abstractmethod
    def _read(self, i: int) -> tuple[Any, int]:
        """Return the numbers of input i before scaling, and its label."""

    def _divisor(self) -> float | None:
        """What stored numbers are divided by; None where nothing divides them."""
        return self._scale

    def _all_labels(self) -> NDArray[np.int64] | None:
        """All labels, where no input is read for them."""
        return self.labels

    def _shape(self) -> list[int] | None:
        """Shape of the first and the last input; None unless they have one."""
        try:
            first, last = (self.item(i).x.shape for i in (0, len(self) - 1))
        except ValueError:  # an error only if it is to be certified
            return None
        return list(first) if first == last else None

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
        """Read input i: finite, divided by the scale; or whole numbers.

        In float32 or float64, as it is stored.

        Raises
        ------
        CorruptInput
            If it can't be decoded or isn't finite.
        """
        i = self._place(i)
        with self._lock:
            x, label = self._read(i)
        numbers = x if is_sparse(x) else self._numbers(i, x)
        digest = hashlib.sha256(content_of(numbers))
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
        x = self._scaled(i, x)
        with np.errstate(over="ignore"):  # which many models run in
            good = np.isfinite(x.astype(np.float32, copy=False))
        if not good.all():
            raise CorruptInput(
                f"{self.name}: input {i} must be finite; {int((~good).sum())} of "
                f"{x.size} numbers are not"
            )
        return x

    def _scaled(self, i: int, x: NDArray[Any]) -> NDArray[Any]:
        """Numbers in the type in which noise is added, divided by the scale.

        Types of two bytes and float32 become float32, which holds them; all others
        float64, and what that does not hold is refused.
        """
        dtype: np.dtype[Any] = np.dtype(np.float64)
        if x.dtype.itemsize <= 2 or x.dtype == np.float32:
            dtype = np.dtype(np.float32)
        converted = x.astype(dtype)
        may_round = x.dtype.itemsize >= 8 and x.dtype != dtype
        if may_round and not _are_equal(x, converted):
            raise CorruptInput(
                f"{self.name}: input {i} must be numbers that float64 holds; got "
                f"{x.dtype} with more digits: round them first"
            )
        scale = self._scale
        if scale in (None, 1):
            return converted
        if dtype.type(scale) != scale:  # the quotient is rounded, the scale is not
            with np.errstate(over="ignore"):  # what is infinite then is refused
                return (converted.astype(np.float64) / scale).astype(dtype)
        with np.errstate(over="ignore"):
            converted /= dtype.type(scale)
        return converted


def _are_equal(x: NDArray[Any], narrow: NDArray[Any]) -> bool:
    """Whether each number is that of another array, a NaN where it is one."""
    wide = x.astype(np.longdouble)
    return bool(((wide == narrow) | (wide != wide)).all())


#: Names of columns of inputs and of labels, in data of Hugging Face and as items.
INPUTS = ("image", "img", "pixel_values", "x", "input_ids", "tokens")
LABELS = ("label", "labels", "fine_label", "y")


def column_of(name: str, columns: Sequence[Any], wanted: Sequence[str]) -> str:
    """The first of the wanted columns that is there; ValueError without one."""
    for column in wanted:
        if column in columns:
            return column
    raise ValueError(
        f"{name} must have a column {', '.join(wanted[:-1])} or {wanted[-1]}; got "
        f"{shown(', '.join(map(str, columns)))}"
    )


_NO_LABELS = (
    "values and maps do not use y: zeros will do, true maps go to Maps(scheme, "
    "truth=...)"
)


def require_label_each(name: str, shape: tuple[int, ...], inputs: int) -> None:
    """ValueError unless labels of this shape are one for each input."""
    if shape == (inputs,):
        return
    hint = ""
    if shape == (inputs, 1):
        hint = " (ravel? y.ravel() are labels)"
    elif len(shape) == 2:
        hint = f" (one-hot? y.argmax(axis=1) are labels; {_NO_LABELS})"
    elif len(shape) > 2:
        hint = f" ({_NO_LABELS})"
    raise ValueError(
        f"{name}: y must have one label for each of the {inputs} inputs; got shape "
        f"{shape}{hint}"
    )


def class_numbers(name: str, y: Any, labels: Sequence[Any] | None) -> NDArray[np.int64]:
    """Labels as class numbers: their places among ``labels``, where they occur there.

    ``labels`` that are text name the classes that numbers stand for, so numbers stay.
    """
    values = np.asarray(on_host(name, y))
    if values.dtype.kind == "b" and not any(isinstance(k, bool) for k in labels or ()):
        raise ArgumentError(
            name,
            "must be numbers of classes; got True and False: y.astype(int) makes 1 and "
            "0 of them",
        )
    if not labels or (values.dtype.kind != "U" and isinstance(labels[0], str)):
        if values.dtype.kind == "U" and values.size:
            raise ArgumentError(
                name,
                "must be numbers of classes, where the model names none; got "
                f"{str(values.ravel()[0])!r:.40}: number them, or return the model as "
                "rsbounds.loading.Loaded(model, labels=[...])",
            )
        is_real = values.dtype.kind == "f" and np.isfinite(values).all()
        if is_real and (values != np.floor(values)).any():
            raise ArgumentError(
                name,
                "must be a whole number, that of a class; got "
                f"{values.ravel()[0]}: for real outputs pass the inputs alone, in a "
                "file zeros as y",
            )
        return as_integers(name, values)
    places = {label: i for i, label in enumerate(labels)}
    for label in np.unique(values).tolist():
        if label not in places:
            known = ", ".join(map(repr, labels[:9]))
            raise ArgumentError(
                name, f"must be of the model's classes {known}; got {label!r:.40}"
            )
    numbers = [places[label] for label in values.ravel().tolist()]
    return np.array(numbers, np.int64).reshape(values.shape)


def unmatched(name: str, classes: int, wanted: int, step: str) -> str:
    """What to say of classes whose order alone can't tell which of the model's."""
    return f"{name} has {classes} classes and the model {wanted}: {step}"


def class_number(name: str, y: Any, labels: Sequence[Any] | None) -> int:
    """One label as the number of its class, >= 0."""
    if type(y) in (int, np.int64) and y >= 0 and not labels:
        return int(y)
    if shape := np.shape(y):
        raise ArgumentError(
            name,
            f"must be one number; got shape {shape}: of one-hot labels give y.argmax()",
        )
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


def content_of(x: Any) -> bytes:
    """What is hashed of an input: its shape and its numbers, whatever their type."""
    if not is_sparse(x):
        return f"{x.shape} ".encode() + _exactly(x)
    matrix = x.tocsr().sorted_indices()
    places = matrix.indptr, matrix.indices
    arrays = b"".join(part.astype("<i8").tobytes() for part in places)
    return f"csr {matrix.shape} ".encode() + arrays + _exactly(matrix.data)


def _exactly(x: NDArray[Any]) -> bytes:
    """Numbers as float64, which holds those of every type but large whole ones."""
    if x.dtype.kind in "iu" and (x != x.astype(np.float64)).any():
        return b"whole " + x.astype("<i8").tobytes()
    return x.astype("<f8").tobytes()
