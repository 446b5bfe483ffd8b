"""CIFAR-10 from the files of its two archives, for Python and binary.

Krizhevsky 2009, https://www.cs.toronto.edu/~kriz/cifar.html. Of the files for Python,
which are pickles, nothing but arrays, lists and words is accepted.
"""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

BATCHES = {
    "train": tuple(f"data_batch_{i}" for i in range(1, 6)),
    "test": ("test_batch",),
}
FOLDERS = ("", "cifar-10-batches-py", "cifar-10-batches-bin")
SHAPE = (3, 32, 32)
PIXELS = 3072
Labels = NDArray[np.int64]


def pictures(part: str, folder: str, most: int) -> tuple[NDArray[np.float32], Labels]:
    """Read the first pictures of "train" or "test": (n, 3, 32, 32) in [0, 1], and their
    classes, 0 to 9.

    ``folder`` has the batches, or the archive's own folder with them.
    """
    pixels: list[NDArray[np.uint8]] = []
    labels: list[Labels] = []
    for name in BATCHES[part]:
        if sum(map(len, labels)) >= most:
            break
        file = place(Path(folder), name)
        batch = from_binary(file) if file.suffix else from_pickle(file)
        pixels.append(batch[0])
        labels.append(batch[1])
    x = np.concatenate(pixels)[:most].reshape(-1, *SHAPE)
    return (x / np.float32(255)).astype(np.float32), np.concatenate(labels)[:most]


def place(folder: Path, name: str) -> Path:
    """Find a batch in the folder, or in that of the archive."""
    for below in FOLDERS:
        for ending in ("", ".bin"):
            file = folder / below / f"{name}{ending}"
            if file.is_file():
                return file
    raise FileNotFoundError(
        f"no {name} or {name}.bin of CIFAR-10 in {folder}; unpack there "
        "cifar-10-python.tar.gz or cifar-10-binary.tar.gz of "
        "https://www.cs.toronto.edu/~kriz/cifar.html"
    )


def from_binary(file: Path) -> tuple[NDArray[np.uint8], Labels]:
    """Read rows of a class and 3,072 pixels, a byte each."""
    raw = np.fromfile(file, np.uint8)
    if not len(raw) or len(raw) % (PIXELS + 1):
        raise no_batch(file, f"{len(raw)} bytes, not a multiple of 3073")
    rows = raw.reshape(-1, PIXELS + 1)
    return rows[:, 1:], as_classes(file, rows[:, 0])


class Unpickler(pickle.Unpickler):
    """Read arrays and plain values, and call nothing else that a file names."""

    def find_class(self, module: str, name: str) -> Any:
        restore = np.empty(0).__reduce__()[0]
        allowed = {
            ("numpy.core.multiarray", "_reconstruct"): restore,
            ("numpy._core.multiarray", "_reconstruct"): restore,
            ("numpy", "ndarray"): np.ndarray,
            ("numpy", "dtype"): np.dtype,
        }
        if (module, name) not in allowed:
            raise pickle.UnpicklingError(f"{module}.{name} is not part of a batch")
        return allowed[module, name]


def from_pickle(file: Path) -> tuple[NDArray[np.uint8], Labels]:
    """Read the arrays of a batch for Python."""
    with file.open("rb") as stream:
        try:
            batch = Unpickler(stream, encoding="bytes").load()
        except Exception as error:  # a broken file can raise anything
            raise no_batch(file, f"{type(error).__name__}: {error}") from error
    data = batch.get(b"data") if isinstance(batch, dict) else None
    rows = isinstance(data, np.ndarray) and data.dtype == np.uint8 and data.ndim == 2
    if not rows or not len(data) or data.shape[1] != PIXELS:
        raise no_batch(file, "no bytes of shape (n, 3072) under b'data'")
    labels = as_classes(file, batch.get(b"labels"))
    if len(labels) != len(data):
        raise no_batch(file, f"{len(labels)} classes of {len(data)} pictures")
    return data, labels


def as_classes(file: Path, labels: Any) -> Labels:
    """The classes as int64, if they are whole numbers from 0 to 9."""
    numbers = np.asarray(labels)
    whole = numbers.dtype.kind in "iu" and numbers.ndim == 1
    if not whole or not ((numbers >= 0) & (numbers <= 9)).all():
        raise no_batch(file, "classes other than 0 to 9")
    return numbers.astype(np.int64)


def no_batch(file: Path, found: str) -> ValueError:
    return ValueError(f"{file} must be a batch of CIFAR-10; got {found}")
