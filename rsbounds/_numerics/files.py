"""Files of strangers: read only if they have an end, and a size that fits."""

import os
import stat
from io import BufferedReader

#: Bytes of a file that is read at once: result files, and what describes them.
LARGE, SMALL = 2**32, 2**26


def opened(path: str | os.PathLike[str]) -> BufferedReader:
    """A regular file, open for reading; ValueError for devices and pipes, which may
    have no end.
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


def require_writable(path: str | os.PathLike[str], mark: bytes) -> None:
    """ValueError for a path where something is that this package did not write.

    What it writes has the mark; a result file, an input or a stranger's file has not.
    """
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
