"""What ``rsbounds report`` writes, and what it leaves alone."""

import shutil
from pathlib import Path

import pytest
from cases import slow_among
from cli_models import (
    one_line,
    package,
    says,
)

from rsbounds.cli import main

OUTPUTS = ("--html", "--plot", "--card")


@pytest.mark.parametrize("option", OUTPUTS)
@pytest.mark.parametrize(
    "name",
    [
        "out.tsv",
        "out.tsv.manifest.json",
        "notes.html",
        "notes.json",
        "notes.png",
        "run",
    ],
)
def test_a_report_replaces_no_file_that_it_did_not_write(
    finished, capsys, option, name
):
    """``report RUN.tsv --html RUN.tsv`` destroyed the run and ended with 0."""
    package("matplotlib")
    for ending in ("html", "json", "md", "png"):
        Path(f"notes.{ending}").write_text("mine")
    Path("run").mkdir()
    before = {path: path.read_bytes() for path in Path().iterdir() if path.is_file()}
    one_line(capsys, ["report", "out.tsv", option, name], name)
    assert before == {p: p.read_bytes() for p in Path().iterdir() if p.is_file()}


@pytest.mark.parametrize(
    "ending", slow_among(["png", "pdf"], ["tex", "md", "html", "png", "pdf"])
)
def test_an_ending_says_what_is_written(finished, capsys, ending):
    if ending in ("png", "pdf"):
        package("matplotlib")
    name = f"report.{ending}"
    Path(name).write_text("mine")
    one_line(capsys, ["report", "out.tsv", "--out", name], name)
    assert Path(name).read_text() == "mine"
    Path(name).unlink()
    assert main(["report", "out.tsv", "--out", name]) == 0
    before = Path(name).read_bytes()
    assert main(["report", "out.tsv", "--no-notes", "--out", name]) == 0
    starts = {"tex": b"% ", "md": b"<!-- ", "html": b"<!DOCTYPE", "pdf": b"%PDF"}
    assert before.startswith(starts.get(ending, b"\x89PNG"))


def test_an_ending_that_nothing_is_written_for_is_refused(finished, capsys):
    for name in ("a.doc", "a"):
        one_line(capsys, ["report", "out.tsv", "--out", name], "--out must end in")
        assert not Path(name).exists()


def test_a_card_replaces_no_readme(finished, capsys):
    Path("README.md").write_text("mine")
    one_line(capsys, ["report", "out.tsv", "--card", "README.json"], "README.md exists")
    assert Path("README.md").read_text() == "mine"
    assert not Path("README.json").exists()


def test_a_report_says_what_it_wrote(finished, capsys):
    """``--plot`` and ``--html`` said nothing; with --json they would have ended it."""
    package("matplotlib")
    every = "report out.tsv --plot a --html a.html --card a.json"
    text = says(capsys, every)
    for name in ("a.png: ", "a.html: ", "a.json, a.md: "):
        assert f"\n{name}" in text
        assert Path(name.split(",")[0].removesuffix(": ")).is_file()
    for option in (["--json"], ["--style", "csv"]):
        assert main([*every.split(), *option]) == 0
        shown, told = capsys.readouterr()
        assert "a.png" not in shown
        assert "a.png: " in told
    assert "\na.html: " in says(capsys, "compare out.tsv out.tsv --html a.html")


def test_a_card_is_checked_before_anything_is_written(finished, capsys):
    """``--html --card`` wrote the page and refused the card."""
    header = Path("out.tsv").read_text().splitlines()[0]
    Path("out.tsv").write_text(f"{header}\n")
    both = "report out.tsv --html a.html --card a.json"
    one_line(capsys, both.split(), "at least one row to show")
    no_page = "report out.tsv --card a.json"
    one_line(capsys, no_page.split(), "inputs must be")
    one_line(capsys, ["report", "out.tsv", "--card", "a.txt"], "must end in .json")
    assert not list(Path().glob("a.*"))


def test_markdown_of_strangers_is_text(finished, capsys):
    name = "<img src=x onerror=alert(1)>|[a](b).tsv"
    shutil.copy("out.tsv", name)
    text = says(capsys, ["report", name, "out.tsv", "--style", "markdown"])
    assert "<img" not in text
    assert "&lt;img src=x onerror=alert(1)&gt;\\|\\[a\\](b)" in text
