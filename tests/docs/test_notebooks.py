"""The notebooks are what their pages say, and run from their first cell to the last."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

NOTEBOOKS = Path(__file__).parents[2] / "docs" / "notebooks"
NAMES = sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))


@pytest.fixture(scope="module")
def make():
    spec = importlib.util.spec_from_file_location("make", NOTEBOOKS / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cells_of(name):
    return json.loads((NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8"))[
        "cells"
    ]


def test_every_notebook_is_listed(make):
    assert sorted(make.SOURCES) == NAMES
    index = (NOTEBOOKS / "index.md").read_text(encoding="utf-8")
    for name in NAMES:
        assert f"({name}.ipynb)" in index


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_its_page(make, name):
    """`python docs/notebooks/make.py` makes it again."""
    pytest.importorskip("jupytext")
    stored = (NOTEBOOKS / f"{name}.ipynb").read_text(encoding="utf-8")
    assert make.as_json(make.notebook(name)) == stored


@pytest.mark.parametrize("name", NAMES)
def test_notebooks_are_kept_without_outputs_and_dead_links(name):
    for cell in cells_of(name):
        assert not cell.get("outputs")
        source = "".join(cell["source"])
        assert ">>>" not in source
        if cell["cell_type"] == "markdown":
            assert "```" not in source  # jupytext would have made it a cell
            assert "<!--" not in source
            for target in re.findall(r"\]\(([^)\s#]+)", source):
                assert (NOTEBOOKS / target).exists(), target


def test_a_session_becomes_cells_that_end_where_a_value_is_shown(make):
    shown = ">>> x = 1\n>>> x\n1\n"
    function = ">>> def f(x):\n...     return x\n>>> f(x)\n1\n>>> y = x\n"
    first, second, third = make.sessions(shown + function)
    assert first == "x = 1\nx\n"
    assert second == "\ndef f(x):\n    return x\n\nf(x)\n"
    assert third == "y = x\n"


def test_a_block_that_no_notebook_can_hold_is_refused(make):
    with pytest.raises(ValueError, match="yaml"):
        list(make.cells("yaml", "a: 1\n", follows_cell=False))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_runs(make, name, tmp_path):
    """The first hour with a fifth of its samples and inputs: its page has them all."""
    for module in ("jupytext", "nbclient", "ipykernel", "torch", "mlxtend", "flint"):
        pytest.importorskip(module)
    made = make.notebook(name)
    smaller = {
        "--n 1000 ": "--n 200 ",
        "--max 300 ": "--max 60 ",
        "--max 500": "--max 340",
    }
    for cell in made.cells:
        for whole, part in smaller.items():
            cell.source = cell.source.replace(whole, part)
    make.execute(made, tmp_path)
    assert not made.cells[1].outputs  # nothing to install, and nobody was asked
    page = (make.DOCS / make.SOURCES[name][0]).read_text(encoding="utf-8")
    shown = set(re.findall(rf"{name}-\d+\.png", page))
    assert len(list(make.pictures(made))) >= len(shown) >= 1
