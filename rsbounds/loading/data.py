"""Data sets: ``open_data`` reads one input at a time, ``prefetched`` ahead."""

import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import getitem
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics import threads
from rsbounds._numerics.checks import count, on_host
from rsbounds._numerics.domains import POSITIVE
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.frames import category_columns, require_numbers_kept
from rsbounds._numerics.text import shown
from rsbounds.loading import matrices, ragged
from rsbounds.loading._forms import unknown_data
from rsbounds.loading._sheet import TABLES
from rsbounds.loading.archives import ArrayData, member_names
from rsbounds.loading.callables import call, guarded
from rsbounds.loading.images import FolderData, Preprocess
from rsbounds.loading.rows import (
    INPUTS,
    LABELS,
    CorruptInput,
    Data,
    Item,
    class_number,
    class_numbers,
    column_of,
    is_sparse,
    require_label_each,
    unmatched,
)
from rsbounds.loading.texts import read_texts


def open_data(
    data: Any,
    *,
    preprocess: Preprocess | None = None,
    labels: Sequence[Any] | None = None,
    scale: float | None = None,
    whole: bool = False,
    download: bool = False,
    tokenizer: Any = None,
    target: str | None = None,
) -> Data:
    """Open a data set by its place, or of arrays; inputs are read when they are used.

    Parameters
    ----------
    data : str or path, tuple of arrays (x, y), sequence of pairs (x, y), or Data
        Arrays and pairs are taken as they are, a Data is returned. Places are
        ``FILE.npz`` with x (count, ...) and y (count,), or for sequences of different
        lengths with their values one after the other, offsets (count + 1,) and y;
        ``FILE.npy`` with the labels beside it in ``FILE.labels.npy``; ``FILE.npz`` of
        ``scipy.sparse.save_npz``, whose rows are the inputs if each has a label beside
        it, and else a graph, the only input; ``imagefolder:DIR`` with a folder of
        images for each class; ``hf:ID_OR_DIRECTORY[:SPLIT]``; ``MODULE:CALLABLE`` or
        ``path/to/file.py:CALLABLE``, where CALLABLE() returns a torch ``Dataset``,
        any sequence of pairs (x, y), or arrays (x, y).
    preprocess : Preprocess, optional
        What images go through; arrays are taken as they are.
    labels : sequence, optional
        The model's classes in their order: names, by which folders and named labels are
        numbered, or other numbers than 0, 1, 2, ..., which labels are then given in.
    scale : float, optional
        What stored numbers are divided by, > 0. Images: 255 by default. Whole-numbered
        arrays need one, unless they are taken as they are.
    whole : bool
        Whether whole numbers without a scale are taken as they are, int64: tokens,
        categories, bits. For noise whose inputs they may be (``noise.whole``).
    download : bool
        Whether a data set that is not on disk may be fetched.
    tokenizer : str, path or tokenizer of transformers, optional
        The data are texts, a file or frame of two columns or (texts, labels), and
        become the numbers of their tokens, without those that a model puts around them.
        A directory, a name in the cache, or that of a :class:`Loaded`. The attribute
        ``tokenizer`` of the data has the number of [MASK], ``mask``, which
        ``schemes.mask(..., hidden=)`` takes, and ``decode``, which
        :func:`rsbounds.sampling.on_strings` takes. Words that it doesn't know are told
        in a RuntimeWarning.
    target : str, optional
        Of a file of texts the column of the classes.

    Raises
    ------
    ValueError
        If the file holds something else, no image is there, y is no label for each x,
        or labels aren't whole numbers >= 0.
    ImportError, OSError
        As :func:`load_model`.

    Examples
    --------
    >>> import pathlib, tempfile, numpy as np
    >>> from rsbounds.loading import open_data
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "data.npz")
    ...     np.savez(file, x=np.full((3, 2), 255, np.uint8), y=[0, 1, 1])
    ...     with open_data(file, scale=255) as data:
    ...         len(data), data.label(2), data.input(2).tolist()
    (3, 1, [1.0, 1.0])
    >>> data = open_data((np.full((3, 2), 51, np.uint8), [0, 1, 1]), scale=255)
    >>> len(data), data.label(2), data.input(2).tolist()
    (3, 1, [0.20000000298023224, 0.20000000298023224])
    """
    if scale is not None:
        scale = POSITIVE.one("scale", scale)
    if preprocess is not None and not isinstance(preprocess, Preprocess):
        raise ArgumentError(
            "preprocess", f"must be a Preprocess; got {type(preprocess).__name__}"
        )
    if isinstance(data, Data):
        return data
    if tokenizer is not None:
        return read_texts(data, tokenizer, target, classes=labels)
    if not isinstance(data, str | os.PathLike):
        sequence = SequenceData(
            _pairs(data), "data", preprocess, scale, labels, whole=whole
        )
        inputs = data[0] if isinstance(data, tuple) and data else data
        if hasattr(inputs, "columns"):  # a frame says which of its numbers are codes
            sequence.categories = category_columns(inputs)
        return sequence
    text = os.fspath(data)
    if text.startswith("hf:"):
        from rsbounds.loading._hf import HfData

        return HfData(
            text[3:], preprocess, labels, scale, whole=whole, download=download
        )
    return _of_place(text, preprocess, labels, scale, whole=whole)


