"""npz and npy files, of which only the rows that are asked for are read.

Neither is mapped to memory: a mapped file that is cut short ends the process, and NumPy
maps no members of npz files.
"""

from __future__ import annotations

import math
import shutil
import struct
import tempfile
import zipfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from rsbounds._numerics.checks import as_floats
from rsbounds._numerics.files import opened
from rsbounds._numerics.text import shown
from rsbounds.loading.callables import reason
from rsbounds.loading.rows import (
    LARGEST,
    NUMBERS_OF_TEXT,
    CorruptInput,
    Data,
    class_numbers,
    require_label_each,
    require_scale,
)

_MOST = 10**8  # inputs of one run
_ZEROS = "zeros will do for values and maps, which do not use them"


class Stored(NamedTuple):
    """An array in a file."""

    file: IO[bytes]
    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def rows(self, start: int, count: int) -> NDArray[Any]:
        """Read ``count`` rows from row ``start`` on; OSError if the file ends early."""
        numbers = math.prod(self.shape[1:])
        self.file.seek(self.offset + start * numbers * self.dtype.itemsize)
        x = np.fromfile(self.file, self.dtype, count * numbers)
        if x.size != count * numbers:
            raise OSError("the file ends early")
        return x.reshape(count, *self.shape[1:])

    def all(self) -> NDArray[Any]:
        """The whole array; one number of shape () as an array of one."""
        return self.rows(0, self.shape[0] if self.shape else 1)


def inputs(path: Path) -> NDArray[np.float64]:
    """Read the array ``x`` of an npz file at once: finite inputs, as float64."""
    with ExitStack() as files:
        (stored,) = stored_arrays(path, files, "x")
        _require_inputs(shown(path), stored, "f")
        x = stored.rows(0, stored.shape[0])
    largest = float(np.finfo(np.float32).max)
    return as_floats(f"{shown(path)}: x", x, -largest, largest, nan=False, exact=True)


class ArrayData(Data):
    """Rows of an array x with labels y.

    They lie in ``FILE.npz``, or in ``FILE.npy`` and ``FILE.labels.npy``.
    """

    def __init__(
        self,
        path: Path,
        scale: float | None,
        classes: Sequence[Any] | None,
        *,
        whole: bool = False,
    ) -> None:
        name = shown(path)
        with ExitStack() as files:  # closed again unless all is well
            self._x, y = stored_arrays(path, files, "x", "y")
            _require_inputs(name, self._x, "fiub" if whole else "fiu")
            if not whole:
                require_scale(name, self._x.dtype, scale)
            require_label_each(name, y.shape, self._x.shape[0])
            labels = class_numbers(f"{name}: y", y.rows(0, y.shape[0]), classes)
            self._files = files.pop_all()
        super().__init__(
            name,
            scale,
            labels,
            whole=whole,
            kind=path.suffix.removeprefix("."),
            dtype=self._x.dtype.str,
        )

    def __len__(self) -> int:
        return self._x.shape[0]

    def _read(self, i: int) -> tuple[NDArray[Any], int]:
        assert self.labels is not None
        try:
            (x,) = self._x.rows(i, 1)
        except OSError as error:
            raise CorruptInput(
                f"{self.name}: input {i} can't be read: {reason(error)}"
            ) from error
        return x, int(self.labels[i])

    def close(self) -> None:
        """Close the files."""
        self._files.close()


def stored_arrays(path: Path, files: ExitStack, *names: str) -> list[Stored]:
    """Arrays of an npz file; of an npy file and of the one with its labels."""
    zipped = path.suffix != ".npy"
    try:
        if zipped:
            return _npz(opened(path), files, names)
        arrays = []
        # an array, and its labels where two are asked for
        for place in (path, path.with_suffix(".labels.npy"))[: len(names)]:
            file = files.enter_context(opened(place))
            arrays.append(_stored(file, file.seek(0, 2), 0))
        return arrays
    except FileNotFoundError as error:
        if zipped or not path.exists():
            raise
        raise FileNotFoundError(
            f"{shown(path)} needs its labels beside it, in "
            f"{shown(path.with_suffix('.labels.npy'))}; {_ZEROS}"
        ) from error
    except OSError:
        raise
    except Exception as error:
        # the readers raise a dozen kinds for bytes that are no array
        wanted = f"an npz file with {' and '.join(names)}" if zipped else "an npy file"
        detail = shown(error) if type(error) is ValueError else reason(error)
        hint = f": {_ZEROS}" if detail == "only the arrays x" else ""
        raise ValueError(
            f"{shown(path)} must be {wanted}; got {detail}{hint}"
        ) from error


