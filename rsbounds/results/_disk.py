"""A file that only grows, and a thread that sees its bytes through to the disk."""

from __future__ import annotations

import os
import threading
from io import FileIO
from pathlib import Path


class Disk:
    """Appends to a file; what is written while the disk is busy goes there together.

    Nothing waits for the disk but :meth:`close`: a machine that fails loses what was written
    since the thread last came back. A process that is killed loses nothing.
    """

    def __init__(self, file: FileIO, path: Path, *, same: bool = True) -> None:
        self._file, self._path, self._same = file, path, same
        self._place = path.absolute()  # a model's code may change the folder
        self._kept = 0  # bytes known to be on the disk
        self._wanted, self._over = threading.Event(), False
        self._thread: threading.Thread | None = None
        self._error: OSError | None = None
        self._lost = False

    def write(self, line: bytes) -> None:
        """Append a line.

        Raises
        ------
        OSError
            If it, or one before it that had not reached the disk, can't be written: the file is
            cut off there. If the file is no longer the one at its path.
        """
        end = self._file.seek(0, os.SEEK_END)
        if self._thread is None:
            self._kept = end
            self._thread = threading.Thread(target=self._flush, name="rsbounds-disk", daemon=True)
            self._thread.start()
        self._raise()
        try:
            left = line
            while left:
                left = left[self._file.write(left) :]
        except OSError as error:
            self._cut(end, error)
        self._wanted.set()

    def gone(self) -> bool:
        """Whether the file was deleted, or, with ``same``, another put in its place."""
        try:
            found = os.stat(self._place)
        except FileNotFoundError:
            return True
        return self._same and not os.path.samestat(os.fstat(self._file.fileno()), found)

    def close(self) -> None:
        """Wait until all is on the disk; OSError if it can't be, or is no longer at its path."""
        if self._thread is None:
            return
        self._over = True
        self._wanted.set()
        self._thread.join()
        self._raise()

    def _raise(self) -> None:
        if self._lost:
            raise OSError(
                f"{self._path} was deleted or replaced while it was written: what is at its path "
                "lacks rows of this run, the same command makes them"
            )
        if self._error is not None:
            error, self._error = self._error, None
            self._cut(self._kept, error)

    def _cut(self, end: int, error: OSError) -> None:
        self._file.truncate(end)
        raise OSError(
            f"can't write {self._path}: {error.strerror}; the rows in it are kept, the "
            "same command goes on from there"
        ) from error

    def _flush(self) -> None:
        while True:
            self._wanted.wait()
            self._wanted.clear()
            over, size = self._over, os.fstat(self._file.fileno()).st_size
            if size != self._kept:
                try:
                    os.fsync(self._file.fileno())
                except OSError as error:
                    self._error = error
                    return
                self._kept = size
            self._lost = self.gone()
            if over:
                return
