"""Runs of every answer that are killed, files that are cut, folders that can't be
written, and files that change while they are read: nothing is lost, nothing passes.
"""

import os
import shutil
import signal
import tempfile
from contextlib import redirect_stderr
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from answer_runs import RUNS
from cases import slow_but
from cli_models import says

from rsbounds import certify_dataset
from rsbounds.answers import Maps
from rsbounds.audit import _stages, verify
from rsbounds.cli import main
from rsbounds.results import Manifest, read
from rsbounds.results.internal import read_rows
from rsbounds.schemes import gaussian

pytest.importorskip("flint")

SAMPLES = {"n0": 50, "n": 1000}
NOBODY = 65534


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The rows of a whole run of each answer, without their times."""
    folder = tmp_path_factory.mktemp("whole")
    for name in RUNS:
        run(name, folder / f"{name}.tsv")
    return folder


@pytest.fixture(params=slow_but(["class", "maps"], RUNS))
def name(request):
    return request.param


def run(name, out, model=None):
    own, data, answer = RUNS[name]
    certify_dataset(model or own, data, answer, out=out, **SAMPLES)


def lines(path):
    """The lines of a result file without the column of times."""
    header, *rows = path.read_text().splitlines()
    at = header.split("\t").index("time")
    return [header, *("\t".join(np.delete(row.split("\t"), at)) for row in rows)]


def in_a_child(work):
    """How a process ended that did the work: its exit status, or minus a signal."""
    child = os.fork()
    if not child:
        status = 3
        try:
            status = work()
        finally:
            os._exit(status or 0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


class Killed:
    """A model whose process is killed at one of its calls."""

    def __init__(self, model, calls):
        self.model = model
        self.left = calls

    def __call__(self, batch):
        self.left -= 1
        if not self.left:
            os.kill(os.getpid(), signal.SIGKILL)
        return self.model(batch)


def test_a_killed_run_goes_on_and_loses_nothing(name, whole, tmp_path):
    out = tmp_path / "out.tsv"
    model = RUNS[name][0]
    kept = 0
    for calls in range(1, 60, 3):
        killed = Killed(model, calls)
        if not in_a_child(partial(run, name, out, killed)):
            break
        if out.exists():
            rows = lines(out)
            assert len(rows) >= kept, "a row that was written is gone"
            kept = len(rows)
    else:
        pytest.fail("the run never ended")
    assert kept > 1, "no kill came between two rows"
    assert lines(out) == lines(whole / f"{name}.tsv")
    assert not verify(out).findings


def test_a_file_that_is_cut_anywhere_loses_the_cut_row_alone(name, whole, tmp_path):
    content = (whole / f"{name}.tsv").read_bytes()
    out = tmp_path / "out.tsv"
    shutil.copy(whole / f"{name}.tsv.manifest.json", f"{out}.manifest.json")
    expected = read_rows(whole / f"{name}.tsv")
    header = content.index(b"\n") + 1
    for length in {*range(0, len(content), 7), *range(len(content) - 60, len(content))}:
        out.write_bytes(content[:length])
        if length < header and length:
            with pytest.raises(ValueError, match="expected a header"):
                read(out)
            continue
        complete = max(content[:length].count(b"\n") - 1, 0)
        assert list(read(out).rows) == expected[:complete], length
    for length in (0, header, header + 1, len(content) // 2, len(content) - 1):
        out.write_bytes(content[:length])
        run(name, out)
        assert lines(out) == lines(whole / f"{name}.tsv"), length


def test_a_manifest_that_is_cut_anywhere_is_refused(name, whole, tmp_path):
    content = (whole / f"{name}.tsv.manifest.json").read_bytes().rstrip()
    out = tmp_path / "out.tsv"
    shutil.copy(whole / f"{name}.tsv", out)
    place = tmp_path / "out.tsv.manifest.json"
    for length in range(0, len(content), 7):
        place.write_bytes(content[:length])
        with pytest.raises(ValueError, match="is not a manifest"):
            Manifest.read(out)
    with pytest.raises(ValueError, match="is not a manifest"):
        run(name, out)
    assert lines(out) == lines(whole / f"{name}.tsv")


@pytest.fixture
def public():
    """A folder that others may read. pytest's are root's alone, and every other pytest
    that starts closes them again."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


