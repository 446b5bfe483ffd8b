"""npz and npy files, of which only the rows that are asked for are read."""

from __future__ import annotations

import math
import shutil
import struct
import tempfile
import tokenize
import zipfile
import zlib
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from rsbounds._numerics.checks import as_integers
from rsbounds.loading.callables import reason, shown
from rsbounds.loading.rows import CorruptInput, Data, labels_hash, require_scale, stored_array

LARGEST = 2**28  # bytes of one input; a header may claim anything
# what NumPy, zipfile and their decompressors raise for bytes that are no archive of arrays
_CORRUPT = (
    *(ValueError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError, OverflowError),
    *(tokenize.TokenError, AttributeError, SyntaxError, RuntimeError, KeyError, struct.error),
    *(MemoryError, TypeError, IndexError, ImportError, AssertionError),
)


def inputs(path: Path) -> NDArray[np.float32]:
    """The array ``x`` of an npz file, read at once: finite floating-point inputs, float32."""
    with ExitStack() as files:
        try:
            (stored,) = _npz(path, files, "x")
            x = stored.rows(0, stored.shape[0])
        except _CORRUPT as error:
            raise _not(shown(path), "an npz file with x", error) from error
    _require_inputs(shown(path), stored, "f")
    with np.errstate(over="ignore"):
        x = x.astype(np.float32)
    good = np.isfinite(x.reshape(len(x), -1)).all(axis=1)
    if not good.all():
        raise ValueError(
            f"{shown(path)}: x must be finite; {int((~good).sum())} of {len(x)} inputs are not, "
            f"the first at index {int(np.argmin(good))}"
        )
    return x


class _Stored(NamedTuple):
    """An array in a file."""

    file: IO[bytes]
    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def row(self) -> int:
        """Bytes of one row."""
        return math.prod(self.shape[1:]) * self.dtype.itemsize

    def rows(self, start: int, count: int) -> NDArray[Any]:
        """Some rows, read now."""
        self.file.seek(self.offset + start * self.row)
        raw = self.file.read(count * self.row)
        if len(raw) != count * self.row:
            raise EOFError("the file ends early")
        return np.frombuffer(raw, self.dtype).reshape(count, *self.shape[1:])


class ArrayData(Data):
    """Rows of an array x with labels y: ``FILE.npz``, or ``FILE.npy`` with ``FILE.labels.npy``.

    An npz file's compressed members are decompressed once, into a temporary file.
    """

    def __init__(self, path: Path, scale: float | None) -> None:
        super().__init__(scale)
        self.name = shown(path)
        self._files = ExitStack()
        try:
            self._x, self.labels = self._opened(path, scale)
        except BaseException:
            self.close()
            raise
        self.identity = {
            "kind": path.suffix.removeprefix("."),
            "rows": self._x.shape[0],
            "shape": list(self._x.shape[1:]),
            "dtype": self._x.dtype.str,
            "scale": scale,
            "labels": labels_hash(self.labels),
        }

    def _opened(self, path: Path, scale: float | None) -> tuple[_Stored, NDArray[np.int64]]:
        zipped = path.suffix == ".npz"
        try:
            if zipped:
                x, y = _npz(path, self._files, "x", "y")
            else:
                x, y = (_npy(p, self._files) for p in (path, path.with_suffix(".labels.npy")))
            labels = y.rows(0, y.shape[0]) if y.shape == x.shape[:1] else None
        except _CORRUPT as error:
            wanted = "an npz file with x and y" if zipped else "an npy file, its labels beside it"
            raise _not(self.name, wanted, error) from error
        _require_inputs(self.name, x, "fiu")
        require_scale(self.name, x.dtype, scale)
        if labels is None:
            raise ValueError(
                f"{self.name}: y must have one label for each of the {x.shape[0]} inputs; "
                f"got shape {y.shape}"
            )
        return x, as_integers(f"{self.name}: y", labels)

    def __len__(self) -> int:
        return self._x.shape[0]

    def _read(self, i: int) -> tuple[bytes, NDArray[Any], int]:
        assert self.labels is not None
        try:
            (x,) = self._x.rows(i, 1)
        except (EOFError, OSError) as error:
            raise CorruptInput(f"{self.name}: input {i} can't be read: {reason(error)}") from error
        return stored_array(x), x, int(self.labels[i])

    def close(self) -> None:
        """Close the files."""
        self._files.close()


def _npz(path: Path, files: ExitStack, *names: str) -> list[_Stored]:
    """Members of an npz file."""
    with open(path, "rb") as file:
        if file.read(6) == npy.MAGIC_PREFIX:
            raise ValueError("a single array")
    archive = files.enter_context(zipfile.ZipFile(path))
    members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
    if not set(names) <= set(members):
        raise ValueError(f"only the arrays {', '.join(members) or '(none)'}")
    return [_member(path, files, archive, members[name]) for name in names]


def _member(
    path: Path, files: ExitStack, archive: zipfile.ZipFile, info: zipfile.ZipInfo
) -> _Stored:
    file: IO[bytes]
    if info.compress_type == zipfile.ZIP_STORED and not info.flag_bits & 1:
        file = files.enter_context(open(path, "rb"))  # noqa: SIM115
        file.seek(info.header_offset)
        local = file.read(30)
        if local[:4] != b"PK\3\4":
            raise ValueError("a member without a header")
        name, extra = struct.unpack("<HH", local[26:])
        file.seek(info.header_offset + 30 + name + extra)
        return _stored(file, info.file_size)
    if info.file_size > shutil.disk_usage(tempfile.gettempdir()).free:
        raise ValueError(f"{info.file_size} bytes to decompress, more than the disk has left")
    file = files.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
    with archive.open(info) as packed:
        shutil.copyfileobj(packed, file, 2**20)
    file.seek(0)
    return _stored(file, info.file_size)


def _npy(path: Path, files: ExitStack) -> _Stored:
    return _stored(files.enter_context(open(path, "rb")), path.stat().st_size)


def _stored(file: IO[bytes], size: int) -> _Stored:
    """The array that begins here and has ``size`` bytes, its header included."""
    start = file.tell()
    version = npy.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"an array of format version {version}")
    header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, fortran, dtype = header(file)
    if dtype.hasobject:
        raise ValueError("pickled objects, which are never read")
    if fortran and sum(side > 1 for side in shape) > 1:
        raise ValueError("an array in Fortran order; save it as np.ascontiguousarray(x)")
    stored = _Stored(file, file.tell(), shape, dtype)
    rows = shape[0] if shape else 1
    # before anything is allocated: a header may claim more than there is
    if min(shape, default=1) < 0 or stored.offset - start + stored.row * rows != size:
        raise ValueError(f"{size} bytes where its header says {dtype} {shape}")
    if stored.row > LARGEST:
        raise ValueError(f"rows of {stored.row} bytes; at most {LARGEST} are read")
    return stored


def _not(name: str, wanted: str, error: BaseException) -> ValueError:
    detail = str(error) if type(error) is ValueError else reason(error)
    return ValueError(f"{name} must be {wanted}; got {shown(detail)}")


def _require_inputs(name: str, x: _Stored, kinds: str) -> None:
    if x.dtype.kind not in kinds or len(x.shape) < 2 or not math.prod(x.shape):
        raise ValueError(
            f"{name}: x must be floating point of shape (count, ...); "
            f"got {x.dtype} of shape {x.shape}"
        )
