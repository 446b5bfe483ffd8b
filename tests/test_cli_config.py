"""The options of ``rsbounds certify``: its help, those of a file, and several noise levels."""

import re
from pathlib import Path

import pytest
from cli_models import arguments, refused
from result_table import manifest, outcomes

from rsbounds.cli import main
from rsbounds.results import read


def listed(capsys, *words):
    with pytest.raises(SystemExit):
        main(["certify", *words, "--help"])
    text = capsys.readouterr().out
    assert len(text.splitlines()) < 75
    return set(re.findall(r"^  (--[\w-]+)", text, re.M))


def test_help_shows_the_options_of_one_method(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    plain = listed(capsys)
    assert len(plain) <= 35
    assert {"--model", "--data", "--sigma", "--out", "--device"} <= plain
    assert not {"--lip", "--rule", "--norm"} & plain
    other = plain - {"--sigma"}
    assert listed(capsys, "--method", "gaussian") == plain | {"--norm"}
    assert listed(capsys, "--method", "lipschitz") == {
        *other, "--sigma-function", "--lip", "--sigma-min"
    }  # fmt: skip
    assert listed(capsys, "--method=composite") == other | {"--rule"}
    assert listed(capsys, "--method", "a:b") == other | {"--method-args"}


FILE = """# what every run has
--model models:linear --data=data.npz  # a comment
--n0 50 --n 1000
--sigma 0.25
"""


def test_a_file_stands_for_the_words_in_it(work):
    Path("run.args").write_text(f"{FILE}--max 2\n")
    assert main(["certify", "@run.args", "--out", "a.tsv"]) == 0
    assert main(arguments(max=2, out="b.tsv")) == 0
    assert outcomes("a.tsv") == outcomes("b.tsv")
    assert {**manifest("a.tsv"), "run": 0} == {**manifest("b.tsv"), "run": 0}
    assert main(["certify", "@run.args", "--max", "3", "--out", "c.tsv"]) == 0
    assert len(read("c.tsv").rows) == 3


def test_a_method_named_in_a_file_brings_its_options(work, capsys):
    Path("run.args").write_text(f"{FILE}--method range --out a.tsv")
    refused(capsys, ["certify", "@run.args"], "--sigma has no meaning for --method range")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"--sgima 1", "did you mean --sigma?"),
        (b"--n x", "argument --n: "),
        (b"--model 'a", "No closing quotation"),
        (b"\xff", "can't decode"),
        (None, "No such file or directory: 'run.args'"),
    ],
)
def test_a_bad_file_is_one_line(work, capsys, content, message):
    if content is not None:
        Path("run.args").write_bytes(content)
    refused(capsys, ["certify", "@run.args", "--out", "out.tsv"], message)


def test_several_levels_give_a_file_each(work, capsys):
    assert main(arguments(sigma="0.25,0.5", out="run.tsv")) == 0
    shown = capsys.readouterr().out
    assert shown.index("run-sigma0.25.tsv: 12 rows") < shown.index("run-sigma0.5.tsv: 12 rows")
    assert not Path("run.tsv").exists()
    for level in ("0.25", "0.5"):
        assert main(arguments(sigma=level, out=f"{level}.tsv")) == 0
        assert outcomes(f"run-sigma{level}.tsv") == outcomes(f"{level}.tsv")
    assert main(arguments(sigma="1,1.00000000001", max=1, out="near.tsv")) == 0
    names = {"near-sigma1.tsv", "near-sigma1.00000000001.tsv"}
    assert {path.name for path in work.glob("near*.tsv")} == names


@pytest.mark.parametrize(
    ("sigma", "said"),
    [
        ("0.25,0.25", "expected each noise level once"),
        ("0.25,", "argument --sigma: could not convert"),
        ("0.25,0", "argument --sigma: sigma must be"),
        ("nan,0.25", "argument --sigma: sigma must be"),
    ],
)
def test_bad_levels_are_one_line_before_anything_runs(work, capsys, sigma, said):
    refused(capsys, arguments(sigma=sigma), said)