@pytest.mark.skipif(os.getuid() != 0, reason="only root may become another user")
def test_a_folder_that_nobody_may_write(name, whole, public, tmp_path, monkeypatch):
    """As a user who is not root: files are read and verified, and an output is refused
    in one line before anything is lost."""
    for ending in (".tsv", ".tsv.manifest.json"):
        shutil.copy(whole / f"{name}{ending}", public / f"out{ending}")
        (public / f"out{ending}").chmod(0o644)  # whatever root's umask
    before = (public / "out.tsv").read_bytes()
    said = public / "said"
    said.touch()
    said.chmod(0o666)
    # modules are loaded now: where Python is installed for root alone nobody can
    monkeypatch.chdir(tmp_path)
    verify(public / "out.tsv")
    for option in ("--html", "--card"):
        main(["report", str(public / "out.tsv"), option, f"written{option}.json"])

    def as_nobody(work):
        def child():
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            os.chdir(public)
            with open(said, "w") as text, redirect_stderr(text):
                return work()

        return in_a_child(child)

    def resumed():
        run(name, public / "out.tsv")

    def begun():
        run(name, public / "new.tsv")

    assert as_nobody(lambda: len(verify("out.tsv").findings)) == 0
    for words in (["--html", "page.html"], ["--card", "out.json"]):
        assert as_nobody(lambda words=words: main(["report", "out.tsv", *words])) == 2
        assert "Permission denied" in said.read_text()
        assert said.read_text().count("\n") == 1
    assert as_nobody(resumed) != 0
    assert as_nobody(begun) != 0
    names = {file.name for file in public.iterdir()}
    assert names == {"out.tsv", "out.tsv.manifest.json", "said"}
    assert (public / "out.tsv").read_bytes() == before


@pytest.mark.parametrize("which", ["rows", "manifest", "gone"])
def test_a_file_that_changes_while_it_is_verified_is_a_finding(
    which, whole, tmp_path, monkeypatch
):
    for ending in (".tsv", ".tsv.manifest.json"):
        shutil.copy(whole / f"class{ending}", tmp_path / f"out{ending}")
    out = tmp_path / "out.tsv"
    judged = _stages._judged

    def meanwhile(*given):
        if which == "rows":
            out.write_text(out.read_text().replace("\t0.", "\t1."))
        elif which == "manifest":
            place = tmp_path / "out.tsv.manifest.json"
            place.write_text(place.read_text().replace("0.001", "0.01"))
        else:
            out.unlink()
        return judged(*given)

    assert not verify(out).findings
    monkeypatch.setattr(_stages, "_judged", meanwhile)
    (finding,) = verify(out).findings
    assert "written while it was verified" in str(finding)


def test_no_map_fills_the_memory(whole, tmp_path, capsys, monkeypatch):
    """10^9 positions in a row of 30 bytes were unpacked: 8 GB for each column."""
    monkeypatch.chdir(tmp_path)
    text = (whole / "maps.tsv").read_text()
    shutil.copy(whole / "maps.tsv.manifest.json", "out.tsv.manifest.json")
    header, *rows = text.splitlines()
    cells = rows[0].split("\t")
    for column in ("chosen", "hits"):
        cells[header.split("\t").index(column)] = "1x999999999"
    (tmp_path / "out.tsv").write_text("\n".join([header, "\t".join(cells), ""]))
    assert "at most 33554432 numbers" in says(capsys, "verify out.tsv", 1)


def test_a_position_that_abstains_is_right_nowhere():
    """-1 in a true map, a position of no class, was counted as right."""
    truth = np.array([[0, 1, -1, -1]])
    x = np.array([[2.0, -2.0, 0.0, 0.0]], np.float32)
    answer = Maps(gaussian(1.0), 0.75, truth=truth)
    model = lambda batch: np.stack([batch, -batch], 1)  # noqa: E731
    (row,) = certify_dataset(model, x, answer, n0=50, n=1000).rows
    assert (row.extra["certified"], row.extra["right"]) == ("2", "2")


@pytest.mark.parametrize("name", ["values", "maps"])
def test_selection_samples_that_rows_do_not_hold_are_drawn_again(name, whole, tmp_path):
    """n0 of values and maps could be any, whatever was given."""
    for ending in (".tsv", ".tsv.manifest.json"):
        shutil.copy(whole / f"{name}{ending}", tmp_path / f"out{ending}")
    model, data, _ = RUNS[name]
    given = {"data": data, "model": model, "rerun": 3}
    assert not verify(tmp_path / "out.tsv", **given).findings
    place = tmp_path / "out.tsv.manifest.json"
    place.write_text(place.read_text().replace('"n0": 50', '"n0": 60'))
    assert verify(tmp_path / "out.tsv", **given).findings
