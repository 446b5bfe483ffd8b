"""``rsbounds recertify`` and ``fit-rule``: rules and the runs that chose them."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from cases import slow_among, slow_but
from cli_models import arguments, inputs, one_line, savez, says
from result_table import RULE, manifest, state

from rsbounds.cli import main

CHANGED = {"changes": ["versions.numpy was 1 and is now 2"], "rows": 3, "run": {}}


@pytest.mark.parametrize("command", slow_but(["recertify"], ["recertify", "fit-rule"]))
@pytest.mark.parametrize(
    "change", slow_among(["label"], ["x", "label", "hash", "no hash"])
)
def test_a_rule_is_of_one_data_set(work, capsys, change, command):
    """A stage on easier inputs raised a rule's average radius from .123 to .322."""
    Path("rule.json").write_text(json.dumps(RULE))
    for name, level in (("a", 0.25), ("b", 0.5)):
        assert main(arguments(out=f"{name}.tsv", sigma=level)) == 0
    x, y = inputs()
    savez(**({"y": 1 - y} if change == "label" else {"x": 2 * x}))
    assert main(arguments(out="c.tsv", sigma=0.5)) == 0
    if change != "x":  # and its manifest is forged
        state("c.tsv", data=manifest("a.tsv")["data"], probe={})
    if change == "no hash":
        for path in (Path("a.tsv"), Path("c.tsv")):
            path.write_text(
                re.sub(r"\t[0-9a-f]{16}$", "\t-", path.read_text(), flags=re.M)
            )
    rule = ["--rule", "rule.json"] if command == "recertify" else []
    said = {
        "x": "c.tsv is not of the run of a.tsv: data.x was",
        "no hash": "of input 0 is -",
    }
    said |= dict.fromkeys(("label", "hash"), f"the {change} of input 0 is ")
    one_line(capsys, [command, "a.tsv", "c.tsv", "--out", "new", *rule], said[change])
    assert not Path("new").exists()
    if change == "x":
        assert main([command, "a.tsv", "b.tsv", "--out", "new", *rule]) == 0


def test_a_rule_on_the_runs_that_chose_it_is_marked(work, capsys):
    """Its counts chose it, so that they prove nothing by it; others' do."""
    for seed in (0, 1):
        for level in (0.25, 0.5):
            assert (
                main(arguments(out=f"{level}-{seed}.tsv", sigma=level, seed=seed)) == 0
            )
    state("0.5-0.tsv", history=[CHANGED])  # of the second stage
    fitted = ["0.25-0.tsv", "0.5-0.tsv"]
    assert main(["fit-rule", *fitted, "--out", "rule.json"]) == 0
    assert main(["recertify", fitted[0], "--alpha", "0.001", "--out", "again.tsv"]) == 0
    cases = (
        (fitted, 1),
        (["again.tsv", fitted[1]], 1),
        (["0.25-1.tsv", "0.5-1.tsv"], 0),
    )
    for k, (files, status) in enumerate(cases):
        out = f"list{k}.tsv"
        assert main(["recertify", *files, "--rule", "rule.json", "--out", out]) == 0
        assert (CHANGED in manifest(out)["history"]) == (files[1] == fitted[1])
        capsys.readouterr()
        assert main(["verify", out]) == status
        said = (
            "the rule was fitted to the rows that it certifies"
            in capsys.readouterr().out
        )
        assert said == bool(status)


@pytest.mark.parametrize("command", ["recertify", "fit-rule"])
def test_a_rule_takes_runs_of_numbers_of_samples_fixed_in_advance(
    work, capsys, command
):
    Path("rule.json").write_text(json.dumps(RULE))
    assert main(arguments(out="a.tsv")) == 0
    assert main(arguments(sigma=0.5)) == 0
    state(target_radius=0.1, bound="anytime")
    rule_option = ["--rule", "rule.json"] if command == "recertify" else []
    argv = [command, "a.tsv", "out.tsv", "--out", "new.tsv", *rule_option]
    one_line(capsys, argv, "out.tsv was sampled until a target radius was decided")
    assert not Path("new.tsv").exists()


@pytest.fixture
def fitted(work):
    """A rule that two runs of 12 inputs chose."""
    for level in (0.25, 0.5):
        assert main(arguments(out=f"{level}.tsv", sigma=level)) == 0
    assert main(["fit-rule", "0.25.tsv", "0.5.tsv", "--out", "rule.json"]) == 0


def longer(files):
    x, y = inputs()
    savez(x=np.concatenate([x, x + 1]), y=np.concatenate([y, y]))
    for name, level in zip(files, (0.25, 0.5), strict=True):
        Path(name).unlink()  # the same rows, and twelve more
        assert main(arguments(out=name, sigma=level)) == 0


def merged(files):
    for name in files:
        Path(name).rename("part.tsv")
        Path(f"{name}.manifest.json").rename("part.tsv.manifest.json")
        assert main(["merge", name, "part.tsv"]) == 0


def with_a_blank_line(files):
    for name in files:
        Path(name).write_text(Path(name).read_text() + "\n")


@pytest.mark.parametrize(
    "change", slow_among([longer, merged], [None, longer, merged, with_a_blank_line])
)
def test_a_rule_on_the_rows_that_chose_it_is_marked_in_any_file(fitted, capsys, change):
    """The files were compared, which a blank line makes others."""
    files = ["0.25.tsv", "0.5.tsv"]
    if change is not None:
        change(files)
    again = ["recertify", *files, "--rule", "rule.json", "--out", "out.tsv"]
    assert main(again) == 0
    assert "was fitted to the rows that it certifies" in says(
        capsys, "verify out.tsv", 1
    )
    assert "was fitted on the rows that it certifies" in says(capsys, "report out.tsv")


def test_a_run_of_a_rule_on_the_inputs_that_chose_it_is_told(fitted, capsys):
    """Its samples are fresh: its level holds, its accuracy is of these inputs."""
    assert main(arguments(sigma=None, rule="rule.json")) == 0
    assert main(["verify", "out.tsv"]) == 0
    words = "12 of these inputs chose the rule"
    assert words in says(capsys, "report out.tsv --card out.json")
    assert words in Path("out.md").read_text()
    x, y = inputs()
    savez(x=x + 1, y=y)  # the same indices, of other inputs
    Path("out.tsv").unlink()
    assert main(arguments(sigma=None, rule="rule.json")) == 0
    assert words not in says(capsys, "report out.tsv")


def test_a_rule_of_many_items_is_refused(finished, capsys):
    rule = {"format": 1, "sigmas": [0.25], "items": []}
    rule["items"] = 20_000 * [[{"kind": "margin", "stage": 0, "threshold": 0.0}]]
    Path("rule.json").write_text(json.dumps(rule))
    words = "recertify out.tsv --rule rule.json --out b.tsv"
    one_line(capsys, words.split(), "at most 1000 items")
