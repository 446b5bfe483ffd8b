"""npz and npy files, read row by row: what is not asked for stays on the disk."""

from __future__ import annotations

import math
import struct
import tokenize
import zipfile
import zlib
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from rsbounds._numerics.checks import whole
from rsbounds.loading.callables import reason, shown
from rsbounds.loading.rows import (
    CorruptInput,
    Data,
    labels_hash,
    require_scale,
    stored_array,
)

LARGEST_ROW = 2**31  # bytes; a header may claim anything
# what NumPy, zipfile and their decompressors raise for bytes that are no archive of arrays
CORRUPT = (
    *(ValueError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError, OverflowError),
    *(tokenize.TokenError, AttributeError, SyntaxError, RuntimeError, KeyError, struct.error),
    *(MemoryError, TypeError, IndexError, ImportError, AssertionError),
)


class _Rows:
    """The rows of one stored array, each read by itself.

    ``stream`` is positioned at the array's header, ``size`` the bytes from there to its end
    where they are known: a header that claims more is refused before anything is allocated.
    """

    def __init__(self, stream: IO[bytes], size: int) -> None:
        start = stream.tell()
        version = npy.read_magic(stream)
        if version == (1, 0):
            self.shape, fortran, self.dtype = npy.read_array_header_1_0(stream)
        elif version == (2, 0):
            self.shape, fortran, self.dtype = npy.read_array_header_2_0(stream)
        else:
            raise ValueError(f"an array of format version {version}")
        if self.dtype.hasobject:
            raise ValueError("pickled objects, which are never read")
        if fortran and sum(side > 1 for side in self.shape) > 1:
            raise ValueError("an array in Fortran order; save it as np.ascontiguousarray(x)")
        self._stream, self._offset = stream, stream.tell()
        self.bytes = math.prod(self.shape[1:]) * self.dtype.itemsize
        if (
            min(self.shape, default=1) < 0
            or self._offset - start + self.bytes * (self.shape[0] if self.shape else 1) != size
        ):
            raise ValueError(f"{size} bytes where its header says {self.dtype} {self.shape}")
        if self.bytes > LARGEST_ROW:
            raise ValueError(f"rows of {self.bytes} bytes; at most {LARGEST_ROW} are read")

    def __getitem__(self, i: int) -> NDArray[Any]:
        raw = self._bytes(self._offset + i * self.bytes, self.bytes)
        return np.frombuffer(raw, self.dtype).reshape(self.shape[1:])

    def all(self) -> NDArray[Any]:
        """The whole array: for labels, which are small."""
        raw = self._bytes(self._offset, self.bytes * self.shape[0])
        return np.frombuffer(raw, self.dtype).reshape(self.shape)

    def _bytes(self, start: int, count: int) -> bytes:
        if not isinstance(self._stream, zipfile.ZipExtFile):
            self._stream.seek(start)
        else:  # its own seek holds 16 MiB at once
            if start < self._stream.tell():
                self._stream.seek(0)
            while (ahead := start - self._stream.tell()) and self._stream.read(min(ahead, 2**18)):
                pass
        raw = self._stream.read(count)
        if len(raw) != count:
            raise EOFError("the file ends early")
        return raw


class _ArrayData(Data):
    """Rows of an array x with labels y; subclasses open them."""

    kind: str
    wanted: str
    _x: _Rows

    def __init__(self, path: Path, scale: float | None) -> None:
        super().__init__(scale)
        self.name = shown(path)
        self._files = ExitStack()
        try:
            self.labels = self._opened(path, scale)
        except BaseException:
            self.close()
            raise
        shape = self._x.shape
        self.identity = {
            "kind": self.kind,
            "rows": shape[0],
            "shape": list(shape[1:]),
            "dtype": self._x.dtype.str,
            "scale": scale,
            "labels": labels_hash(self.labels),
        }

    def _open(self, path: Path) -> tuple[_Rows, _Rows]:
        raise NotImplementedError

    def _opened(self, path: Path, scale: float | None) -> NDArray[np.int64]:
        """Open x and y; the labels."""
        try:
            self._x, y = self._open(path)
            shape, dtype = self._x.shape, self._x.dtype
            stored = y.all() if y.shape == shape[:1] else None
        except CORRUPT as error:
            detail = str(error) if type(error) is ValueError else reason(error)
            raise ValueError(f"{self.name} must be {self.wanted}; got {shown(detail)}") from error
        if dtype.kind not in "fiu" or len(shape) < 2 or not math.prod(shape):
            raise ValueError(
                f"{self.name}: x must be floating point of shape (count, ...); "
                f"got {dtype} of shape {shape}"
            )
        require_scale(self.name, dtype, scale)
        if stored is None:
            raise ValueError(
                f"{self.name}: y must have one label for each of the {shape[0]} inputs; "
                f"got shape {y.shape}"
            )
        return whole(f"{self.name}: y", stored)

    def __len__(self) -> int:
        return int(self._x.shape[0])

    def _read(self, i: int) -> tuple[bytes, NDArray[Any], int]:
        assert self.labels is not None
        try:
            x = self._x[i]
        except (*CORRUPT, OSError) as error:
            raise CorruptInput(f"{self.name}: input {i} can't be read: {reason(error)}") from error
        return stored_array(x), x, int(self.labels[i])

    def close(self) -> None:
        """Close the file."""
        self._files.close()


class NpzData(_ArrayData):
    """``x`` and ``y`` of an npz file.

    Stored members are read at their place; of compressed ones only what lies before the row is
    decompressed, once where rows are read in rising order, and nothing is kept.
    """

    kind, wanted = "npz", "an npz file with x and y"

    def _open(self, path: Path) -> tuple[_Rows, _Rows]:
        with open(path, "rb") as file:
            if file.read(6) == npy.MAGIC_PREFIX:
                raise ValueError("a single array")
        archive = self._files.enter_context(zipfile.ZipFile(path))
        names = {name.removesuffix(".npy"): name for name in archive.namelist()}
        missing = {"x", "y"} - set(names)
        if missing:
            raise ValueError(f"only the arrays {', '.join(names) or '(none)'}")
        x, y = (self._member(path, archive, archive.getinfo(names[n])) for n in ("x", "y"))
        return x, y

    def _member(self, path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> _Rows:
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1:
            return _Rows(self._files.enter_context(archive.open(info)), info.file_size)
        file = self._files.enter_context(open(path, "rb"))  # noqa: SIM115
        file.seek(info.header_offset)
        local = file.read(30)
        if local[:4] != b"PK\3\4":
            raise ValueError("a member without a header")
        name, extra = struct.unpack("<HH", local[26:])
        file.seek(info.header_offset + 30 + name + extra)
        return _Rows(file, info.file_size)


class NpyData(_ArrayData):
    """``FILE.npy``, with the labels beside it in ``FILE.labels.npy``."""

    kind, wanted = "npy", "an npy file, with its labels beside it"

    def _open(self, path: Path) -> tuple[_Rows, _Rows]:
        beside = path.with_suffix(".labels.npy")
        files = [self._files.enter_context(open(p, "rb")) for p in (path, beside)]  # noqa: SIM115
        x, y = (
            _Rows(file, p.stat().st_size) for file, p in zip(files, (path, beside), strict=True)
        )
        return x, y
