"""The page of learned smoothing: its figures fit each other; its lists are chosen fairly."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "benchmarks" / "learned.md"
SETS = ("MNIST", "Fashion-MNIST")


def tables(name):
    """The data set's tables: lists of dicts from head to cell."""
    text = PAGE.read_text().split(f"\n## {name}\n")[1].split("\n## ")[0]
    found = []
    for block in re.findall(r"(?:^\|.*\n)+", text, re.M):
        head, _, *rows = [
            [cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines()
        ]
        found.append([dict(zip(head, row, strict=True)) for row in rows])
    return found


def curve(row):
    return np.array([float(v) for k, v in row.items() if k.startswith("> ")])


@pytest.mark.parametrize("name", SETS)
def test_curves_fall_and_the_best_constants_are_the_largest(name):
    main = tables(name)[0]
    assert len(main) > 40
    radii = [float(k[2:]) for k in main[0] if k.startswith("> ")]
    for row in main:
        accuracy = curve(row)
        assert np.all(np.diff(accuracy) <= 0), row
        assert np.diff(radii) @ accuracy[1:] < float(row["ACR"]) + 1e-3  # a staircase below it
    rows = {row["scheme"]: row for row in main}
    told = "MACER|consistency|SmoothAdv|mean radius|told the level"
    for best, wanted in (
        ("**best Gaussian constant at each radius**", r"Gaussian, [\d.]+"),
        ("**best constant of any recipe at each radius**", rf"(Gaussian|{told}), [\d.]+"),
    ):
        parts = [row for row in main if re.fullmatch(wanted, row["scheme"])]
        assert len(parts) in (4, 24)
        assert np.array_equal(curve(rows[best]), np.max([curve(row) for row in parts], axis=0))
    flagged = {row["scheme"] for row in main if row["scheme"].startswith("!")}
    assert flagged == {"! generator", "! level by ascent", "! level by search"}


@pytest.mark.parametrize("name", SETS)
def test_gains_follow_from_the_radii(name):
    main, levels = tables(name)[:2]
    acr = {row["scheme"]: row["ACR"] for row in main}
    assert len(levels) == 6
    for row in levels:
        own, free, pixels, constant = (
            float(row[k]) for k in ("ACR", "without price", "d = 784", "constant")
        )
        assert pixels <= own <= free
        assert row["ACR"] == acr[row["scheme"]]
        gains = [row["gain, %"].split()[0], row["free gain, %"]]
        for gain, radius in zip(gains, (own, free), strict=True):
            assert float(gain) == pytest.approx(100 * (radius / constant - 1), abs=0.25)


@pytest.mark.parametrize("name", SETS)
def test_lists_are_compared_with_what_is_in_the_table(name):
    main, _, lists = tables(name)[:3]
    rows = {row["scheme"]: row for row in main}
    assert len(lists) == 12
    own = {}
    for row in lists:
        own = rows[row["list"]] if row["list"] else own
        if row["against"] in rows:
            other = rows[row["against"]]
            assert curve(row) == pytest.approx(100 * (curve(own) - curve(other)), abs=0.11)
            ratio = float(own["ACR"]) / float(other["ACR"])
            assert float(row["ACR, ratio"]) == pytest.approx(ratio, abs=3e-3)


@pytest.fixture(scope="module")
def pages():
    pytest.importorskip("torch")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "benchmarks" / "pages")
        yield importlib.import_module("learned_rows"), importlib.import_module("learned_case")


def test_votes_for_a_rejection_are_void(pages):
    rows, case = pages
    import torch

    net = torch.nn.Linear(3, case.CLASSES + 1)
    net.weight.data.zero_(), net.bias.data.zero_()
    net.bias.data[-1] = 1.0  # always rejects
    counts = rows.Stage(net, 0.5).sampler()(torch.zeros(3), 0.5, 100, np.random.default_rng(0))
    assert counts.shape == (case.CLASSES,)
    assert not counts.any()


def test_the_list_that_is_chosen_loses_no_mean_radius(pages, monkeypatch):
    rows, case = pages
    import torch

    sure, unclear = [[3.0, -3.0, -3.0], [3.0, -3.0, -3.0]], [[-0.6, -0.5, -0.6], [1.0, -1.0, -1.0]]
    z = np.array([sure] * 8 + [unclear] * 2)
    monkeypatch.setattr(rows, "known_scores", lambda bench, stage, k: z[:, k])
    split = case.Split(torch.zeros(10, 1), torch.zeros(10, 1), torch.zeros(10, dtype=torch.long))
    bench = rows.Bench(case.Data(split, split, split, 1), 100)
    stages = [rows.Stage(torch.nn.Linear(1, 3), sigma) for sigma in (1.0, 0.5)]
    rule = rows.chosen(bench, stages)
    assert [item[0].stage for item in rule.items] == [0, 1]
    assert np.mean(rows.composite.radius(rule, z, 0) > 0) == 1.0  # the first level alone: .8
    assert -rule.items[0][1].threshold < 0.5  # beyond it the unclear would not be passed on


def test_no_distance_grows_in_the_components(pages, monkeypatch):
    """|Q delta| <= |delta|: a radius in components is one in pixels."""
    _, case = pages
    import torch

    rng = np.random.default_rng(0)
    x, y = rng.random((200, 1, 28, 28), dtype=np.float32), rng.integers(0, 10, 200)
    monkeypatch.setattr(case.datasets, "mnist_digits", lambda: (x, y))
    monkeypatch.setattr(
        case.datasets, "split", lambda x, y, _: (x[:150], y[:150], x[150:], y[150:])
    )
    monkeypatch.setitem(case.SIZES, "MNIST", case.Size(100, 5))
    data = case.load("MNIST", 50)
    assert [len(s.y) for s in (data.train, data.calibration, data.held)] == [500, 50, 50]
    far = torch.cdist(data.held.pixels.double(), data.train.pixels.double())
    near = torch.cdist(data.held.u.double(), data.train.u.double())
    assert torch.all(near <= far * (1 + 1e-6))
    assert near.max() > 0.1 * far.max()
