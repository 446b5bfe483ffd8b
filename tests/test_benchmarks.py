"""The scripts of the benchmark pages: what they measure, count and compare."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import numpy as np
import pytest

from rsbounds import datasets, special

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


# --- promised accuracy


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


# --- beside SciPy, R and Boost: losses are shown, NaN is no win


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


def test_errors_are_measured_at_the_truth(script, tmp_path):
    compared = script("ncx2_compared")
    point = compared.Point(3.0, 4.0, 0.05, True, float(special.ncx2_isf(0.05, 3, 4.0)))
    assert compared.quantile_error(point.x, point) < 1e-15
    assert compared.quantile_error(point.x * (1 + 1e-9), point) == pytest.approx(1e-9, rel=1e-5)
    assert compared.quantile_error(np.inf, point) == 1
    assert np.isnan(compared.quantile_error(np.nan, point))
    assert compared.from_r((0.1).hex()) == 0.1
    if ask := compared.boost(tmp_path):
        columns = [column.tolist() for column in compared.columns([point])]
        tail, density, quantile = ask("values", list(zip(*columns, strict=True)))[0]
        assert tail == pytest.approx(0.05, rel=1e-12)
        assert density == pytest.approx(float(special.ncx2_pdf(point.x, 3, 4.0)), rel=1e-12)
        assert quantile == pytest.approx(point.x, rel=1e-12)


# --- composite.py and learned.py


def test_a_list_is_compared_at_every_radius(script):
    """The worst radius lies between columns of the table."""
    script("composite")
    goals = script("composite_goals")
    base = goals.Row("", np.repeat([0.0, 0.4, 1.0], [20, 30, 50]), 100.0)
    row = goals.Row("", np.repeat([0.0, 0.3, 1.1], [10, 40, 50]), 130.0)
    assert goals.compared(row, base) == (10.0, 0.0, -37.5, 1.081, 1.3)  # ACR .67 over .62
    assert goals.worst(row, [base])[1] == " (beyond 0.3: 50 images, 80)"
    assert goals.Goal("a", 1.5, 1.5).cells() == ["a", "1.5", ">= 1.5", "met"]
    assert goals.Goal("a", 1.31, 1.3, at_least=False).cells()[-1] == "**missed**"


def test_splits_share_no_image(script, monkeypatch):
    case, rows = script("composite_case"), np.arange(60_000)
    monkeypatch.setattr(datasets, "mnist_digits", lambda: (rows[:5000], rows[:5000]))
    known = {"train": (rows, rows), "test": (-1 - rows, -1 - rows)}
    monkeypatch.setattr(datasets, "fashion_mnist", known.__getitem__)
    for name, size in case.SIZES.items():
        parts = [x for x, _ in case.splits(name)]
        assert [len(x) for x in parts] == [size.train, size.images, size.images]
        assert len(np.unique(np.concatenate(parts))) == sum(map(len, parts))


def test_no_distance_grows_in_the_components(script, monkeypatch):
    """|Q delta| <= |delta|: a radius in components is one in pixels."""
    torch = pytest.importorskip("torch")
    case, rng = script("learned_case"), np.random.default_rng(0)
    x, y = rng.random((200, 1, 28, 28), dtype=np.float32), rng.integers(0, 10, 200)
    monkeypatch.setattr(case.datasets, "mnist_digits", lambda: (x, y))
    cut = (x[:150], y[:150], x[150:], y[150:])
    monkeypatch.setattr(case.datasets, "split", lambda x, y, _: cut)
    monkeypatch.setitem(case.SIZES, "MNIST", case.Size(100, 5))
    data = case.load("MNIST", 50)
    assert [len(s.y) for s in (data.train, data.calibration, data.held)] == [500, 50, 50]
    far = torch.cdist(data.held.pixels.double(), data.train.pixels.double())
    near = torch.cdist(data.held.u.double(), data.train.u.double())
    assert torch.all(near <= far * (1 + 1e-6))
    assert near.max() > 0.1 * far.max()


# --- scale.py


@pytest.mark.parametrize(
    "name", ["samples", "clusters", pytest.param("stops", marks=pytest.mark.slow)]
)
def test_tables_of_scale_are_the_script_s(script, name):
    part = re.search(f"<!-- {name} -->\n\n(.*?)\n\n<!-- end of {name} -->", SCALE, re.S)[1]
    assert part == getattr(script("scale"), name)()


def test_a_simulated_cluster_obeys_arithmetic(script):
    scale = script("scale")
    workers = scale.Cluster(np.ones(10), False)
    assert scale.dealt(workers, 1000, 2.0) == (200.0, 0)
    assert scale.sharded(workers, 1000, 2.0) == 200.0
    for gpus in (1, 20, 100):
        workers = scale.cluster(gpus, failures=False)
        found, again = scale.dealt(workers, 3000, 10.0)
        least = 3000 * 10.0 / np.sum(workers.speeds)
        assert again == 0
        assert least <= found <= least + 10.0 / np.min(workers.speeds)
        assert found <= scale.sharded(workers, 3000, 10.0) + 1e-6
    workers, rows, each = scale.cluster(20), 20_000, 300.0  # a long run: hundreds of failures
    found, again = scale.dealt(workers, rows, each)
    failures = 20 * found / scale.LIFE
    assert again == pytest.approx(failures, abs=4 * np.sqrt(failures))
    # the model's mean against one draw of them: their spread is 6 %, and each costs 1e-5 of the run
    assert found == pytest.approx(scale.predicted(workers.speeds, rows, each), rel=0.01)
