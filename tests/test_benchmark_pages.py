"""The committed pages of decision lists and learned smoothing fit what they were made from."""

import importlib
import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs" / "benchmarks"
SETS = ("Fashion-MNIST", "MNIST")


def tables(page, name):
    """The tables of a data set, each a list of dicts from head to cell."""
    text = (DOCS / page).read_text().split(f"\n## {name}\n")[1].split("\n## ")[0]
    found = []
    for block in re.findall(r"(?:^\|.*\n)+", text, re.M):
        lines = [[c.strip() for c in line.strip("|").split("|")] for line in block.splitlines()]
        found.append([dict(zip(lines[0], row, strict=True)) for row in lines[2:]])
    return found


def named(rows, name):
    (row,) = [row for row in rows if row["certificate"] == name]
    return list(row.values())


@pytest.fixture(scope="module")
def bench():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "benchmarks" / "pages")
        yield importlib.import_module("composite"), importlib.import_module("composite_case")


@pytest.mark.parametrize("name", SETS)
def test_constants_follow_from_the_counts(bench, name):
    composite, case = bench
    found = case.load(DOCS / "composite" / f"{name.lower()}.npz", name)
    assert found.counts.shape == (case.SIZES[name].images, len(case.SIGMAS), 10)
    assert np.all(found.counts.sum(-1) == case.N)
    again, main = composite.Bench(found), tables("composite.md", name)[0]
    for row in [*again.constants, again.constant("Cohen, sigma 1", 1, runner_up=False)]:
        assert row.cells() == named(main, row.name)


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_lists_follow_from_the_counts(bench, name):
    composite, case = bench
    again = composite.Bench(case.load(DOCS / "composite" / f"{name.lower()}.npz", name))
    main = tables("composite.md", name)[0]
    for _, row in again.fitted():
        assert row.cells() == named(main, row.name)
