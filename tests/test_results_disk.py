"""Rows go to the disk by a thread: only leaving waits for it, and a file ends where it failed."""

from __future__ import annotations

import errno
import os
import threading
import time

import pytest

from rsbounds.results import Manifest, Row, Writer, read


def row(i: int) -> Row:
    return Row(i, 0, 0, 0.5, True, "fixed noise")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.tsv"


MANIFEST = Manifest(data={"inputs": 100})


def test_rows_written_while_the_disk_is_busy_go_there_together(path, monkeypatch):
    sizes, go_on, whole = [], threading.Event(), os.fsync

    def fsync(number):
        if threading.current_thread().name == "rsbounds-disk":
            go_on.wait(10)
            sizes.append(os.fstat(number).st_size)
        whole(number)

    monkeypatch.setattr(os, "fsync", fsync)
    with Writer(path, MANIFEST) as writer:
        for i in range(100):
            writer.append(row(i))
        assert len(read(path).rows) == 100  # whoever reads the file sees them already
        assert not sizes
        go_on.set()
    assert len(sizes) <= 3
    assert sizes[-1] == path.stat().st_size
    assert not [t for t in threading.enumerate() if t.name == "rsbounds-disk"]


def test_a_file_ends_with_what_reached_the_disk(path, monkeypatch):
    kept, whole = [], os.fsync

    def fsync(number):
        if threading.current_thread().name == "rsbounds-disk":
            if len(kept) == 3:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            kept.append(os.fstat(number).st_size)
        whole(number)

    monkeypatch.setattr(os, "fsync", fsync)

    def write() -> None:
        with Writer(path, MANIFEST) as writer:
            for i in range(100):
                writer.append(row(i))
                time.sleep(0.005)

    with pytest.raises(OSError, match="No space left on device; the rows in it are kept"):
        write()
    assert path.stat().st_size == kept[-1]
    monkeypatch.setattr(os, "fsync", whole)
    with Writer(path, MANIFEST) as writer:
        assert len(writer.rows) < 100
        for i in range(len(writer.rows), 100):
            writer.append(row(i))
    assert [one.idx for one in read(path).rows] == list(range(100))


def test_leaving_waits_for_the_disk_and_says_that_it_failed(path, monkeypatch):
    with Writer(path, MANIFEST) as writer:
        writer.append(row(0))
    before = path.read_bytes()

    def fsync(number):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", fsync)
    writer = Writer(path, MANIFEST)
    writer.append(row(1))
    with pytest.raises(OSError, match=r"run\.tsv: Input/output error"):
        writer.__exit__(None, None, None)
    assert path.read_bytes() == before


def test_rows_for_a_file_that_was_deleted_or_replaced_are_not_said_to_be_kept(path, monkeypatch):
    """A run ended with status 0 and "150 rows" although nothing, or another file, was there."""
    monkeypatch.chdir(path.parent)

    def write(change) -> None:
        with Writer(path.relative_to(path.parent), MANIFEST) as writer:
            writer.append(row(1))
            writer.append(row(0))  # not in order: leaving writes the file anew
            change()

    with pytest.raises(OSError, match=r"^run\.tsv was deleted or replaced while it was written"):
        write(path.unlink)
    assert not path.exists()
    other = path.with_name("other.tsv")
    other.write_text("another's")
    with pytest.raises(OSError, match="deleted or replaced"):
        write(lambda: other.replace(path))
    assert path.read_text() == "another's"


def test_a_model_whose_code_changes_the_folder_writes_the_file_that_was_named(path, monkeypatch):
    monkeypatch.chdir(path.parent)
    folder = path.with_name("elsewhere")
    folder.mkdir()
    with Writer(path.relative_to(path.parent), MANIFEST) as writer:
        writer.append(row(1))
        writer.append(row(0))
        os.chdir(folder)
        writer.record({"corrupt": []})
    assert [one.idx for one in read(path).rows] == [0, 1]
    assert not list(folder.iterdir())


def test_a_long_run_ends_soon_after_its_file_is_gone(path):
    def write() -> int:
        with Writer(path, MANIFEST) as writer:
            for i in range(100):
                if i == 3:
                    path.unlink()
                writer.append(row(i))
                time.sleep(0.02)
        return i

    with pytest.raises(OSError, match="deleted or replaced"):
        write()


def test_a_file_replaced_between_opening_and_lock_is_not_written(path, monkeypatch):
    """Rows went to the file that a process which ended just then had replaced by its own."""
    with Writer(path, MANIFEST) as writer:
        writer.append(row(0))
    whole = Writer._hold

    def hold(self):
        path.with_name("sorted").write_bytes(path.read_bytes())
        path.with_name("sorted").replace(path)
        whole(self)

    monkeypatch.setattr(Writer, "_hold", hold)
    with pytest.raises(OSError, match="replaced while it was opened"):
        Writer(path, MANIFEST)
