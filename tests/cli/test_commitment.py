"""``certify --commit``: what is to be run, written before the first sample."""

import hashlib
import json
from pathlib import Path

import pytest
from cli_models import arguments, one_line
from result_table import manifest, outcomes, state

from rsbounds.audit import verify
from rsbounds.certify import Settings, certify_dataset
from rsbounds.cli import main
from rsbounds.results import merge
from rsbounds.schemes import gaussian

PLACE = Path("out.tsv.commitment.json")


def findings() -> list[str]:
    return [finding.text for finding in verify("out.tsv").findings]


@pytest.fixture
def committed(work):
    assert main([*arguments(), "--commit"]) == 0
    return work


def test_the_commitment_is_the_digest_of_the_file_beside(committed, capsys):
    stated = manifest()["run"]["commitment"]
    assert hashlib.sha256(PLACE.read_bytes()).hexdigest() == stated
    own = json.loads(PLACE.read_text())
    assert {k: manifest()[k] for k in own} == own
    assert {"seed", "n", "alpha", "model", "data", "parameters"} <= own.keys()
    assert main(["verify", "out.tsv"]) == 0
    assert f"committed as sha256 {stated}" in capsys.readouterr().out


def test_it_is_written_before_the_first_sample(work):
    def model(batch):
        assert Path("run.tsv.commitment.json").exists()
        raise ValueError("no sample yet")

    x = [([0.5, 0.0], 0)]
    with pytest.raises(ValueError, match="no sample yet"):
        certify_dataset(
            model,
            x,
            gaussian(0.25),
            n=100,
            out="run.tsv",
            settings=Settings(commit=True),
        )
    assert not Path("run.tsv").exists()
    with pytest.raises(ValueError, match="commit needs out"):
        certify_dataset(model, x, gaussian(0.25), n=100, settings=Settings(commit=True))


def test_a_run_that_is_resumed_keeps_it(committed):
    before, rows = manifest()["run"]["commitment"], outcomes("out.tsv")
    lines = Path("out.tsv").read_text().splitlines(keepends=True)
    Path("out.tsv").write_text("".join(lines[:4]))
    assert main(arguments()) == 0  # the file beside is enough
    assert manifest()["run"]["commitment"] == before
    assert outcomes("out.tsv") == rows
    PLACE.unlink()
    assert main([*arguments(), "--commit"]) == 0
    assert hashlib.sha256(PLACE.read_bytes()).hexdigest() == before


@pytest.mark.parametrize("change", [{"seed": 1}, {"max": 4}])
def test_another_run_is_refused(committed, change, capsys):
    one_line(capsys, arguments(**change), "commits to another run")
    Path("out.tsv").unlink()  # a luckier seed in its place
    one_line(capsys, arguments(**change), "commits to another run")


def test_a_file_with_rows_can_not_be_committed(finished, capsys):
    one_line(capsys, [*arguments(), "--commit"], "without a commitment")
    assert not PLACE.exists()


@pytest.mark.parametrize("change", [{"n0": 51}, {"seed": 3}, {"extra": 1}])
def test_a_manifest_that_was_changed_since_is_found(committed, change):
    assert not findings()
    state(**change)
    assert any("is not the run that was committed" in text for text in findings())


def test_an_accepted_change_is_told_by_verify(committed):
    known = manifest()
    state(versions={**known["versions"], "numpy": "1.0"})
    PLACE.write_text(
        PLACE.read_text().replace(f'"{known["versions"]["numpy"]}"', '"1.0"')
    )
    state(
        run={
            **known["run"],
            "commitment": hashlib.sha256(PLACE.read_bytes()).hexdigest(),
        }
    )
    assert not findings()
    assert main([*arguments(), "--accept-change"]) == 0
    assert manifest()["history"][0]["changes"]
    assert any("is not the run that was committed" in text for text in findings())


def test_an_extended_run_is_not_the_committed_one(work):
    assert main([*arguments(max=4), "--commit"]) == 0
    PLACE.unlink()
    assert main(arguments(max=5)) == 0
    assert any("is not the run that was committed" in text for text in findings())


def test_shards_share_it_and_recertify_drops_it(work):
    for i in range(2):
        assert main([*arguments(shard=f"{i}/2", out=f"{i}.tsv"), "--commit"]) == 0
    merge(Path("out.tsv"), [Path("0.tsv"), Path("1.tsv")])
    assert manifest()["run"]["commitment"] == manifest("0.tsv")["run"]["commitment"]
    assert not findings()
    assert main(["recertify", "out.tsv", "--alpha", "0.01", "--out", "new.tsv"]) == 0
    assert "commitment" not in manifest("new.tsv")["run"]
    Path("out.tsv").unlink()
    state_of = manifest("1.tsv")
    del state_of["run"]["commitment"]
    Path("1.tsv.manifest.json").write_text(json.dumps(state_of))
    merge(Path("out.tsv"), [Path("0.tsv"), Path("1.tsv")])
    assert "commitment" not in manifest()["run"]
