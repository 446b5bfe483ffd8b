"""Writing result files: a TSV that only grows, row by row, and its manifest.

A row is flushed to the disk when it is written, together with those that came with it.
A file is resumed only under an equal manifest, by one process at a time (a lock held on
the TSV); after a kill, a power failure or a full disk all that can be wrong with it is
an unfinished last line, which is cut off and done again.
"""

import importlib
import os
import stat
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from rsbounds._numerics.checks import instance, strings
from rsbounds._numerics.files import (
    as_path,
    content_of,
    flush,
    replace_file,
    require_folder,
)
from rsbounds._numerics.json_files import parsed
from rsbounds._numerics.text import abridged
from rsbounds.results._columns import Columns
from rsbounds.results._manifest import Manifest, manifest_path
from rsbounds.results._read import load
from rsbounds.results._row import COLUMNS, Row

#: None on Windows, whose files have no such locks and whose folders are not opened.
fcntl: Any = importlib.import_module("fcntl") if os.name == "posix" else None

#: Entries of the manifest whose change ``accept_change`` lets pass.
_ACCEPTABLE = ("model.", "probe.", "versions.", "engine.")

#: Seconds that a row waits at most for those that are written with it.
LATE = 0.05

#: What a writer says of a file that is no longer the one that it opened.
_GONE = (
    "was deleted or replaced while it was written: what is at its path lacks rows of "
    "this run, the same command makes them"
)


def require_place(out: str | os.PathLike[str]) -> Path:
    """Return where a result file goes.

    If none can be there, an error comes now and not after the model has run.
    """
    path = as_path("out", out)
    require_regular(path)
    require_folder(path)
    return path


