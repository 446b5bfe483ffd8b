"""Reading and writing result files: a TSV that only grows, row by row, and its manifest.

A row is flushed to the disk when it is written. A file is resumed only under an equal manifest,
by one process at a time (a lock held on the TSV); after a kill, a power failure or a full disk
all that can be wrong with it is an unfinished last line, which is cut off and done again.
"""

from __future__ import annotations

import errno
import importlib
import os
import stat
import warnings
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from rsbounds.results._manifest import Manifest, manifest_path
from rsbounds.results._published import published
from rsbounds.results._row import COLUMNS, FIELD, Row
from rsbounds.results._text import naming, quoted

#: None on Windows, whose files have no such locks and whose folders are not opened.
fcntl: Any = importlib.import_module("fcntl") if os.name == "posix" else None

#: Entries of the manifest whose change ``accept_change`` lets pass.
_ACCEPTABLE = ("model.", "probe.", "versions.", "engine.")
#: What a disk that failed or is full answers to a flush; all else is a file system without it.
_DISK = (errno.EIO, errno.ENOSPC, errno.EDQUOT)
_MOST_COUNTS = 2 * 10**8  # class counts of all rows, with their zeros: 1.6 GB


class Content(NamedTuple):
    """A result file as it was read: ``note`` says what was left out, ``end`` is behind the rows."""

    columns: tuple[str, ...]
    rows: list[Row]
    note: str
    end: int
    manifest: Manifest | None


def load(path: Path, content: bytes | None = None, *, strict: bool = True) -> Content:
    """Read a result file: the one reader of all commands.

    Blank lines, Windows' line ends and a byte order mark are passed over. An unfinished last line
    is left out, but for files of the field: a row or its scope, cut short, may say more than it
    did. ``strict`` refuses rows that contradict themselves, stand twice or are not of the run.
    """
    content = path.read_bytes() if content is None else content
    manifest = Manifest.read(path) if manifest_path(path).exists() else None
    if not content:
        return Content((), [], "empty file", 0, manifest)
    end, note = content.rfind(b"\n") + 1, ""
    if manifest is None and (other := published(path, content)):
        if strict and len({row.idx for row in other[0]}) < len(other[0]):
            raise ValueError(f"{path}: expected each index once")
        return Content(FIELD, *other, len(content), None)
    try:
        first, *lines = content.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError:
        raise ValueError(f"{path}: expected tab-separated text in UTF-8") from None
    columns = tuple(first.strip().split("\t"))
    if not lines or columns[: len(FIELD)] != FIELD or len(set(columns)) < len(columns):
        raise ValueError(
            f"{path}:1: expected a header of distinct columns that starts with {' '.join(FIELD)}, "
            f"separated by tabs, or lines of index and radius; got {quoted(first)}"
        )
    if lines[-1] and (manifest or "scope" in columns):
        note = f"line {len(lines) + 1} is cut short: left out"
        lines.pop()
    rows, seen, room = list[Row](), dict[int, int](), _MOST_COUNTS
    selected = manifest.indices() if manifest else None
    for number, line in enumerate(lines, start=2):
        if not line.strip():
            continue
        try:
            row = Row.parse(line.rstrip("\r"), columns)
            if (room := room - len(row.select) - len(row.counts)) < 0:
                raise ValueError(f"at most {_MOST_COUNTS} class counts in all rows")
            if strict:
                _require_sense(row, seen, selected)
        except ValueError as error:
            raise ValueError(f"{path}:{number}: expected {error}; got {quoted(line)}") from None
        rows.append(row)
        seen[row.idx] = number
    return Content(columns, rows, note, end, manifest)


def _require_sense(row: Row, seen: Mapping[int, int], selected: Container[int] | None) -> None:
    """ValueError, saying what was expected, of a row that can't be one of the run."""
    for wrong in row.contradictions():
        raise ValueError(wrong)
    if row.idx in seen:
        raise ValueError(f"each idx once, {row.idx} is on line {seen[row.idx]} too")
    if selected is not None and row.idx not in selected:
        raise ValueError("idx of an input that the manifest selects")


