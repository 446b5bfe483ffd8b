"""Intervals beside shares, and one row for the runs of several training seeds."""

import numpy as np
import pytest
from pages import run

from rsbounds.cli import main
from rsbounds.confidence import lower_bound, upper_bound
from rsbounds.reports import table
from rsbounds.reports._frontier import frontier_title
from rsbounds.results import Results, Row


def file(name, right, rows=20, **more):
    made = [
        Row(i, 0, 0 if i < right else 1, 0.5, i < right, **more) for i in range(rows)
    ]
    return Results(name, tuple(made))


@pytest.mark.parametrize("style", ["text", "markdown", "latex"])
def test_each_share_has_the_interval_of_its_count(style):
    text = table([file("a", 15)], [0.5, 1.0], style=style, interval=True)
    low = lower_bound(15, 20, 0.025)
    high = upper_bound(15, 20, 0.025)
    [share, *_] = text.split("0.750 (")[1:]
    ends = [float(end) for end in share.partition(")")[0].split(",")]
    assert ends[0] <= low < ends[0] + 0.001
    assert ends[1] - 0.001 < high <= ends[1]
    assert "0.000 (0.000, " in text
    assert "inputs drawn at random" in text
    assert "0.3750 (" not in text  # the average radius is no share


def test_intervals_have_no_place_in_full_precision():
    with pytest.raises(ValueError, match="interval is for the styles text"):
        table([file("a", 15)], style="csv", interval=True)


def test_spreads_over_classes_have_no_interval():
    text = table([run("a", 50, 0.5)], [0.0], classes=True, interval=True)
    lines = [line for line in text.splitlines() if "class s" in line]
    assert len(lines) == 2
    assert not any("(" in line for line in lines)


def test_seeds_have_their_mean_and_deviation():
    files = [file(f"plain-seed{k}.tsv", right) for k, right in enumerate([10, 12, 14])]
    files.append(file("other-seed3.tsv", 20))
    text = table(files, [0.5], seeds=True)
    plain, other = text.splitlines()[1:3]
    deviation = np.std([0.5, 0.6, 0.7], ddof=1)
    assert plain.split()[:2] == ["plain", "3"]
    assert f"0.600 ± {deviation:.3f}" in plain
    assert other.split()[:3] == ["other", "1", "1.000"]
    assert "standard deviation" in text
    assert r"$\pm$" in table(files, [0.5], seeds=True, style="latex")


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ([file("a.tsv", 3)], "seedN in their names, as in run-seed0.tsv; got a.tsv"),
        (
            [file("a-seed0", 3, sigma=0.5), file("a-seed1", 3, sigma=1.0)],
            "differ in training alone; those of a have sigma 0.5 and 1",
        ),
        ([file("a-seed0", 3, n=10), file("a-seed1", 3, n=20)], "have n 10 and 20"),
    ],
)
def test_files_that_are_no_seeds_of_one_run_are_named(files, said):
    with pytest.raises(ValueError, match=said):
        table(files, seeds=True)


def test_the_command_groups_files(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for k in range(2):
        head = "idx\tlabel\tpredict\tradius\tcorrect\ttime\n"
        rows = [f"{i}\t0\t0\t{0.5 + k}\t1\t0:00:01\n" for i in range(4)]
        (tmp_path / f"run-seed{k}.tsv").write_text(head + "".join(rows))
    words = ["report", "run-seed0.tsv", "run-seed1.tsv", "--radii", "1"]
    assert main([*words, "--seeds"]) == 0
    assert "0.500 ± 0.707" in capsys.readouterr().out
    assert main([*words, "--interval", "--out", "t.md"]) == 0
    assert "1.000 (0.397, 1.000)" in (tmp_path / "t.md").read_text()


def test_a_frontier_of_categories_is_told_in_words():
    beside = file("a", 3, norm="l2, changes <= 0", extra={"frontier": "0.5,0;0.1,1"})
    said = "certified accuracy at radius r while up to k categories also change"
    assert frontier_title(beside).startswith(said)
    assert said in table([beside])
