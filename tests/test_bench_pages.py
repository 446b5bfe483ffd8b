"""Benchmark pages: losses are computed, only R's known lines dropped; their scripts' names."""

import importlib
import os
import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from test_package import imported

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def stability():
    for name in ("matplotlib", "mpmath"):
        pytest.importorskip(name)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "benchmarks" / "pages")
        yield importlib.import_module("stability")


def test_slower_points_are_named(stability):
    even = dict.fromkeys(("rsbounds", "SciPy"), 1.0)
    points = product(stability.DIMENSIONS, stability.NONCENTRALITIES)
    clock = [stability.Time(d, nc, even, even) for d, nc in points]
    assert "SciPy is quicker than rsbounds at no point" in stability.quicker(
        clock, ["SciPy"], "each"
    )
    lost = {"rsbounds": 1.0, "SciPy": 0.76}
    clock[0] = stability.Time(784, 0.0, lost, even)
    assert "nc = 0 (d = 784)." in stability.quicker(clock, ["SciPy"], "each")
    assert "no point" in stability.quicker(clock, ["SciPy"], "single")
    assert "0.76" in stability.ratios(clock, list(even), "each")[2]


def test_nan_is_no_win_and_no_loss_is_left_out(stability):
    errors = (np.nan, 1.0, 1e-15)
    grid = [stability.Point(784, 0.0, True, 0.01, {"rsbounds": 1e-14, "SciPy": e}) for e in errors]
    assert [p.error["SciPy"] for p in stability.beaten(grid, "SciPy")] == [1e-15]
    assert "at 1 points (rsbounds is wrong by 1e-14" in stability.wins(grid, ["SciPy"])


def test_only_known_complaints_are_dropped(stability, capfd):
    with stability.without_complaints():
        os.write(1, b"pnchisq(x=1e+12, f=784, theta=1e+12, ..): not converged in 1000000 iter.")
        os.write(2, b"full precision may not have been achieved in 'pnchisq'\n")
    assert capfd.readouterr() == ("", "")
    with stability.without_complaints():
        os.write(2, b"full precision may not have been achieved in 'pnchisq'\nsomething else\n")
    assert capfd.readouterr() == ("", "something else\n")


def test_scipy_gets_the_same_arrays_where_it_is_cheap(stability):
    for nc in (0.0, 1e3, 1e6):
        assert stability.length("SciPy", nc) == stability.length("rsbounds", nc)


def test_benchmarks_use_public_names():
    """What they time and write is what users can call, but for two parts that have no name yet."""
    files = sorted((ROOT / "benchmarks").glob("*/*.py"))
    assert len(files) > 10
    private = {
        name
        for path in files
        for name in imported(path)
        if name.startswith("rsbounds.") and re.search(r"\._[a-z]", name)
    }
    assert private <= {"rsbounds._neighbours.labelled", "rsbounds._numerics.threads"}


def test_pages_name_scripts_that_exist():
    texts = [p.read_text() for p in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]]
    named = {name for text in texts for name in re.findall(r"python ((?:bench|docs)\S+\.py)", text)}
    assert len(named) >= 6
    assert [name for name in named if not (ROOT / name).is_file()] == []