def read_rows(path: Path) -> list[Row]:
    """The rows of a result file in its order, for an audit: they may contradict themselves.

    Raises
    ------
    ValueError
        For a malformed header or row: names file and line.
    OSError
        For a file that can't be read.
    """
    return load(path, strict=False).rows


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
    check : callable, optional
        Called with ``rows``, those that were there, before anything is written; may raise.

    Raises
    ------
    ValueError
        If the file was written under another manifest, or isn't a result file.
    OSError
        If it can't be written, or another process is writing it.

    Warns
    -----
    RuntimeWarning
        If its file system has no locks, or no room to put rows in order: they are kept.

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
        check: Callable[[Sequence[Row]], object] | None = None,
    ) -> None:
        _require_regular(path)
        self.path, self._place = path, path.absolute()  # a model's code may change the folder
        self._file = open(path, "a+b", buffering=0)  # noqa: SIM115 (closed by __exit__)
        try:
            self._locked = self._lock()
            if self._gone():  # by a process that ended between our opening and our lock
                raise OSError(f"{path} was replaced while it was opened: repeat the command")
            columns = (*COLUMNS, *further)
            self.rows, self.columns = self._resume(columns, manifest, accept_change, check)
        except BaseException:
            self._file.close()
            raise
        self._last = max((row.idx for row in self.rows), default=-1)
        self._ordered = all(a.idx < b.idx for a, b in pairwise(self.rows))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if error is None:
                self._require_place()
                if not self._ordered:  # rows of several workers come as they are done
                    self._put_in_order()
        finally:
            self._file.close()

    def append(self, row: Row) -> None:
        """Write one row, and wait until it is on the disk.

        Raises
        ------
        OSError
            If it can't be written; if the file is no longer the one at its path.
        """
        self._write(f"{row.text(self.columns)}\n")
        self._ordered &= row.idx > self._last
        self._last = row.idx

    def record(self, entry: Any) -> None:
        """Add an entry to the manifest's history."""
        manifest = Manifest.read(self._place)
        manifest = replace(manifest, history=[*manifest.history, entry])
        _replace(manifest_path(self._place), manifest.text())

    def _put_in_order(self) -> None:
        try:
            _replace(self._place, _text(self.columns, load(self._place).rows))
        except OSError as error:
            warnings.warn(
                f"all rows are in {self.path}, but not in order of the inputs ({error}): the same "
                "command sorts them when there is room",
                RuntimeWarning,
                stacklevel=3,
            )

    def _write(self, text: str) -> None:
        self._require_place()
        end, left = self._file.seek(0, os.SEEK_END), text.encode()
        try:
            while left:
                left = left[self._file.write(left) :]
            _flush(self._file.fileno())
        except OSError as error:
            self._file.truncate(end)
            raise OSError(
                f"can't write {self.path}: {error.strerror}; the rows in it are kept, the "
                "same command goes on from there"
            ) from error

    def _gone(self) -> bool:
        """Whether the file was deleted, or another put in its place."""
        try:
            there = os.stat(self._place)
        except FileNotFoundError:
            return True
        # a file system without locks may number its files anew at each look
        return self._locked and not os.path.samestat(os.fstat(self._file.fileno()), there)

    def _require_place(self) -> None:
        if self._gone():
            raise OSError(
                f"{self.path} was deleted or replaced while it was written: what is at its path "
                "lacks rows of this run, the same command makes them"
            )

    def _lock(self) -> bool:
        """Lock the file against other processes; False where its file system has no locks."""
        if fcntl is None:
            return True
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OSError(f"{self.path} is being written by another process") from None
        except OSError as error:
            warnings.warn(
                f"can't lock {self.path} ({error.strerror}): no other process may write it",
                RuntimeWarning,
                stacklevel=3,
            )
            return False
        return True

    def _resume(
        self,
        columns: tuple[str, ...],
        manifest: Manifest,
        accept_change: bool,
        check: Callable[[Sequence[Row]], object] | None,
    ) -> tuple[list[Row], tuple[str, ...]]:
        self._file.seek(0)
        content, header = self._file.read(), _text(columns, [])
        manifest = manifest.normal()
        if header.encode().startswith(content):  # no row yet: nothing to resume
            _replace(manifest_path(self.path), manifest.text())
            self._file.truncate(0)
            self._write(header)
            return [], columns
        there = load(self.path, content)
        old = there.manifest or Manifest.read(self.path)  # which says that there is none
        kept = self._kept(old, manifest, there.rows, accept_change)
        if check is not None:
            check(there.rows)
        self._file.truncate(there.end)
        if kept is not None:
            _replace(manifest_path(self.path), kept.text())
        return there.rows, there.columns

    def _kept(
        self, old: Manifest, new: Manifest, rows: Sequence[Row], accept_change: bool
    ) -> Manifest | None:
        """The manifest to write in the place of ``old``, if any."""
        changes = old.differences(new)
        accepted = {k: text for k, text in changes.items() if k.startswith(_ACCEPTABLE)}
        accepted.pop("engine.sound_noise", None)  # rows of other noise would be relabelled
        refused = {k: text for k, text in changes.items() if not accept_change or k not in accepted}
        run = {**new.run, **{k: old.run[k] for k in ("commitment",) if k in old.run}}
        new = replace(new, history=old.history, run=run)
        if accepted and accept_change:
            step = {"changes": list(accepted.values()), "rows": len(rows), "run": dict(new.run)}
            new = replace(new, history=[*old.history, step])
        if refused and refused.keys() <= {"data.skip", "data.max"}:
            if not new.places({row.idx for row in rows})[1]:
                return new
            refused[""] = "rows of the file are not among the inputs selected now"
        if refused:
            hint = "; --accept-change goes on all the same and records it"
            raise ValueError(
                f"{self.path} belongs to another run ({'; '.join(refused.values())}): repeat that "
                "run's arguments, or choose another output file"
                + (hint if refused.keys() <= accepted.keys() else "")
            )
        return new if accepted else None


