"""The notebooks are what their pages say, and run from their first cell to the last."""

import json
import re
from pathlib import Path

import pytest
from scripts import module_at

NOTEBOOKS = Path(__file__).parents[2] / "docs" / "notebooks"
NAMES = sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb"))


@pytest.fixture(scope="module")
def make():
    return module_at(NOTEBOOKS / "make.py")


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
        list(make.cells("yaml", "a: 1\n", "", follows_cell=False))


#: The others are cells of the same kinds, and their code runs on their pages.
RUN = ("five-minutes", "radius-math")


def test_notebooks_that_run_have_every_kind_of_cell():
    def kinds(names):
        first_words = (
            "".join(cell["source"]).partition(" ")[0].partition("\n")[0]
            for name in names
            for cell in cells_of(name)
            if cell["cell_type"] == "code"
        )
        return {word for word in first_words if word.startswith("%%")}

    assert kinds(RUN) == kinds(NAMES)


@pytest.mark.slow
@pytest.mark.parametrize("name", RUN)
def test_a_notebook_runs(make, name, tmp_path):
    for module in ("jupytext", "nbclient", "ipykernel", "torch", "mlxtend", "flint"):
        pytest.importorskip(module)
    made = make.notebook(name)
    make.execute(made, tmp_path)
    assert not made.cells[1].outputs  # nothing to install, and nobody was asked
    page = (make.DOCS / make.SOURCES[name][0]).read_text(encoding="utf-8")
    shown = set(re.findall(rf"{name}-\d+\.png", page))
    assert len(list(make.pictures(made))) >= len(shown) >= 1
