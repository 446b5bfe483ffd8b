"""The file of lies: our own checker finds each, and accuses no honest file."""

import importlib
import sys
from pathlib import Path

import pytest

LIES = Path(__file__).parents[2] / "benchmarks" / "certificates" / "lies"


@pytest.fixture(scope="module")
def lies():
    """lies(name) imports a script of the folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(LIES)
        yield importlib.import_module
    for name in ("run", "forge"):
        sys.modules.pop(name, None)


@pytest.mark.slow
def test_every_lie_is_found_and_no_honest_file_accused(lies):
    pytest.importorskip("flint")
    run = lies("run")
    each = [*run.answers(run.ours, run.index())]
    wrong = [(line.file, answer) for line, answer, _ in each if answer != line.must]
    assert wrong == []
    kinds = [(line.needs, line.must) for line, _, _ in each]
    assert kinds.count(("file", "refuse")) == 59
    assert kinds.count(("data", "refuse")) == 6
    assert kinds.count(("model", "refuse")) == 5
    assert kinds.count(("levels", "refuse")) == 3
    assert kinds.count(("nothing", "accept")) == 3
    assert sum(must == "accept" for _, must in kinds) == 16


@pytest.mark.slow
def test_a_lie_is_refused_for_what_it_is(lies):
    pytest.importorskip("flint")
    run = lies("run")
    said = {line.file: text for line, _, text in run.answers(run.ours, run.index())}
    for file, part in {
        "radii-stretched.tsv": "more than the counts prove",
        "wrong-rows-dropped.tsv": "missing",
        "entry-added.tsv": "'reviewed' is no entry of a manifest",
        "labels-of-predictions.tsv": "in the data",
        "counts-of-the-best.tsv": "drawn again",
        "printed-too-large.tsv": "the most that 1000 of 1000 samples earn",
        "key-twice.tsv": "twice",
        "nested.tsv": "nested",
    }.items():
        assert part in said[file], said[file]


def test_the_index_names_every_file(lies):
    run = lies("run")
    named = {line.file for line in run.index()}
    assert named == {path.name for path in (LIES / "files").glob("*.tsv")}


@pytest.mark.parametrize(("answer", "status"), [("true", 1), ("false", 1)])
def test_a_checker_that_says_the_same_of_all_fails(lies, capsys, answer, status):
    run = lies("run")
    assert run.main(["--checker", f"{answer} {{file}} {{options}}"]) == status
    out = capsys.readouterr().out
    if answer == "true":
        assert "found 0 of" in out
        assert "accused 0 of" in out
    else:
        assert "ACCUSED gaussian.tsv" in out


@pytest.mark.slow
def test_the_files_are_those_of_the_script(lies, tmp_path, monkeypatch):
    forge = lies("forge")
    before = {path.name: path.read_bytes() for path in forge.FILES.iterdir()}
    index = forge.INDEX.read_bytes()
    for name in ("FILES", "INDEX"):
        monkeypatch.setattr(forge, name, tmp_path / name.lower())
    forge.main()
    assert forge.INDEX.read_bytes() == index
    after = {path.name: path.read_bytes() for path in forge.FILES.iterdir()}
    assert after == before
