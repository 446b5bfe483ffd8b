"""Inputs that were chosen, and histories, stand wherever a file is shown."""

import json
from pathlib import Path

from cli_models import (
    arguments,
    says,
)
from result_table import manifest, save, state, table

from rsbounds.cli import main


def test_a_window_of_the_inputs_stands_everywhere(work, capsys):
    """Rows chosen afterwards made an accuracy of 1, and everything was clean."""
    assert main([*arguments(start=1, skip=3), "--commit"]) == 0
    words = "4 of 12 inputs: start 1, skip 3"
    assert words in says(capsys, "report out.tsv --card card.json --html page.html")
    for text in (
        says(capsys, "verify out.tsv"),
        says(capsys, "report out.tsv --json"),
        Path("page.html").read_text(),
        Path("card.md").read_text(),
    ):
        assert words in text
    assert words in json.loads(Path("card.json").read_text())["notes"]
    assert words in says(capsys, "report card.json --html cards.html --json")
    committed = json.loads(Path("out.tsv.commitment.json").read_text())
    assert committed["data"].items() >= {"start": 1, "skip": 3, "total": 12}.items()


def test_a_window_that_is_chosen_afterwards_is_told(finished, capsys):
    kept = [row for row in table() if row["correct"] == "1"][1:3]
    first, second = (int(row["idx"]) for row in kept)
    save(kept)
    window = {"start": first, "skip": second - first, "max": second + 1, "inputs": 2}
    data = manifest()["data"]
    state(data=data | window)
    assert "2 of 12 inputs: start " in says(capsys, "report out.tsv")
    text = says(capsys, "verify out.tsv", 1)
    assert "2 of 12 inputs: start " in text
    assert "is no input of the run" in text  # the probe is of other ones too
    for total in (2, 11):
        state(data=data | window | {"total": total})
        says(capsys, "verify out.tsv --data data.npz", 1)
    state(data={k: v for k, v in (data | window).items() if k != "total"})
    assert "choose an unknown number of all" in says(capsys, "verify out.tsv", 1)
    state(data=data | {"inputs": 2})
    assert "where start, skip and max choose 12 of all" in says(
        capsys, "verify out.tsv", 1
    )


def test_a_history_does_not_silence_the_probe(finished, capsys):
    probe = dict.fromkeys(manifest()["probe"], "0:25,1:25")
    nothing = ([], [{"changes": []}], [{"changes": [" "], "rows": 3}])
    for history in (*nothing, [{"changes": ["versions.numpy was 1"], "rows": 0}]):
        state(probe=probe, history=history)
        text = says(capsys, "verify out.tsv", 1)
        assert text.count("in the manifest's probe") == len(probe)
    # this changes what report and verify tell
    state(history=[{"changes": ["versions.numpy was 1"], "rows": 3}])
    for command in ("verify", "report"):
        text = says(capsys, f"{command} out.tsv")
        assert "3 rows are from before a change: versions.numpy was 1" in text
