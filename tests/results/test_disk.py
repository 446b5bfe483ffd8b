"""A row is on the disk when it is written, and a file ends where writing it failed."""

import errno
import os

import pytest

from rsbounds.results import Manifest, Row, _file, merge, read
from rsbounds.results.internal import Writer, write

MANIFEST = Manifest(data={"inputs": 100})


def row(i):
    return Row(i, 0, 0, 0.5, True, "fixed noise")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.tsv"


def failing(number, *, only_folders=False):
    """An ``os.fsync`` that fails, of folders alone."""
    flush = os.fsync

    def fsync(descriptor):
        if only_folders and not os.path.isdir(f"/proc/self/fd/{descriptor}"):
            return flush(descriptor)
        raise OSError(number, os.strerror(number))

    return fsync


def fill(path, count=100, change=lambda i: None):
    with Writer(path, MANIFEST) as writer:
        for i in range(len(writer.rows), count):
            change(i)
            writer.append(row(i))


def syncs(monkeypatch):
    """The size of the file at each sync from here on."""
    sizes, flush = [], os.fsync

    def fsync(descriptor):
        flush(descriptor)
        sizes.append(os.fstat(descriptor).st_size)

    monkeypatch.setattr(os, "fsync", fsync)
    return sizes


def test_each_row_is_flushed_before_the_next(path, monkeypatch):
    with Writer(path, MANIFEST) as writer:
        sizes = syncs(monkeypatch)
        for i in range(3):
            writer.append(row(i))
            assert sizes[-1] == path.stat().st_size
            assert len(read(path).rows) == i + 1
        assert len(sizes) == 3


def test_rows_that_are_there_together_are_flushed_together(path, monkeypatch):
    monkeypatch.setattr(_file, "LATE", float("inf"))
    with Writer(path, MANIFEST) as writer:
        sizes = syncs(monkeypatch)
        for i in range(3):
            writer.append(row(i), more=True)
        assert not sizes
        writer.append(row(3))
        assert sizes == [path.stat().st_size]
        assert len(read(path).rows) == 4


def test_a_row_waits_for_others_no_longer_than_it_may(path, monkeypatch):
    monkeypatch.setattr(_file, "LATE", 0.0)
    with Writer(path, MANIFEST) as writer:
        sizes = syncs(monkeypatch)
        for i in range(3):
            writer.append(row(i), more=True)
            assert len(read(path).rows) == i + 1
        assert len(sizes) == 3


def test_rows_that_wait_are_written_where_the_run_fails(path, monkeypatch):
    monkeypatch.setattr(_file, "LATE", float("inf"))

    def interrupted():
        with Writer(path, MANIFEST) as writer:
            writer.append(row(0), more=True)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [one.idx for one in read(path).rows] == [0]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_a_file_ends_with_what_reached_the_disk(path, monkeypatch, number):
    def fail(i):
        if i == 3:
            monkeypatch.setattr(os, "fsync", failing(number))

    with pytest.raises(OSError, match=rf"{os.strerror(number)}.*kept"):
        fill(path, change=fail)
    assert [one.idx for one in read(path).rows] == [0, 1, 2]
    monkeypatch.undo()
    fill(path)
    assert [one.idx for one in read(path).rows] == list(range(100))


@pytest.mark.parametrize(
    "number", [errno.EINVAL, errno.ENOTSUP, errno.ENOSYS, errno.EBADF]
)
def test_a_file_system_that_cannot_flush_is_written_all_the_same(
    path, monkeypatch, number
):
    monkeypatch.setattr(os, "fsync", failing(number))
    fill(path, 3)
    assert merge(path.with_name("all.tsv"), [path])[0] == 3


def test_a_folder_that_is_full_is_named(path, monkeypatch):
    monkeypatch.setattr(os, "fsync", failing(errno.ENOSPC, only_folders=True))
    with pytest.raises(OSError, match=r"run\.tsv\.manifest\.json: No space"):
        write(path, MANIFEST, [row(0)])
    assert not list(path.parent.glob("*.new"))


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_a_file_system_without_locks_is_written_with_a_warning(
    path, monkeypatch, number
):
    def flock(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(_file.fcntl, "flock", flock)
    with pytest.warns(RuntimeWarning, match=r"lock.*process"):
        fill(path, 3)
    assert len(read(path).rows) == 3


def test_rows_for_a_file_that_was_deleted_or_replaced_are_not_said_to_be_kept(
    path, monkeypatch
):
    """A run ended with status 0 and "150 rows" although nothing, or another file, was
    there.
    """
    monkeypatch.chdir(path.parent)
    said = r"^run\.tsv was deleted or replaced while it was written"

    def remove(i):
        if i == 3:
            path.unlink()

    with pytest.raises(OSError, match=said):
        fill(path.relative_to(path.parent), change=remove)
    assert not path.exists()

    def end(change):
        with Writer(path.relative_to(path.parent), MANIFEST) as writer:
            writer.append(row(1))
            writer.append(row(0))  # not in order: leaving writes the file anew
            change()

    other = path.with_name("other.tsv")
    other.write_text("another's")
    for change in (path.unlink, lambda: other.replace(path)):
        with pytest.raises(OSError, match=said):
            end(change)
    assert path.read_text() == "another's"


def test_a_file_replaced_between_opening_and_lock_is_not_written(path, monkeypatch):
    """Rows went to the file that a process which ended just then had replaced by its
    own.
    """
    fill(path, 1)
    lock = Writer._lock

    def replaced(self):
        path.with_name("sorted").write_bytes(path.read_bytes())
        path.with_name("sorted").replace(path)
        return lock(self)

    monkeypatch.setattr(Writer, "_lock", replaced)
    with pytest.raises(OSError, match="replaced"):
        Writer(path, MANIFEST)