def member_names(path: Path) -> set[str]:
    """The names of the arrays in an npz file; none for a file that is no archive."""
    try:
        with opened(path) as file, zipfile.ZipFile(file) as archive:
            return {name.removesuffix(".npy") for name in archive.namelist()}
    except OSError:
        raise
    except Exception:  # the reader of inputs says what is wrong
        return set()


def _npz(file: IO[bytes], files: ExitStack, names: tuple[str, ...]) -> list[Stored]:
    """Members of an npz file; what is compressed goes into a temporary file, once."""
    files.enter_context(file)
    if file.read(6) == npy.MAGIC_PREFIX:
        raise ValueError("a single array")
    archive = files.enter_context(zipfile.ZipFile(file))
    members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
    if not set(names) <= set(members) and {"row", "col", "format"} <= set(members):
        raise ValueError("a sparse matrix in COO form: save matrix.tocsr()")
    if not set(names) <= set(members):
        raise ValueError(f"only the arrays {', '.join(members) or '(none)'}")
    arrays = []
    chosen = [members[name] for name in names]
    for info in chosen:  # a few kilobytes: what is refused is not unpacked
        with archive.open(info) as packed:
            _header(packed, info.file_size)
    for info in chosen:
        if info.compress_type == zipfile.ZIP_STORED and not info.flag_bits & 1:
            file.seek(info.header_offset + 26)  # of the member's own header
            name, extra = struct.unpack("<HH", file.read(4))
            start = info.header_offset + 30 + name + extra
            arrays.append(_stored(file, info.file_size, start))
            continue
        if info.file_size > shutil.disk_usage(tempfile.gettempdir()).free:
            raise ValueError(
                f"{info.file_size} bytes to decompress, more than the disk has left"
            )
        unpacked: IO[bytes] = files.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
        with archive.open(info) as packed:
            shutil.copyfileobj(packed, unpacked, 2**20)
        arrays.append(_stored(unpacked, info.file_size, 0))
    return arrays


def _stored(file: IO[bytes], size: int, start: int) -> Stored:
    """The array that begins at ``start`` and has ``size`` bytes, header included."""
    file.seek(start)
    shape, dtype, length = _header(file, size)
    return Stored(file, start + length, shape, dtype)


def _header(file: IO[bytes], size: int) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    """Shape and type of the array that a file is at, and the length of its header.

    The array has ``size`` bytes, header included.
    """
    start = file.tell()
    version = npy.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"an array of format version {version}")
    header = (
        npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    )
    shape, fortran, dtype = header(file)
    if dtype.hasobject:
        raise ValueError(
            "pickled objects, which are never read; sequences of different lengths are "
            "stored as values, one after the other, with offsets"
        )
    if fortran and sum(side > 1 for side in shape) > 1:
        raise ValueError(
            "an array in Fortran order; save it as np.ascontiguousarray(x)"
        )
    # before anything is allocated: a header may claim more than there is
    length = file.tell() - start
    bytes_needed = length + math.prod(shape) * dtype.itemsize
    if min(shape, default=1) < 0 or bytes_needed != size:
        raise ValueError(f"{size} bytes where its header says {dtype} {shape}")
    if math.prod(shape[1:]) > LARGEST or (shape and shape[0] > _MOST):
        raise ValueError(
            f"shape {shape}; at most {_MOST} inputs of {LARGEST} numbers are read"
        )
    return shape, dtype, length


def _require_inputs(name: str, x: Stored, kinds: str) -> None:
    if x.dtype.kind not in kinds or len(x.shape) < 2 or not math.prod(x.shape):
        expected = "floating point" if kinds == "f" else "real numbers"
        hint = NUMBERS_OF_TEXT if x.dtype.kind == "U" else ""
        raise ValueError(
            f"{name}: x must be {expected} of shape (count, ...), at least one in "
            f"each; got {x.dtype} of shape {x.shape}{hint}"
        )
