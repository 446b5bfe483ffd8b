"""Reading and writing result files: a TSV that only grows, row by row, and its manifest.

A file is resumed only under an equal manifest, by one process at a time (a lock held on the
TSV), and after a kill or a full disk all that can be wrong with it is an unfinished last line,
which is cut off and done again.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rsbounds.results._disk import Disk
from rsbounds.results._manifest import Manifest, manifest_path
from rsbounds.results._row import COLUMNS, FIELD, Row
from rsbounds.results._text import naming, quoted

try:
    import fcntl
except ModuleNotFoundError:  # Windows
    fcntl = None  # type: ignore[assignment]

#: Differences that ``accept_change`` lets pass.
_ACCEPTABLE = ("model.", "probe.", "versions.", "engine.")


def columns_of(name: str, first: str) -> tuple[str, ...]:
    """The columns of a header, or ValueError."""
    columns = tuple(first.strip().split("\t"))
    if columns[:5] != FIELD:
        expected = f"a header that starts with {' '.join(FIELD)}, separated by tabs"
        raise ValueError(f"{name}:1: expected {expected}; got {quoted(first)}")
    if len(set(columns)) != len(columns):
        raise ValueError(f"{name}:1: expected each column once; got {quoted(first)}")
    return columns


def read_rows(path: Path) -> list[Row]:
    """The rows of a result file, in its order; an unfinished last line is left out.

    Raises
    ------
    ValueError
        For a file that holds no finished line, a malformed header or row: names file and line.
    OSError
        For a file that can't be read.
    """
    return _parsed(path, path.read_bytes())[1]


class Writer:
    """Appends rows to a result file, creating or resuming it.

    Parameters
    ----------
    path : Path
        The TSV; its manifest is written beside it.
    manifest : Manifest
        What the rows depend on; ``run`` is kept, not compared. A file whose manifest differs in
        ``skip`` or ``max`` alone is extended if all of its rows are inputs of the new selection.
    further : sequence of str
        Columns of a new file beyond COLUMNS: those of the rows' ``extra``.
    accept_change : bool
        Go on although model, versions or engine differ, and record it in the manifest.
    lock : bool
        Hold a lock on the file and flush its folder; False where the file system can't, if no
        other process writes it.

    Attributes
    ----------
    rows : list of Row
        Those that were there.

    Raises
    ------
    ValueError
        If the file was written under another manifest, or isn't a result file.
    OSError
        If it can't be written, or another process is writing it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from rsbounds.results import Manifest, Row, Writer, read
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "run.tsv"
    >>> with Writer(path, Manifest(data={"inputs": 1})) as writer:
    ...     writer.append(Row(0, 7, 7, 0.75, True))
    >>> read(path).rows[0].radius
    0.75
    """

    def __init__(
        self,
        path: Path,
        manifest: Manifest,
        *,
        further: Sequence[str] = (),
        accept_change: bool = False,
        lock: bool = True,
    ) -> None:
        self.path = path
        self._lock = lock
        self._new = (*COLUMNS, *further)
        if path.exists() and not stat.S_ISREG(path.stat().st_mode):
            raise ValueError(f"{path} is not a regular file: choose another output file")
        self._file = open(path, "a+b", buffering=0)  # noqa: SIM115 (closed by __exit__)
        self._disk = Disk(self._file, path, same=lock)
        self._place = path.absolute()  # a model's code may change the folder
        try:
            self._hold()
            if self._disk.gone():  # by a process that ended between our opening and our lock
                raise OSError(f"{path} was replaced while it was opened: repeat the command")
            self.rows, self.columns = self._resume(manifest.normal(), accept_change)
        except BaseException:
            self._file.close()
            raise
        self._last = max((row.idx for row in self.rows), default=-1)
        self._ordered = _in_order(self.rows)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._disk.close()
            if error is None and not self._ordered:
                _, rows = _parsed(self.path, self._place.read_bytes())
                _replace(self._place, _text(self.columns, rows), self._lock)
        finally:
            self._file.close()

    def append(self, row: Row) -> None:
        """Write one row; a thread sees it through to the disk, and leaving waits for it.

        Raises
        ------
        OSError
            If it, or a row before it, can't be written.
        """
        self._disk.write(f"{row.text(self.columns)}\n".encode())
        self._ordered &= row.idx > self._last
        self._last = row.idx

    def record(self, entry: Any) -> None:
        """Add an entry to the manifest's history."""
        manifest = Manifest.read(self._place)
        manifest = replace(manifest, history=[*manifest.history, entry])
        _replace(manifest_path(self._place), manifest.text(), self._lock)

    def _hold(self) -> None:
        if not self._lock or fcntl is None:
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OSError(f"{self.path} is being written by another process") from None
        except OSError as error:
            raise OSError(
                f"can't lock {self.path}: {error.strerror}; its file system has no locks: use "
                "--lock none (lock=False) if no other process writes it"
            ) from None

    def _resume(self, manifest: Manifest, accept_change: bool) -> tuple[list[Row], tuple[str, ...]]:
        self._file.seek(0)
        content = self._file.read()
        header = f"{_header(self._new)}\n".encode()
        if header.startswith(content):  # no row yet: nothing to resume
            _replace(manifest_path(self.path), manifest.text(), self._lock)
            self._file.truncate(0)
            self._disk.write(header)
            return [], self._new
        columns, rows = _parsed(self.path, content)
        self._file.truncate(content.rfind(b"\n") + 1)
        kept = self._kept(Manifest.read(self.path), manifest, rows, accept_change)
        if kept is not None:
            _replace(manifest_path(self.path), kept.text(), self._lock)
        return rows, columns

    def _kept(
        self, old: Manifest, new: Manifest, rows: Sequence[Row], accept_change: bool
    ) -> Manifest | None:
        """The manifest to write in the place of ``old``, if any."""
        found = old.differences(new)
        acceptable = [d for d in found if d.startswith(_ACCEPTABLE)]
        if acceptable and accept_change:
            found = [d for d in found if d not in acceptable]
            change = {"changes": acceptable, "rows": len(rows), "run": dict(new.run)}
            new = replace(new, history=[*old.history, change])
        else:
            new = replace(new, history=old.history)
        extended = {d for d in found if d.startswith(("data.skip ", "data.max "))}
        if extended and extended == set(found):
            if not new.places({row.idx for row in rows})[1]:
                return new
            found.append("rows of the file are not among the inputs selected now")
        if found:
            hint = (
                "; --accept-change goes on all the same and records it"
                if len(acceptable) == len(found)
                else ""
            )
            raise ValueError(
                f"{self.path} belongs to another run ({'; '.join(found)}): repeat that run's "
                f"arguments, or choose another output file{hint}"
            )
        return new if acceptable else None


