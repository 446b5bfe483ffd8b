"""A card and the file that it is of."""

import json
from pathlib import Path

import pytest
from cli_models import (
    says,
)
from result_table import save, table

from rsbounds.cli import main

CARD = "report out.tsv --card out.json"


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        ("accuracy", [{"radius": 0.0, "accuracy": 1.0, "low": 0.9, "high": 1.0}]),
        (
            "verified",
            {"rows": 60, "proved": 60, "findings": 0, "first": [], "stated": []},
        ),
        ("unknown", []),
        ("hashes", {"rows": "0" * 64}),
        ("acr", 9.0),
        ("inputs", 60),
        ("notes", []),
    ],
)
def test_a_card_is_computed_again(finished, capsys, entry, value):
    """Any card reached the table of cards as it was."""
    save(table()[:11])
    assert main(CARD.split()) == 0
    # the file lacks a row: a finding of its own
    honest = says(capsys, "verify out.tsv --card out.json", 1)
    assert "the card's" not in honest
    board = "report out.json --html cards.html"
    assert main(board.split()) == 0
    assert "against its file" in Path("cards.html").read_text()
    made = json.loads(Path("out.json").read_text())
    Path("out.json").write_text(json.dumps(made | {entry: value}))
    assert f"the card's {entry} is" in says(capsys, "verify out.tsv --card out.json", 1)
    assert main(board.split()) == 0
    page = Path("cards.html").read_text()
    assert "its writer&#39;s word</td>" in page
    assert "against its file" not in page


def test_a_card_without_its_file_is_its_writers_word(finished):
    assert main(CARD.split()) == 0
    Path("out.tsv").unlink()
    assert main(["report", "out.json", "--html", "cards.html"]) == 0
    assert "its writer&#39;s word</td>" in Path("cards.html").read_text()