def write(path: Path, manifest: Manifest, rows: Iterable[Row]) -> None:
    """A complete result file in one go, replacing the file and its manifest."""
    _require_regular(path)
    rows = list(rows)
    further = dict.fromkeys(name for row in rows for name in row.extra)
    _replace(manifest_path(path), manifest.text())
    _replace(path, _text((*COLUMNS, *further), rows))


def _require_regular(path: Path) -> None:
    if path.exists() and not stat.S_ISREG(path.stat().st_mode):
        raise ValueError(f"{path} is not a regular file: choose another output file")


def _text(columns: Sequence[str], rows: Sequence[Row]) -> str:
    ordered = sorted(rows, key=lambda row: row.idx)
    lines = ("\t".join(columns), *(row.text(columns) for row in ordered))
    return "".join(f"{line}\n" for line in lines)


def _replace(path: Path, text: str) -> None:
    """Put a file with this text in the place of the one at the path, whole or not at all."""
    path = path.resolve()  # where it is a link, that stays one
    draft = path.with_name(path.name + ".new")
    try:
        with naming(path):
            with open(draft, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
                file.flush()
                _flush(file.fileno())
            draft.replace(path)
            if fcntl is not None:
                folder = os.open(path.parent, os.O_RDONLY)
                try:
                    _flush(folder)
                finally:
                    os.close(folder)
    finally:
        draft.unlink(missing_ok=True)


def _flush(descriptor: int) -> None:
    """Wait until a file or folder is on the disk, where its file system can do that."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno in _DISK:
            raise
