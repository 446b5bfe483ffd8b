"""Files: read if they have an end and a size that fits, written whole or not at all."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import stat
from io import BufferedReader
from pathlib import Path
from typing import Any

from numpy.lib import format as npy
from numpy.typing import NDArray

from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.text import quoted

#: Bytes of a file that is read at once: result files, and what describes them.
LARGE, SMALL = 2**32, 2**26
#: What a disk that failed or is full answers to a flush; all else is a file system
#: without it.
_DISK = (errno.EIO, errno.ENOSPC, errno.EDQUOT)


def as_path(name: str, value: Any) -> Path:
    """``value`` as a path, or ValueError."""
    if not isinstance(value, str | os.PathLike):
        raise ArgumentError(name, f"must be a path; got {quoted(value)}")
    return Path(value)


def opened(path: str | os.PathLike[str]) -> BufferedReader:
    """Open a regular file for reading; ValueError for devices and pipes.

    Those may have no end.
    """
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        raise ValueError(
            f"{os.fspath(path)!r} must be a regular file, not a device or a pipe"
        )
    return open(path, "rb")


def content_of(path: str | os.PathLike[str], most: int = SMALL) -> bytes:
    """All bytes of a regular file; ValueError for one of more than ``most``."""
    with opened(path) as file:
        # a file may grow while it is read
        content = file.read(most + 1)
    if len(content) > most:
        raise ValueError(f"{os.fspath(path)!r} must have at most {most} bytes")
    return content


def file_hash(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a regular file, of whatever size."""
    with opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def array_of(path: str | os.PathLike[str]) -> NDArray[Any]:
    """The array of an npy file; ValueError for any other file."""
    with opened(path) as file:
        try:
            array: NDArray[Any] = npy.read_array(file, allow_pickle=False)
        except (ValueError, EOFError) as error:
            raise ValueError(
                f"{os.fspath(path)} must be an npy file: {error}"
            ) from None
    return array


def require_writable(path: str | os.PathLike[str], mark: bytes) -> None:
    """ValueError for a path where something is that this package did not write.

    What it writes has the mark; a result file, an input or a stranger's file has not.
    """
    require_folder(path)
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISREG(found.st_mode):
        raise ValueError(f"{os.fspath(path)} is not a regular file")
    if found.st_size and mark not in content_of(path, LARGE):
        raise ValueError(
            f"{os.fspath(path)} exists and was not written by this command: choose "
            "another output file"
        )


def require_folder(path: str | os.PathLike[str]) -> None:
    """FileNotFoundError, of the folder, where a file is to be written in none."""
    folder = os.path.dirname(os.fspath(path))
    if folder and not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", folder)


def replace_file(path: Path, content: str | bytes) -> None:
    """Replace the file at the path by one with this content.

    Whole or not at all.
    """
    path = path.resolve()  # where it is a link, that stays one
    # a name that nobody has: a file of that name may be somebody's
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}.new")
    try:
        with open(draft, "xb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            flush(file.fileno())
        draft.replace(path)
        if os.name == "posix":  # folders of Windows are not opened
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                flush(folder)
            finally:
                os.close(folder)
    except OSError as error:
        if error.strerror is None:  # the message names the file already
            raise
        raise OSError(f"can't write {path}: {error.strerror}") from error
    finally:
        draft.unlink(missing_ok=True)


def flush(descriptor: int) -> None:
    """Wait until a file or folder is on the disk, where its file system can do that."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno in _DISK:
            raise
