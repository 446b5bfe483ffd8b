"""``rsbounds certify``: one command from model and data to rows, whatever interrupts
it.
"""

import csv
import fcntl
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from cli_models import MODELS, arguments, inputs, python, savez, says
from result_table import manifest

from rsbounds._numerics.decimals import truncated
from rsbounds._numerics.progress import Progress
from rsbounds.answers import TopClass
from rsbounds.cli import main
from rsbounds.cli.certify import _summary
from rsbounds.results import Results, Row, read
from rsbounds.results.internal import COLUMNS
from rsbounds.schemes import gaussian


def rows(path):
    with open(path, newline="") as file:
        found = list(csv.DictReader(file, delimiter="\t"))
    return [{k: v for k, v in row.items() if k != "time"} for row in found]


def test_radii_that_certify_prints_are_cut_off():
    """The summary said .6040 where the report said .6039."""
    rows = (Row(0, 1, 1, 0.60399, True),)
    told = _summary(Path("out.tsv"), Results("", rows), TopClass(gaussian(1)), 0, 1.0)
    lines = [line for each in told for line in each.text.split(", ")]
    assert "average certified radius 0.6039" in lines


def test_the_command_writes_the_fields_columns_and_a_manifest(work):
    done = python("-m", "rsbounds", *arguments())
    assert done.returncode == 0
    counted, summary = done.stdout.splitlines()
    assert counted == "out.tsv: 12 rows, 12 of them new"
    found = read("out.tsv")
    said = (
        f"accuracy {found.clean_accuracy():.4f}, abstentions {found.abstention():.4f}, "
    )
    said += f"average certified radius {truncated(found.average_radius(), 4)}, "
    assert re.fullmatch(rf"{re.escape(said)}[\d.e+]+ rows a second", summary)
    # no progress bar in a pipe, but what tells of a wrong label order or normalisation
    said = "rsbounds certify: first 10 inputs: base accuracy 0.600 without noise, 0."
    assert done.stderr.startswith(said)
    assert done.stderr.count("\n") == 1
    lines = Path("out.tsv").read_text().splitlines()
    assert lines[0].split("\t") == list(COLUMNS)
    assert [int(line.split("\t")[0]) for line in lines[1:]] == list(range(12))
    assert all(line.count("\t") == len(COLUMNS) - 1 for line in lines)
    stated = manifest()
    assert stated["parameters"] == {"sigma": 0.25}
    assert [stated[name] for name in ("n0", "n", "alpha", "seed")] == [
        50,
        1000,
        0.001,
        0,
    ]
    assert len(stated["model"]["source"]) == len(stated["data"]["labels"]) == 64


def test_changed_model_and_data_are_refused(work, capsys, monkeypatch):
    assert main(arguments(max=3)) == 0
    # a comment is no other model
    (work / "models.py").write_text(MODELS + "\n# changed\n")
    monkeypatch.delitem(sys.modules, "models")
    assert main(arguments(max=3)) == 0
    # other code is, and so are other weights
    (work / "models.py").write_text(
        MODELS.replace("W /= np.linalg.norm(W)", "W *= -.1")
    )
    monkeypatch.delitem(sys.modules, "models")
    capsys.readouterr()
    assert main(arguments(max=3)) == 2
    message = capsys.readouterr().err
    assert 'model.source was "' in message
    assert "--accept-change goes on all the same" in message
    assert main(arguments(max=3, accept_change="")) == 0
    history = manifest()["history"]
    assert history[0]["rows"] == 3
    assert all(
        change.startswith(("model.", "probe.")) for change in history[0]["changes"]
    )
    (work / "models.py").write_text(MODELS)
    monkeypatch.delitem(sys.modules, "models")
    savez(y=1 - inputs()[1])
    assert "data.labels was" in says(capsys, arguments(max=3), 2)


