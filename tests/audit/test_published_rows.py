"""Rows of others: what no count can have earned, and what contradicts itself."""

from pathlib import Path

import pytest
from cli_models import (
    one_line,
    says,
)
from scipy.stats import beta, norm

from rsbounds.cli import main

N, ALPHA, SIGMA = 1000, 0.001, 0.5


PAPER = ["--sigma", "0.5", "--n", "1000", "--alpha", "0.001"]


HEAD = "idx\tlabel\tpredict\tradius\tcorrect\ttime"


def earned(count):
    """The radius that a count earns, a little below it."""
    p = beta.ppf(ALPHA, count, N - count + 1)
    return float(SIGMA * norm.ppf(p) * (1 - 1e-12))


def published(*lines, head=HEAD):
    Path("paper.tsv").write_text("".join(f"{line}\n" for line in (head, *lines)))
    return ["verify", "paper.tsv", *PAPER]


def line(radius, *, idx=0, label=3, predict=3, correct=1):
    return f"{idx}\t{label}\t{predict}\t{radius}\t{correct}\t0:00:01"


GOOD = [line(repr(earned(count)), idx=count) for count in (700, 900, 950, N)]


PUBLISHED = {
    "an infinite radius": ([line("inf")], "radius is inf, above 1.2"),
    "1e308": ([line("1e308")], "radius is 1e+308, above 1.2"),
    "correct with another class": (
        [line("0.0", predict=4)],
        "correct is 1, but predict 4 and label 3",
    ),
    "a row twice": ([GOOD[0], GOOD[0]], "appears twice"),
    "a negative index": ([line("0.0", idx=-5)], "input -5: is no index"),
    "an abstention with a radius": (
        [line(repr(earned(900)), predict=-1, correct=0)],
        "predicts -1 with radius",
    ),
    "no rows": ([], "has no rows"),
}


@pytest.mark.parametrize("case", PUBLISHED)
def test_a_published_row_that_nothing_earns_is_a_finding(
    tmp_path, monkeypatch, capsys, case
):
    monkeypatch.chdir(tmp_path)
    assert main(published(*GOOD)) == 0
    lines, said = PUBLISHED[case]
    # among rows of all digits: three digits could be those of a count
    kept = [] if case == "no rows" else GOOD[1:]
    assert said in says(capsys, published(*lines, *kept), 1)


def test_published_radii_that_were_stretched_are_all_told(
    tmp_path, monkeypatch, capsys
):
    """Some count earns as much, so none is an accusation; the factor is said once."""
    monkeypatch.chdir(tmp_path)
    counts = range(600, 990, 10)
    lines = [line(repr(earned(k) * 1.3), idx=k) for k in counts]
    text = says(capsys, published(*lines), 0)
    assert text.count("radii are 1.3 times those of counts") == 1
    assert "as they are at sigma 0.65" in text
    lines.append(line(repr(earned(N) * 1.3)))
    text = says(capsys, published(*lines), 1)
    assert text.count("the most that 1000 of 1000 samples earn") == 1
    # counts in a column leave no doubt
    head = f"{HEAD}\tcount"
    lines = [f"{line(repr(earned(k) * 1.3), idx=k)}\t{k}" for k in counts]
    text = says(capsys, published(*lines, head=head), 1)
    assert text.count("of 1000 samples earn") == len(counts)


def test_published_columns_are_compared_with_what_is_stated(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    head = f"{HEAD}\tsigma\tn\tnorm"
    row = line(repr(earned(900)))
    assert main(published(f"{row}\t0.5\t1000\t2.0", head=head)) == 0
    for columns, said in (
        ("0.25\t1000\t2.0", "sigma is 0.25, 0.5 as stated"),
        ("-\t1000\t2.0", "sigma is nan"),
        ("0.5\t100\t2.0", "n is 100, 1000 as stated"),
        ("0.5\t1000\tinf", "norm is inf, 2.0 as stated"),
    ):
        argv = published(f"{row}\t{columns}", head=head)
        assert said in says(capsys, argv, 1)


@pytest.mark.parametrize("dim", [1, 784, 3072])
def test_radii_in_another_norm_are_those_of_counts_up_to_a_factor(
    tmp_path, monkeypatch, capsys, dim
):
    monkeypatch.chdir(tmp_path)
    radii = [earned(count) / dim**0.5 for count in range(600, N + 1, 20)]
    rows = [line(repr(radius), idx=index) for index, radius in enumerate(radii)]
    text = says(capsys, [*published(*rows), "--norm", "linf"])
    assert "norm is" not in text
    assert "another sigma" not in text
    too_large = line(repr(earned(N) * 1.01), idx=N)
    text = says(capsys, [*published(*rows, too_large), "--norm", "linf"], 1)
    assert "input 1000: radius is" in text
    headed = published(line(repr(radii[0])) + "\tinf", head=f"{HEAD}\tnorm")
    one_line(capsys, [*headed, "--norm", "linf"], "is a column of the file")
    one_line(capsys, [*published(*rows), "--norm", "edit"], "norm must be")


def test_a_file_with_counts_needs_its_manifest(finished, capsys):
    Path("out.tsv.manifest.json").unlink()
    one_line(capsys, ["verify", "out.tsv", *PAPER], "without its manifest out.tsv.")
