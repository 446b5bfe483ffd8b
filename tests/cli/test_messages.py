"""Errors that name what is wrong, in one line."""

from pathlib import Path

import pytest
from cli_models import (
    arguments,
    one_line,
    refused,
)

from rsbounds.cli import main

SAYS = {
    "a folder to verify": ("verify .", ".: is a folder, not a file"),
    "a folder to merge": ("merge new.tsv .", ".: is a folder, not a file"),
    "a card to verify": (
        "verify card.json",
        "card.json is no result file: verify takes RUN.tsv, and its card as --card",
    ),
    "maps in a plot": ("report empty.tsv --plot c.png", "at least one row to show"),
    "no true maps": ("verify out.tsv --truth empty.npy", "empty.npy must be an npy"),
    "no such folder": ("merge o/sub/new.tsv out.tsv", "o/sub: there is no such folder"),
    "no folder for a page": (
        "report out.tsv --html o/a.html",
        "o: there is no such folder",
    ),
    "no folder for a rule": ("fit-rule out.tsv --out o/r.json", "o: there is no such"),
    "no folder for rows": ("recertify out.tsv --out o/n.tsv", "o: there is no such"),
}


@pytest.mark.parametrize("case", SAYS)
def test_an_error_says_what_is_wrong(finished, capsys, case):
    words, said = SAYS[case]
    Path("card.json").write_text("{}")
    for name in ("empty.tsv", "empty.npy"):
        Path(name).write_text("")
    one_line(capsys, words.split(), said)


@pytest.mark.parametrize(
    "words", ["certify --n", "verify out.tsv --n", "radius gaussian --sigma"]
)
def test_an_option_without_its_value_is_told(work, capsys, words):
    """The hint was: did you mean --n?"""
    flag = words.split()[-1]
    refused(capsys, words.split(), f"{flag} needs a value; see")


@pytest.mark.parametrize(
    "words",
    [
        "certify --n=--",
        "certify --config=--",
        "certify --method=--",
        "certify --model=m --data=d --out=o --batch=--",
        "radius gaussian --p-a=--",
        "plan out.tsv --hours=--",
    ],
)
def test_two_dashes_are_no_value(work, capsys, words):
    """Python's parser makes an empty list of them, which no option expects."""
    flag = words.split()[-1].removesuffix("=--")
    refused(capsys, words.split(), f"{flag} needs a value; see")


@pytest.mark.parametrize("module", ["models", "models.py"])
def test_a_name_that_a_module_lacks_is_told_by_its_file(work, capsys, module):
    """It was: module '_rsbounds_file_f985...' has no attribute."""
    argv = arguments(model=f"{module}:nothing")
    one_line(capsys, argv, f"--model {module}:nothing: {module} has no 'nothing'")


EMPTY = {
    "certify": (
        "model data target tokenizer like separator checkpoint denoiser trust out "
        "config shard ray calibrate truth anchors categories"
    ),
    "verify": "model data tokenizer like truth card device",
    "report": "html card plot out truth",
    "compare": "html plot",
    "recertify": "method method-args rule out",
    "fit-rule": "out",
    "demo": "out",
}
ASKED_BY = {"calibrate": ["--answer=flag"], "truth": ["--answer=maps"]}
ASKED_BY |= {"anchors": ["--method=semi-elastic"]}


@pytest.mark.parametrize(
    ("command", "name"), [(key, name) for key in EMPTY for name in EMPTY[key].split()]
)
def test_an_empty_name_or_place_is_not_one_that_is_left_out(command, name, capsys):
    further = ASKED_BY.get(name, []) if command == "certify" else []
    for words in ([f"--{name}="], [f"--{name}", ""]):
        with pytest.raises(SystemExit) as ended:
            main([command, *further, *words])
        error = capsys.readouterr().err
        assert ended.value.code == 2
        assert error.count("\n") == 1
        assert f"--{name}: must " in error


def test_an_empty_place_among_arguments_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["report", ""])
    assert "argument FILE.tsv: must not be empty" in capsys.readouterr().err