def test_second_process_on_one_file_is_refused(work, capsys):
    assert main(arguments(max=3)) == 0
    before = Path("out.tsv").read_bytes()
    with open("out.tsv", "ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert "out.tsv is being written by another process" in says(
            capsys, arguments(max=3), 2
        )
    assert Path("out.tsv").read_bytes() == before


def test_file_without_manifest_is_left_alone(work, capsys):
    header = "out.tsv:1: expected a header of distinct columns"
    for notes, said in {
        "my notes": f"{header}, with idx label",
        "my\nnotes\n": header,
        "idx\tlabel\tpredict\tradius\tcorrect\n": "out.tsv has no manifest",
    }.items():
        Path("out.tsv").write_text(notes)
        assert said in says(capsys, arguments(), 2)
        assert Path("out.tsv").read_text() == notes


def test_target_radius_stops_early(work):
    assert main(arguments(target_radius=0.1, n=20_000, max=6)) == 0
    found = rows("out.tsv")
    assert {row["radius"] for row in found} <= {"0.1", "0.0"}
    decided = [int(row["n"]) for row in found if row["radius"] == "0.1"]
    assert decided
    assert np.median(decided) < 10_000


def test_semielastic_takes_its_shift_from_the_anchors(work):
    x = np.random.default_rng(0).standard_normal((30, 36))
    np.savez("anchors.npz", x=x)
    options = {"method": "semi-elastic", "anchors": "anchors.npz", "rate": 0.1, "k": 3}
    for shift in ("mean", "min", "7.5"):
        assert main(arguments(**options, shift=shift, out=f"{shift}.tsv", max=2)) == 0
        stated = manifest(f"{shift}.tsv")["parameters"]
        assert (stated["rate"], stated["k"], stated["dim"]) == (0.1, 3, 36)
        assert len(stated["anchors"]) == 64
        expected = {"7.5": 7.5}.get(
            shift, pytest.approx(6, abs=2)
        )  # of 36 normal numbers
        assert stated["shift"] == expected
    sigmas = [rows(f"{shift}.tsv")[0]["sigma"] for shift in ("mean", "min", "7.5")]
    assert len(set(sigmas)) == 3
    np.savez("anchors.npz", x=x[:, :35])
    assert main(arguments(**options, out="out.tsv")) == 2


def test_kernels_are_found_before_the_current_folder_is_searched(work):
    """In a clone of the project the folder has their name, and they aren't built in
    place.
    """
    code = """if True:
        import sys
        from rsbounds.loading import internal as _load

        class Path(list):
            def insert(self, place, folder):
                assert "rsbounds_ext" in sys.modules
                super().insert(place, folder)

        sys.path = Path(path for path in sys.path if path)
        _load.build("--model", "models:linear")
    """
    done = python("-c", code)
    assert done.returncode == 0, done.stderr


def test_a_model_that_fails_halfway_keeps_the_rows(work, capsys):
    assert main(arguments(model="models:late")) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    done = rows("out.tsv")
    said = f"rsbounds certify: input {len(done)} failed: RuntimeError: device lost ("
    assert said in last.rpartition("\r")[2]
    assert 0 < len(done) < 12


def test_a_resumed_run_counts_all_rows(work, capsys, monkeypatch):
    monkeypatch.setattr("rsbounds.certify._tally.FIRST", 3)
    assert "certify: first 3 inputs: base accuracy" in says(capsys, arguments(max=5))
    notes = []
    monkeypatch.setattr(Progress, "note", lambda self, text: notes.append(text))
    assert "certify: next 3 inputs: base accuracy" in says(capsys, arguments())
    assert notes[-1].startswith(f"accuracy {read('out.tsv').clean_accuracy():.3f}, ")


def test_skip_and_max_choose_the_inputs(work):
    assert main(arguments(skip=3, max="8", n="1e3", n0="5e1")) == 0
    assert [row["idx"] for row in rows("out.tsv")] == ["0", "3", "6"]
    assert {row["n"] for row in rows("out.tsv")} == {"1000"}
