"""The table of the five papers: every function, test and page that it names exists."""

import importlib
import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "reproductions"
TABLE = runpy.run_path(str(FOLDER / "papers.py"))
ROWS = TABLE["rows"]()


def test_pages_are_those_of_the_table():
    assert (FOLDER / "papers.md").read_text() == TABLE["page"]()
    text = (FOLDER / "index.md").read_text()
    assert TABLE["index"](text) == text
    assert TABLE["counts"]() in text


def test_rows_say_what_is_missing():
    for row in ROWS:
        assert row["paper"] in TABLE["PAPERS"], row
        assert row["state"] in TABLE["STATES"], row
        assert row["item"], row
        assert row["says"], row
        if row["state"] == "yes":
            assert row["page"], row
            assert row["functions"] or row["test"], row
        else:
            assert row["here"], row
    names = [(row["paper"], row["item"]) for row in ROWS]
    assert len(set(names)) == len(names)


def named():
    return sorted({name for row in ROWS for name in row["functions"].split()})


@pytest.mark.parametrize("name", named())
def test_functions_exist(name):
    module, _, attribute = name.rpartition(".")
    if module == "rsbounds.torch":
        pytest.importorskip("torch")
    assert callable(getattr(importlib.import_module(module), attribute))


def test_tests_exist():
    for row in ROWS:
        if row["test"]:
            file, _, test = row["test"].partition("::")
            source = (ROOT / file).read_text()
            assert re.search(rf"^def {test}\(", source, re.M), row["test"]


def test_experiments_on_the_pages_are_in_the_table():
    """A page of one of the five papers that no row shows would not be found."""
    shown = {row["page"].partition("#")[0] for row in ROWS}
    own = ("sukenik", "bergstrom", "anderson", "hong", "fixed-noise")
    assert {f"reproductions/{name}/index.md" for name in own} <= shown
