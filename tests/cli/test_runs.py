"""What becomes of runs: merged, extended, certified again, said before they begin."""

import json
from pathlib import Path

import numpy as np
import pytest
from cli_models import (
    MODELS,
    arguments,
    inputs,
    models,
    one_line,
    savez,
    says,
)
from result_table import RULE, manifest, table

from rsbounds.cli import main


def test_merge_of_some_shards_says_what_is_missing(finished, capsys):
    for i in range(3):
        assert main(arguments(shard=f"{i}/3", out=f"{i}.tsv")) == 0
    assert "8 of 12 rows: inputs 1, 4, 7, 10 missing" in says(
        capsys, "merge two.tsv 0.tsv 2.tsv"
    )
    assert "8 of 12 rows" in says(capsys, "verify two.tsv", 1)
    assert main(["report", "two.tsv"]) == 0
    said = (
        capsys.readouterr().out
    )  # the rows' own times are a worker's, however many there were
    assert "8 of 12 rows" in said
    assert " a second for one worker, " in said
    assert main(["report", "0.tsv", "1.tsv", "2.tsv", "--json"]) == 0
    assert [each["missing"] for each in json.loads(capsys.readouterr().out)] == [
        [],
        [],
        [],
    ]


def test_an_interrupted_merge_can_be_repeated(finished):
    for i in range(2):
        assert main(arguments(shard=f"{i}/2", out=f"{i}.tsv")) == 0
    Path("all.tsv.manifest.json").write_text(
        "{}"
    )  # what a kill between the two files leaves
    Path("all.tsv.new").write_text("idx")
    assert main(["merge", "all.tsv", "0.tsv", "1.tsv"]) == 0
    assert main(["verify", "all.tsv"]) == 0


def test_a_run_is_extended_where_its_rows_stay_valid(finished, capsys):
    assert main(arguments(max=6, skip=2, out="some.tsv")) == 0
    assert main(arguments(skip=2, out="some.tsv")) == 0
    assert main(arguments(out="some.tsv")) == 0
    assert (
        Path("some.tsv").read_text().split("\n")[0]
        == Path("out.tsv").read_text().split("\n")[0]
    )
    rows = [line.split("\t") for line in Path("some.tsv").read_text().splitlines()[1:]]
    assert [row[:5] for row in rows] == [
        list(row.values())[:5] for row in table()
    ]  # in order
    assert main(["verify", "some.tsv"]) == 0
    assert "rows of the file are not among the inputs selected now" in says(
        capsys, arguments(skip=5, out="some.tsv"), 2
    )


@pytest.mark.filterwarnings("default:.*void")
def test_void_samples_are_loud_and_counted(finished, capsys):
    models(
        MODELS + "\ndef half():\n"
        "    def call(batch):\n"
        "        scores = linear()(batch)\n"
        "        first = batch.reshape(len(batch), -1)[:, 0]\n"
        "        scores[1000 * np.abs(first) % 1 < 0.5] = np.nan\n"
        "        return scores\n"
        "    return call\n"
    )
    assert main(arguments(model="models:half", out="half.tsv")) == 0
    err = capsys.readouterr().err
    assert "samples are void (their scores hold NaN)" in err
    assert "samples were void" in err
    header, *lines = (
        line.split("\t") for line in Path("half.tsv").read_text().splitlines()
    )
    voids = [int(line[header.index("void")]) for line in lines]
    assert all(200 < v < 900 for v in voids)
    assert main(["verify", "half.tsv"]) == 0


def test_counts_certify_again_without_the_model(finished, capsys):
    (finished / "models.py").unlink()
    again = ["recertify", "out.tsv", "--out"]
    assert main([*again, "cohen.tsv", "--runner-up", "off"]) == 0
    assert main([*again, "same.tsv"]) == 0
    assert Path("same.tsv").read_text() == Path("out.tsv").read_text()
    assert main([*again, "anytime.tsv", "--bound", "anytime", "--alpha", "0.01"]) == 0
    for name in ("cohen", "same", "anytime"):
        assert main(["verify", f"{name}.tsv"]) == 0
    history = manifest("anytime.tsv")["history"]
    assert history[0]["recertified"] == "out.tsv"
    assert history[0]["alpha"] == 0.001
    assert "--method semi-elastic certifies another classifier" in says(
        capsys, [*again, "x.tsv", "--method", "semi-elastic"], 2
    )
    assert "same.tsv exists" in says(capsys, "recertify out.tsv --out same.tsv", 2)


@pytest.mark.parametrize(
    "command", [["recertify", "--rule", "rule.json"], ["fit-rule"]]
)
def test_two_files_of_one_noise_level(finished, capsys, command):
    Path("rule.json").write_text(json.dumps(RULE))
    assert main(arguments(seed=1, out="more.tsv")) == 0
    assert "more.tsv is the second file of noise level 0.25" in says(
        capsys, [*command, "out.tsv", "more.tsv", "--out", "new"], 2
    )


@pytest.mark.filterwarnings(
    "default:n = 9", "default:the target radius", "default:the first input reaches"
)
def test_what_cannot_come_out_well_is_said_once_before_sampling(finished, capsys):
    few = says(capsys, arguments(n=9, max=1, out="few.tsv"))
    assert few.count("abstains whatever the votes") == 1
    assert "n = 11" in few
    assert "is above the largest that n = 1000 samples can show" in says(
        capsys, arguments(target_radius=3, max=1, out="far.tsv")
    )
    assert main(arguments(out="n.tsv", max=1, n="1e3")) == 0
    pixels = np.linspace(0, 255, inputs()[0].size).reshape(inputs()[0].shape)
    savez(x=pixels[::-1].copy())
    assert "--scale 255" in says(capsys, arguments(max=1, out="big.tsv"))
    for name, other in (("below", -pixels), ("far", 40 * pixels)):  # a table
        savez(x=other[::-1].copy())
        message = says(capsys, arguments(max=1, out=f"{name}-table.tsv"))
        assert "--scale" not in message
        assert "columns of a table are standardised first" in message


@pytest.mark.filterwarnings("default:data.npz. a label is the model's number")
def test_labels_that_begin_at_one_and_models_below_chance(work, capsys):
    """Eight inputs labelled from 1 had base accuracy .000 and no line at all."""
    x, _ = inputs()
    assert main(arguments()) == 0  # imports the models
    import models

    y = models.linear()(x).argmax(1)
    savez(y=y + 1)
    refused = f"2; {y.sum()} of 12 are not, the first 2: labels are counted from 0"
    one_line(capsys, arguments(out="one.tsv"), refused)
    # those of the rows are classes, and one beyond them tells
    kept = y == 0  # of class 0, but said to be 1
    savez(x=np.concatenate([x[kept], x[~kept]]), y=np.sort(y) + 1)
    assert kept.sum() >= 3
    message = says(capsys, arguments(max=3, out="few.tsv"))
    assert "a label is the model's number of classes, 2: labels are cou" in message
    assert "first 3 inputs: base accuracy 0." in message
    assert "below chance" in message
    savez(x=x, y=y)
    assert "below chance" not in says(capsys, arguments(max=3, out="right.tsv"))