class Writer:
    """Appends rows to a result file, creating or resuming it.

    Parameters
    ----------
    path : Path
        The TSV; its manifest is written beside it.
    manifest : Manifest
        What the rows depend on; ``run`` is kept, not compared. A file whose manifest
        differs in ``skip`` or ``max`` alone is extended if all of its rows are inputs
        of the new selection.
    further : sequence of str
        Columns of a new file beyond COLUMNS: those of the rows' ``extra``.
    accept_change : bool
        Go on although model, versions or engine differ, and record it in the manifest.
    check : callable, optional
        Called with ``rows``, those that were there, before anything is written; may
        raise.

    Raises
    ------
    ValueError
        If the file was written under another manifest, or isn't a result file.
    OSError
        If it can't be written, or another process is writing it. A RuntimeWarning says
        that its file system has no locks, or no room to put rows in order: they are
        kept.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from rsbounds.results import Manifest, Row, read
    >>> from rsbounds.results.internal import Writer
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
        path = as_path("path", path)
        instance("manifest", manifest, Manifest, "a Manifest")
        further = strings("further", further)
        if check is not None:
            instance("check", check, Callable, "a function of the rows that were there")
        text = manifest.text()  # refuses what no file can hold, before there is one
        require_regular(path)
        require_own_manifest(path)
        self.path = path
        self.rows: Sequence[Row]
        self._place = path.absolute()  # a model's code may change the folder
        self._manifest = manifest_path(self._place)
        self._lines: list[str] = []  # lines that are written together
        self._lines_since = 0.0
        self._file = open(path, "a+b", buffering=0)  # noqa: SIM115 (closed by __exit__)
        try:
            self._locked = self._lock()
            # by a process that ended between our opening and our lock
            self._require_place("was replaced while it was opened: repeat the command")
            self._file.seek(0)
            content, header = self._file.read(), text_of((*COLUMNS, *further), [])
            # Nothing, or a header that was cut off: no row yet, so that nothing need
            # agree.
            if header.encode().startswith(content):
                self.rows, self.columns = (), (*COLUMNS, *further)
                # the manifest first: rows without one could not be read
                replace_file(self._manifest, text)
                self._file.truncate(0)
                self._write(header)
            else:
                there = load(path, content)
                self.rows, self.columns = there.rows, there.columns
                old = there.manifest or Manifest.read(
                    path
                )  # which says that there is none
                going_on = self._to_go_on_with(old, manifest, accept_change)
                if check is not None:
                    check(self.rows)
                # all checks have passed: only now is the unfinished last line cut off
                self._file.truncate(content.rfind(b"\n") + 1)
                if going_on is not old:
                    replace_file(self._manifest, going_on.text())
        except BaseException:
            self._file.close()
            raise
        indices = Columns.of(self.rows).idx
        self._last = int(indices.max(initial=-1))
        self._ordered = bool((np.diff(indices) > 0).all())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            self._write_lines()
            if error is None:
                self._require_place()
                self._require_manifest()
                if not self._ordered:  # rows of several workers come as they are done
                    self._put_in_order()
        finally:
            self._file.close()

    def append(self, row: Row, *, more: bool = False) -> None:
        """Write one row, and wait until it is on the disk.

        With ``more`` another row is there already: both are written together, this one
        50 ms late at most.

        OSError if it can't be written, or if the file is no longer the one at its path.
        """
        if not self._lines:
            self._lines_since = time.monotonic()
        self._lines.append(f"{row.text(self.columns)}\n")
        self._ordered &= row.idx > self._last
        self._last = row.idx
        if not more or time.monotonic() - self._lines_since >= LATE:
            self._write_lines()

    def _write_lines(self) -> None:
        if not self._lines:
            return
        text = "".join(self._lines)
        self._lines = []  # what can't be written is not tried again
        self._require_manifest()
        self._write(text)

    def record(self, entry: Any) -> None:
        """Add an entry to the manifest's history."""
        manifest = Manifest.read(self._place)
        manifest = replace(manifest, history=[*manifest.history, entry])
        replace_file(self._manifest, manifest.text())

    def _put_in_order(self) -> None:
        try:
            replace_file(self._place, text_of(self.columns, load(self._place).rows))
        except OSError as error:
            warnings.warn(
                f"all rows are in {self.path}, but not in order of the inputs "
                f"({error}): the same command sorts them when there is room",
                RuntimeWarning,
                stacklevel=3,
            )

    def _write(self, text: str) -> None:
        self._require_place()
        end, left = self._file.seek(0, os.SEEK_END), text.encode()
        try:
            while left:
                left = left[self._file.write(left) :]
            flush(self._file.fileno())
        except OSError as error:
            self._file.truncate(end)
            raise OSError(
                f"can't write {self.path}: {error.strerror}; the rows in it are kept, "
                "the same command goes on from there"
            ) from error

    def _require_place(self, gone: str = _GONE) -> None:
        """OSError if the file was deleted, or another put in its place."""
        try:
            there = os.stat(self._place)
            # a file system without locks may number its files anew at each look
            if not self._locked or os.path.samestat(
                os.fstat(self._file.fileno()), there
            ):
                return
        except FileNotFoundError:
            pass
        raise OSError(f"{self.path} {gone}")

    def _require_manifest(self) -> None:
        """OSError if the manifest was deleted: rows without it say nothing."""
        if not self._manifest.exists():
            raise OSError(
                f"{self._manifest} was deleted while the run wrote to {self.path}: its "
                "rows can't be read without it; put it back, or start again"
            )

    def _lock(self) -> bool:
        """Lock the file against other processes.

        False where its file system has no locks.
        """
        if fcntl is None:
            return True
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OSError(f"{self.path} is being written by another process") from None
        except OSError as error:
            warnings.warn(
                f"can't lock {self.path} ({error.strerror}): no other process may "
                "write it",
                RuntimeWarning,
                stacklevel=3,
            )
            return False
        return True

    def _to_go_on_with(
        self, old: Manifest, new: Manifest, accept_change: bool
    ) -> Manifest:
        """The manifest to go on with: ``old`` itself where nothing changed."""
        changes = old.differences(new)
        accepted = {k: text for k, text in changes.items() if k.startswith(_ACCEPTABLE)}
        # rows of other noise would be relabelled
        accepted.pop("engine.sound_noise", None)
        refused = {
            k: text
            for k, text in changes.items()
            if not accept_change or k not in accepted
        }
        # the commitment stays the one that was made before the first row
        run = {**new.run, **{k: old.run[k] for k in ("commitment",) if k in old.run}}
        new = replace(new, history=old.history, run=run)
        if accepted and accept_change:
            step = {
                "changes": list(accepted.values()),
                "rows": len(self.rows),
                "run": dict(new.run),
            }
            new = replace(new, history=[*old.history, step])
        # More inputs of the same run extend a file. That needs no consent, as each row
        # that is there would be drawn just so under the new selection.
        if refused and refused.keys() <= {"data.skip", "data.max"}:
            if not new.places(Columns.of(self.rows).idx)[1]:
                return new
            refused[""] = "rows of the file are not among the inputs selected now"
        if refused:
            hint = "; accept_change=True goes on all the same and records it"
            raise ValueError(
                f"{self.path} belongs to another run "
                f"({abridged('; '.join(refused.values()))}): repeat that run's "
                "arguments, or choose another output file"
                + (hint if refused.keys() <= accepted.keys() else "")
            )
        return new if accepted else old


def require_own_manifest(path: Path) -> None:
    """ValueError where a link, or a file that is no manifest, stands in its place."""
    place = manifest_path(path)
    if place.is_symlink():
        raise ValueError(f"{place} is a link: choose another output file")
    begun = path.exists() and path.stat().st_size  # then it is read, as a manifest
    if begun or not (place.exists() and place.stat().st_size):
        return
    try:
        entries = parsed(content_of(place))
        is_own = not entries or {"format", "data"} <= entries.keys()
    except ValueError:
        is_own = False
    if not is_own:
        raise ValueError(
            f"{place} exists and is no manifest: choose another output file"
        )


def require_regular(path: Path) -> None:
    """ValueError where something else than a file lies."""
    if path.exists() and not stat.S_ISREG(path.stat().st_mode):
        raise ValueError(f"{path} is not a regular file: choose another output file")


def text_of(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """The file of these rows, in the order of the inputs."""
    ordered = sorted(rows, key=lambda row: row.idx)
    lines = ("\t".join(columns), *(row.text(columns) for row in ordered))
    return "".join(f"{line}\n" for line in lines)