def _of_place(
    text: str,
    preprocess: Preprocess | None,
    labels: Sequence[Any] | None,
    scale: float | None,
    *,
    whole: bool,
) -> Data:
    """The data of a file or folder, or of code of the user's own."""
    kind, colon, place = text.partition(":")
    if colon and kind == "imagefolder":
        return FolderData(Path(place), preprocess, labels, scale)
    if text.endswith(".npz"):
        return _archive(Path(text), scale, labels, whole=whole)
    if text.endswith(".npy"):
        return ArrayData(Path(text), scale, labels, whole=whole)
    if text.endswith(TABLES):
        raise ArgumentError(
            "data",
            f"must be read by read_table, which is told the column of the classes; got "
            f"{shown(text)!r}",
        )
    if Path(text).is_dir():
        raise ArgumentError(
            "data",
            f"{shown(text)} is a directory: say imagefolder:{shown(text)} or hf:...",
        )
    if ":" not in text:
        raise unknown_data(text)
    pairs = _pairs(call("data", text))
    return SequenceData(pairs, shown(text), preprocess, scale, labels, whole=whole)


def _archive(
    path: Path, scale: float | None, labels: Sequence[Any] | None, *, whole: bool
) -> Data:
    """The data of an npz file: by the names of its arrays."""
    names = member_names(path)
    if "x" not in names and names >= matrices.MEMBERS:
        if scale is not None:
            raise ArgumentError("scale", "is for arrays; sparse matrices hold 0 and 1")
        return matrices.MatrixData(path, labels)
    if "x" not in names and names >= ragged.MEMBERS:
        return ragged.RaggedData(path, scale, labels, whole=whole)
    return ArrayData(path, scale, labels, whole=whole)


def _pairs(data: Any) -> Any:
    """The pairs of arrays (x, y); those of a sequence are taken as they are."""
    if isinstance(data, tuple) and len(data) == 2 and is_array(data[1]):
        x, y = by_position(data[0]), by_position(data[1])
        if is_sparse(x):
            raise ValueError(
                "data: a sparse matrix is one input, a graph; give pairs [(x, y)], or "
                "the path of a file whose rows are the inputs"
            )
        require_label_each("data", np.shape(y), len(x))
        return _Pairs(x, y)
    return by_position(data)


def by_position(table: Any) -> Any:
    """The array of a frame or series; anything else as it is.

    ``frame[0]`` is a column and ``series[0]`` the row that is named 0: neither is the
    first input.
    """
    if isinstance(table, np.ndarray) or not hasattr(table, "to_numpy"):
        return table
    array = table.to_numpy()
    if hasattr(table, "columns"):
        _require_types_of_numpy(table, array)
    require_numbers_kept("data", table, array)
    return array


def _require_types_of_numpy(frame: Any, array: NDArray[Any]) -> None:
    """ArgumentError for a frame of numbers that has become an array of objects."""
    kinds = {getattr(dtype, "kind", "O") for dtype in frame.dtypes}
    if array.dtype == object and kinds <= set("iuf"):
        types = ", ".join(sorted({str(dtype) for dtype in frame.dtypes}))
        raise ArgumentError(
            "data",
            f"must have columns of NumPy's types; got {types}: "
            "data.astype('float64'), once nothing is missing",
        )


def is_array(y: Any) -> bool:
    """Whether y is one of labels, rather than the second of two pairs."""
    return hasattr(y, "shape") or (
        isinstance(y, list | tuple) and not any(map(np.ndim, y))
    )


class _Pairs:
    def __init__(self, x: Any, y: Any) -> None:
        self.x = x
        self.y = y

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, i: int) -> tuple[Any, Any]:
        return self.x[i], self.y[i]


