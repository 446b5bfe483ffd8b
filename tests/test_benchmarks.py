"""The scripts of the benchmark pages: what they measure, count and compare."""

import importlib
import re
from pathlib import Path

import numpy as np
import pytest

from rsbounds import datasets

ROOT = Path(__file__).parent.parent
SCALE = (ROOT / "docs" / "howto" / "how-far-does-it-scale.md").read_text()


@pytest.fixture(scope="module")
def script():
    """script(name) imports a script, which measures and writes nothing when it is imported."""
    for name in ("matplotlib", "mpmath"):
        pytest.importorskip(name)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "benchmarks" / "pages")
        yield importlib.import_module


def test_no_error_exceeds_its_bound(script, monkeypatch):
    errors = script("errors")
    for of in errors.FUNCTIONS:
        found = errors.worst(of, points=10, seed=1)
        assert 0 < found.ratio <= 1, (of, found)
    for of in errors.STEPS:
        found = errors.inversions(of, points=2000, seed=1)
        assert found.largest <= 2, (of, found)
        assert 0 <= found.inverted < 0.01
    monkeypatch.setattr(errors.special, "ndtri", lambda p: -1.0)
    assert errors.worst("`ndtri`", points=2).ratio > 1e10
    monkeypatch.setattr(errors.special, "ball_score", lambda u, dim, s: -u)
    assert errors.inversions("u of `ball_score`", points=100).inverted == 1


def test_nan_is_no_win_and_no_loss_is_left_out(script):
    stability, compared = script("stability"), script("ncx2_compared")
    errors = (np.nan, 1.0, 1e-15)
    grid = [stability.Point(784, 0.0, True, 0.01, {"rsbounds": 1e-14, "SciPy": e}) for e in errors]
    assert [p.error["SciPy"] for p in stability.beaten(grid, "SciPy")] == [1e-15]
    assert "at 1 points (rsbounds is wrong by 1e-14" in stability.wins(grid, ["SciPy"])
    points = [compared.Point(4.0, nc, 1e-3, True, 20.0) for nc in (0.5, 4.0, 100.0)]
    ours, theirs = np.array([1e-16, 3e-15, 2e-16]), np.array([np.nan, 1e-15, 1e-17])
    text = compared.losses({"tail": {"rsbounds": ours, "SciPy": theirs}}, points)
    assert "SciPy's tail at 2 of 3 points" in text
    assert "wrong by 3e-15 at most (df = 4, nc = 4, upper tail 0.001)" in text


def test_splits_share_no_image(script, monkeypatch):
    case, rows = script("composite_case"), np.arange(60_000)
    monkeypatch.setattr(datasets, "mnist_digits", lambda: (rows[:5000], rows[:5000]))
    known = {"train": (rows, rows), "test": (-1 - rows, -1 - rows)}
    monkeypatch.setattr(datasets, "fashion_mnist", known.__getitem__)
    for name, size in case.SIZES.items():
        parts = [x for x, _ in case.splits(name)]
        assert [len(x) for x in parts] == [size.train, size.images, size.images]
        assert len(np.unique(np.concatenate(parts))) == sum(map(len, parts))


@pytest.mark.parametrize(
    "name", ["samples", "clusters", pytest.param("stops", marks=pytest.mark.slow)]
)
def test_tables_of_scale_are_the_script_s(script, name):
    part = re.search(f"<!-- {name} -->\n\n(.*?)\n\n<!-- end of {name} -->", SCALE, re.S)[1]
    assert part == getattr(script("scale"), name)()
