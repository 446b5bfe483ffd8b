"""A result file written before files said their format: read, resumed, merged, verified."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from rsbounds.certify._dataset import versions
from rsbounds.cli import main
from rsbounds.results import FORMAT, Manifest, read, read_rows

FILES = Path(__file__).parent / "format1"
COMMAND = ["certify", "--model", "models:linear", "--data", "data.npz", "--n0", "50"]
COMMAND += ["--n", "1000", "--sigma", "0.25"]


@pytest.fixture
def work(tmp_path, monkeypatch):
    for file in FILES.iterdir():
        if file.is_file():
            shutil.copy(file, tmp_path)
    for place in tmp_path.glob("*.manifest.json"):  # the versions of this machine
        old = json.loads(place.read_text())
        assert "format" not in old
        old["versions"] = {name: versions().get(name) for name in old["versions"]}
        place.write_text(json.dumps(old))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "models", raising=False)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("RANK", "WORLD_SIZE", "SLURM_PROCID", "SLURM_NTASKS"):
        monkeypatch.delenv(name, raising=False)


def test_it_is_read_and_reported(work, capsys):
    found = read("run.tsv")
    assert found.manifest is not None
    assert found.manifest.format == 1 < FORMAT
    assert [row.count for row in found.rows] == [731, 630, 620, 636, 665, 615, 836]
    assert {row.bound for row in found.rows} == {"clopper-pearson"}
    assert main(["report", "run.tsv"]) == 0
    assert "run" in capsys.readouterr().out


def test_it_is_verified(work, capsys):
    assert main(["verify", "run.tsv"]) == 0
    assert "7 rows, no findings" in capsys.readouterr().out
    text = Path("run.tsv").read_text()
    Path("run.tsv").write_text(text.replace("0.20781778768199832", "0.2078177877"))
    assert main(["verify", "run.tsv"]) == 1
    assert "above the truth" in capsys.readouterr().out


def test_it_is_resumed_in_its_own_columns(work, capsys):
    Path("run.tsv").write_text("".join(Path("run.tsv").read_text().splitlines(True)[:4]))
    before = Path("run.tsv").read_text()
    assert main([*COMMAND, "--out", "run.tsv", "--max", "7"]) == 0
    assert "run.tsv: 7 rows, 4 of them new" in capsys.readouterr().out
    after = Path("run.tsv").read_text()
    assert after.startswith(before)
    assert {line.count("\t") for line in after.splitlines()} == {11}
    # the procedure of the file: Cohen's, which the runner-up would not be
    assert not Manifest.read(Path("run.tsv")).runner_up
    assert main(["verify", "run.tsv"]) == 0


def test_it_is_not_resumed_otherwise(work, capsys):
    assert main([*COMMAND, "--out", "run.tsv", "--max", "7", "--runner-up", "on"]) == 2
    assert "runner_up was false and is now true" in capsys.readouterr().err
    assert main([*COMMAND[:-1], "0.5", "--out", "run.tsv", "--max", "7"]) == 2
    assert "parameters.sigma was 0.25 and is now 0.5" in capsys.readouterr().err


def test_its_shards_are_merged(work, capsys):
    assert main(["merge", "all.tsv", "shard1.tsv", "shard0.tsv"]) == 0
    assert [row.count for row in read_rows(Path("all.tsv"))] == [
        row.count for row in read_rows(Path("run.tsv"))
    ]
    assert main(["verify", "all.tsv"]) == 0
    assert main(["status", "all.tsv"]) == 0


def test_it_cannot_be_certified_again(work, capsys):
    assert main(["recertify", "run.tsv", "--out", "new.tsv"]) == 2
    assert "run.tsv keeps one count a row" in capsys.readouterr().err