class SequenceData(Data):
    """Pairs (x, y) of a sequence; x is an array, a tensor or a Pillow image."""

    def __init__(
        self,
        pairs: Any,
        name: str,
        preprocess: Preprocess | None,
        scale: float | None,
        classes: Sequence[Any] | None = None,
        *,
        whole: bool = False,
    ) -> None:
        sequence = hasattr(pairs, "__len__") and hasattr(pairs, "__getitem__")
        sequence = sequence and not isinstance(pairs, type)
        sequence = sequence and getattr(pairs, "ndim", 1) > 0
        if not sequence or isinstance(pairs, dict) or not len(pairs):
            got = "arrays" if isinstance(pairs, _Pairs) else type(pairs).__name__
            if hasattr(pairs, "dataset"):
                got += ", which loads batches: give its dataset"
            elif hasattr(pairs, "__iter__") and not sequence:
                got += ", which has no length: give list(data), or part of it"
            elif sequence and not len(pairs):
                got += " without any"
            raise ValueError(
                f"{name} must be a sequence of pairs (x, y) or two arrays (x, y), at "
                f"least one; got {got}"
            )
        self._pairs = pairs
        self._length = len(pairs)
        self._preprocess = preprocess
        self._classes = classes
        self._names = _class_names(pairs, classes)
        description = preprocess and preprocess.description
        super().__init__(
            name,
            scale,
            None,
            whole=whole,
            kind="sequence",
            preprocessing=description,
        )

    def __len__(self) -> int:
        return self._length

    def _divisor(self) -> float | None:
        if self._scale is not None:
            return self._scale
        try:
            return 255.0 if _is_picture(self._pair(0)[0]) else None
        except ValueError:  # an error only if it is to be certified
            return None

    def _all_labels(self) -> NDArray[np.int64] | None:
        if not isinstance(self._pairs, _Pairs):
            return None
        try:
            return class_numbers(self.name, on_host("y", self._pairs.y), self._classes)
        except ValueError:  # an error only where one is to be certified
            return None

    def _pair(self, i: int) -> Any:
        what = f"{self.name}: input {i}"
        pair: Any = guarded(what, getitem, self._pairs, i)
        if isinstance(pair, Mapping):
            names = list(pair)
            pair = tuple(pair[column_of(what, names, of)] for of in (INPUTS, LABELS))
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            length = f" of length {len(pair)}" if hasattr(pair, "__len__") else ""
            hint = ""
            if isinstance(self._pairs, np.ndarray):
                hint = "; with an array of inputs give one of labels: (x, y)"
            raise ValueError(
                f"{what} must be a pair (x, y); got {type(pair).__name__}{length}{hint}"
            )
        return pair

    def _read(self, i: int) -> tuple[Any, int]:
        what = f"{self.name}: input {i}"
        x, y = self._pair(i)
        if self._names is not None:  # its number is the data's, not the model's
            place = class_number(f"{what}: label", y, None)
            y = guarded(what, getitem, self._names, place)
        label = class_number(f"{what}: label", y, self._classes)
        if type(x) is np.ndarray or is_sparse(x):
            return x, label
        if not _is_picture(x):
            numbers = on_host(what, x)
            return guarded(what, lambda: np.asarray(numbers)), label
        try:
            pixels = (self._preprocess or Preprocess())(x)
        except Exception as error:
            raise CorruptInput(f"{what}: {error}") from error
        scaled = pixels / np.float32(255) if self._scale is None else pixels
        return scaled, label


def _class_names(pairs: Any, labels: Sequence[Any] | None) -> list[str] | None:
    """What a data set's numbers of classes stand for, among a model's names.

    None where it doesn't say, as torchvision's do in ``classes``, or by other names.
    """
    names = getattr(pairs, "classes", None)
    if not labels or not isinstance(names, list | tuple):
        return None
    texts = [name for name in names if isinstance(name, str)]
    are_known = len(texts) == len(names) and set(texts) <= set(labels)
    return texts if are_known else None


def _is_picture(x: Any) -> bool:
    """Whether it is an image of Pillow's."""
    images = sys.modules.get("PIL.Image")  # without it there is none
    return images is not None and isinstance(x, images.Image)


def check_labels(
    data: Data, classes: int, indices: Iterable[int] | None = None
) -> None:
    """Raise ValueError if a label known in advance is not a class of the model."""
    labels = data.labels
    if labels is None:
        return
    if data.ordered_classes not in (0, classes):
        numbered = data.ordered_classes
        raise ValueError(unmatched(data.name, numbered, classes, data.step))
    if indices is not None:
        labels = labels[np.fromiter(indices, dtype=np.int64)]
    wrong = labels >= classes
    if wrong.any():
        raise ValueError(
            f"{data.name}: labels must be below the model's number of classes, "
            f"{classes}; {int(wrong.sum())} of {len(labels)} are not, the first "
            f"{labels[wrong][0]}{counted_from_one(labels, classes)}"
        )
    if hint := counted_from_one(data.labels, classes):
        warnings.warn(
            f"{data.name}: a label is the model's number of classes, {classes}{hint}",
            RuntimeWarning,
            stacklevel=2,
        )


def counted_from_one(labels: Any, classes: int) -> str:
    """What to say of labels that seem to begin at 1; "" of others."""
    numbers = np.asarray(labels)
    if numbers.size and numbers.max() == classes and numbers.min() >= 1:
        return ": labels are counted from 0"
    return ""


def prefetched(
    data: Data, indices: Iterable[int], *, ahead: int = 16, skip_corrupt: bool = False
) -> Iterator[Item]:
    """The items at ``indices`` in order, read by a thread up to ``ahead`` ahead.

    Parameters
    ----------
    data : Data
        Which holds the items.
    indices : iterable of int
        Of the inputs, in any order.
    ahead : int
        How many items may wait at most.
    skip_corrupt : bool
        Whether an input that can't be decoded is an item with ``x = None`` and
        ``problem``.

    Yields
    ------
    Item
        One for each index.

    Raises
    ------
    CorruptInput
        Where an input can't be decoded, without ``skip_corrupt``.
    """

    def read(i: int) -> Item:
        try:
            return data.item(i)
        except CorruptInput as error:
            if not skip_corrupt:
                raise
            return Item(i, None, data.label(i), None, str(error))

    return threads.ahead(read, indices, count("ahead", ahead, 1))