def write(path: Path, manifest: Manifest, rows: Iterable[Row], *, lock: bool = True) -> None:
    """A complete result file in one go, replacing the file and its manifest."""
    if path.exists() and not stat.S_ISREG(path.stat().st_mode):
        raise ValueError(f"{path} is not a regular file: choose another output file")
    rows = list(rows)
    further = dict.fromkeys(name for row in rows for name in row.extra)
    _replace(manifest_path(path), manifest.text(), lock)
    _replace(path, _text((*COLUMNS, *further), rows), lock)


def _header(columns: Sequence[str]) -> str:
    return "\t".join(columns)


def _text(columns: Sequence[str], rows: Sequence[Row]) -> str:
    ordered = sorted(rows, key=lambda row: row.idx)
    lines = (_header(columns), *(row.text(columns) for row in ordered))
    return "".join(f"{line}\n" for line in lines)


def _in_order(rows: Sequence[Row]) -> bool:
    return all(a.idx < b.idx for a, b in pairwise(rows))


def _parsed(path: Path, content: bytes) -> tuple[tuple[str, ...], list[Row]]:
    """The columns of a result file and its finished rows."""
    end = content.rfind(b"\n") + 1
    if not end:
        raise ValueError(f"{path} is not a result file: expected a header that ends its line")
    try:
        lines = content[:end].decode().splitlines()
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not a result file: expected text in UTF-8") from None
    columns = columns_of(str(path), lines[0])
    rows = []
    for number, line in enumerate(lines[1:], start=2):
        try:
            rows.append(Row.parse(line, columns))
        except ValueError as error:
            raise ValueError(f"{path}:{number}: expected {error}; got {quoted(line)}") from None
    return columns, rows


def _replace(path: Path, text: str, lock: bool) -> None:
    draft = path.with_name(path.name + ".new")
    with naming(path):
        with open(draft, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    if lock and os.name == "posix":
        try:
            _flush(path.parent)
        except OSError as error:
            hint = "; use --lock none (lock=False) if its file system can't do that"
            raise OSError(
                f"can't flush the folder {path.parent} of {path.name}: {error.strerror}"
                + ("" if error.errno in _BROKEN else hint)
            ) from None


_BROKEN = (errno.EIO, errno.ENOSPC, errno.EDQUOT)  # no fault of the kind of file system


def _flush(folder: Path) -> None:
    directory = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
