"""``rsbounds merge`` and ``rsbounds verify``, shards, and the result files."""

import math
import os
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from cli_models import arguments, inputs, one_line, savez, says
from hypothesis import given
from hypothesis import strategies as st
from result_table import manifest, outcomes, save, state, table

from rsbounds._numerics.decimals import truncated
from rsbounds.cli import main
from rsbounds.results import Manifest
from rsbounds.results.internal import read_rows

SHARES = ("RANK", "WORLD_SIZE", "SLURM_PROCID", "SLURM_NTASKS")


@pytest.fixture(autouse=True)
def no_share(monkeypatch):
    for name in SHARES:
        monkeypatch.delenv(name, raising=False)


def edit(place, column, change):
    rows = table()
    rows[place][column] = str(change(rows[place][column]))
    save(rows)


def test_shards_merge_into_the_whole(work, capsys):
    assert main(arguments(skip=2, out="whole.tsv")) == 0
    for i in range(3):
        assert main(arguments(skip=2, shard=f"{i}/3", out=f"{i}.tsv")) == 0
        assert len(read_rows(Path(f"{i}.tsv"))) == 2
    assert "all.tsv: 6 rows from 4 files" in says(
        capsys, "merge all.tsv 2.tsv 0.tsv 1.tsv 0.tsv"
    )
    assert outcomes("all.tsv") == outcomes("whole.tsv")
    assert main(["verify", "all.tsv"]) == 0


def test_merged_file_is_completed_like_any_other(finished, capsys):
    assert main(arguments(shard="1/2", out="1.tsv")) == 0
    assert "6 of 12 rows: inputs 0, 2, 4, 6, 8 and 1 more missing" in says(
        capsys, "merge all.tsv 1.tsv"
    )
    assert "all.tsv: 12 rows, 6 of them new" in says(capsys, arguments(out="all.tsv"))
    assert outcomes("all.tsv") == outcomes("out.tsv")


def test_merge_refuses_conflicts_and_strangers(finished, capsys):
    for end in ("", ".manifest.json"):
        Path(f"b.tsv{end}").write_bytes(Path(f"out.tsv{end}").read_bytes())
    edit(4, "count", lambda c: int(c) - 1)
    one_line(
        capsys,
        ["merge", "all.tsv", "b.tsv", "out.tsv"],
        "out.tsv and b.tsv disagree on input 4",
    )
    state(seed=1)
    said = "out.tsv is not of the run of b.tsv: seed was 0 and is now 1"
    one_line(capsys, ["merge", "all.tsv", "b.tsv", "out.tsv"], said)
    Path("out.tsv.manifest.json").unlink()
    one_line(
        capsys, ["merge", "all.tsv", "b.tsv", "out.tsv"], "out.tsv has no manifest"
    )
    for command in (
        ["merge", "all.tsv"],
        ["report"],
        ["verify"],
        ["recertify", "--out", "d.tsv"],
    ):
        one_line(
            capsys, [*command, "none.tsv"], ": none.tsv: No such file or directory\n"
        )
    assert not Path("all.tsv").exists()
    one_line(capsys, ["merge", "b.tsv", "out.tsv"], "b.tsv exists")


def test_slurm_and_torchrun_environments_name_the_share(work, monkeypatch, capsys):
    monkeypatch.setenv("SLURM_PROCID", "1")
    monkeypatch.setenv("SLURM_NTASKS", "4")
    assert "SLURM shard 1/4, writing out.1-of-4.tsv" in says(capsys, arguments())
    assert [row.idx for row in read_rows(Path("out.1-of-4.tsv"))] == [1, 5, 9]
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert main(arguments()) == 0
    assert len(read_rows(Path("out.tsv"))) == 12


DAMAGE = [
    ({"parameters": {}}, "parameters.sigma is missing"),
    ({"parameters": {"sigma": [0.25, 0.25]}}, "parameters.sigma must be one number"),
    (
        {"parameters": {"sigma": math.nan}},
        "parameters.sigma must be in (0, inf); got nan",
    ),
    ({"method": "lipschitz"}, "parameters.lip is missing"),
]


def test_verify_refuses_a_damaged_manifest(finished, capsys):
    """Exit status 1 is for findings."""
    whole = manifest()
    for change, said in DAMAGE:
        state(**whole | change)
        one_line(
            capsys, ["verify", "out.tsv"], "the manifest of out.tsv is damaged: ", said
        )


@pytest.mark.slow
@given(st.floats(0, 1e6) | st.floats(0, 1) | st.floats(1e-300, 1e-290))
def test_written_numbers_are_never_above_and_read_back_exactly(value):
    text = truncated(value)
    assert Decimal(text) <= Decimal(value)
    assert float(text) == value


CHANGED = {"changes": ["versions.numpy was 1 and is now 2"], "rows": 3, "run": {}}


def test_what_was_accepted_in_a_shard_is_kept_by_merge(work):
    for i in range(2):
        assert main(arguments(shard=f"{i}/2", out=f"{i}.tsv")) == 0
    state("1.tsv", history=[CHANGED])
    assert main(["merge", "all.tsv", "0.tsv", "1.tsv"]) == 0
    assert Manifest.read(Path("all.tsv")).history == [CHANGED]


def test_inputs_that_cannot_be_decoded_are_told_everywhere(work, capsys):
    x, _ = inputs()
    x[[2, 5]] = np.nan  # neither the first nor one of the probes, 0, 3, 6 and 9
    savez(x=x)
    one_line(capsys, arguments(), "input 2 must be finite")
    for i in range(2):
        assert main([*arguments(shard=f"{i}/2", out=f"{i}.tsv"), "--skip-corrupt"]) == 0
    assert main(["merge", "all.tsv", "0.tsv", "1.tsv"]) == 0
    assert Manifest.read(Path("all.tsv")).corrupt() == {2, 5}
    left = "2 inputs left out: they are said to be corrupt (stated)"
    assert left in says(capsys, "report all.tsv")
    assert main(["verify", "all.tsv", "--data", "data.npz"]) == 0


@pytest.mark.parametrize(
    "words",
    [
        "report pipe",
        "verify pipe",
        "verify out.tsv --card pipe",
        "verify out.tsv --truth pipe",
        "report pipe.json --html a.html",
        "recertify out.tsv --rule pipe --out b.tsv",
        "recertify pipe --alpha 0.1 --out b.tsv",
        "certify --config pipe",
        "fit-rule pipe --out rule.json",
        "merge b.tsv pipe",
    ],
)
@pytest.mark.parametrize("kind", ["pipe", "zero"])
def test_files_without_an_end_are_refused(finished, capsys, words, kind):
    """A pipe hung; so did any device."""
    for name in ("pipe", "pipe.json", "pipe.tsv.manifest.json"):
        if kind == "pipe":
            os.mkfifo(name)
        else:
            Path(name).symlink_to("/dev/zero")
    one_line(capsys, words.split())
    assert not Path("b.tsv").exists()


@pytest.mark.parametrize("ending", ["manifest", "commitment"])
def test_what_lies_beside_a_file_has_an_end(work, capsys, ending):
    assert main([*arguments(max=2), "--commit"]) == 0
    place = Path(f"out.tsv.{ending}.json")
    place.unlink()
    os.mkfifo(place)
    assert "must be a regular file" in says(capsys, arguments(max=2), 2)
