"""The page of decision lists: its numbers fit each other, and follow from the committed counts."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from rsbounds import datasets
from rsbounds.composite import Cond, Rule

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "benchmarks" / "composite.md"
SETS = ("Fashion-MNIST", "MNIST")


@pytest.fixture(scope="module")
def bench():
    """The script, which draws nothing when it is imported."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "benchmarks" / "pages")
        yield importlib.import_module("composite")


@pytest.fixture(scope="module")
def case(bench):
    return sys.modules["composite_case"]


@pytest.fixture(scope="module")
def judged(bench):
    return sys.modules["composite_goals"]


def tables(name):
    """The three tables of a data set, each a list of dicts from head to cell."""
    text = PAGE.read_text().split(f"## {name}\n")[1].split("\n## ")[0]
    found = []
    for block in re.findall(r"(?:^\|.*\n)+", text, re.M):
        lines = [line.strip("| \n").split(" | ") for line in block.splitlines()]
        width = len(lines[0])
        rows = [line + [""] * (width - len(line)) for line in lines[2:]]
        found.append([dict(zip(lines[0], row, strict=True)) for row in rows])
    main, goals, sweep = found
    return main, goals, sweep


def curve(row):
    return np.array([float(v) for k, v in row.items() if k.startswith("> ")])


def named(rows, name):
    (row,) = [row for row in rows if row["certificate"] == name]
    return row


def number(cell):
    return float(re.match(r"[-+]?[\d.]+", cell)[0])


# --- the page


@pytest.mark.parametrize("name", SETS)
def test_curves_fall_and_hold_the_average_radius(bench, name):
    main = tables(name)[0]
    assert len(main) >= 8
    for row in main[:-1]:
        accuracy = curve(row)
        assert np.all(np.diff(accuracy) <= 0), row
        assert 0 < accuracy[0] <= 1
        area = np.diff(bench.RADII) @ accuracy[1:]  # of a staircase below the curve
        assert area - 1e-3 < float(row["ACR"]), row
        assert float(row["samples"]) >= bench.N + bench.N0
    constants = [curve(row) for row in main if row["certificate"].startswith("runner-up")]
    assert len(constants) == len(bench.SIGMAS)
    assert np.array_equal(curve(named(main, bench.UNION)), np.max(constants, axis=0))


@pytest.mark.parametrize("name", SETS)
def test_verdicts_follow_from_the_figures(name):
    goals = tables(name)[1]
    assert len(goals) >= 6
    for goal in goals:
        sign, wanted = goal["wanted"].split()[:2]
        measured = number(goal["measured"])
        met = measured >= float(wanted) if sign == ">=" else measured <= float(wanted)
        assert goal["verdict"] == ("met" if met else "**missed**"), goal
    lists = dict.fromkeys(g["goal"].split(":")[0] for g in goals if g["goal"].startswith("list"))
    won = [n for n in lists if all(g["verdict"] == "met" for g in goals if f"{n}:" in g["goal"])]
    text = PAGE.read_text().split(f"## {name}\n")[1]
    told = re.search(r"All goals of a list are met by: (.*)\.\n", text)[1]
    assert told == (", ".join(won) or "none")


@pytest.mark.parametrize("name", SETS)
def test_figures_follow_from_the_curves(name):
    main, goals, _ = tables(name)
    measured = {goal["goal"]: number(goal["measured"]) for goal in goals}
    runner, cohen = (float(named(main, f"{s}, sigma 1")["ACR"]) for s in ("runner-up", "Cohen"))
    ratio = measured["runner-up over Cohen, sigma 1: ACR"]
    assert ratio == pytest.approx(runner / cohen, abs=2e-3)
    seen = 0
    for row in main:
        if not (level := re.match(r"(list \(.*?\)): gate ([\d.]+) ", row["certificate"])):
            continue
        base, (start, seen) = named(main, f"runner-up, sigma {level[2]}"), (level[1], seen + 1)
        own, other = curve(row), curve(base)
        points = measured[f"{start}: points at radius 0"]
        assert points == pytest.approx(100 * (own[0] - other[0]), abs=0.06)
        kept = other >= 0.05
        worst = measured[f"{start}: worst of the table's radii"]
        assert worst == pytest.approx(100 * np.min(own[kept] / other[kept] - 1), abs=0.06)
        assert measured[f"{start}: worst at any radius"] <= worst
        acr = float(row["ACR"]) / float(base["ACR"])
        assert measured[f"{start}: ACR over its constant's"] == pytest.approx(acr, abs=2e-3)
        samples = float(row["samples"]) / float(base["samples"])
        assert measured[f"{start}: samples over its constant's"] == pytest.approx(samples, abs=6e-3)
    assert seen >= 1


@pytest.mark.parametrize("name", SETS)
def test_swept_lists_are_marked_by_their_figures(name):
    sweep = tables(name)[2]
    assert len(sweep) == 12
    for row in sweep:
        points, columns, worst, acr, samples = [float(v) for v in list(row.values())[1:6]]
        assert worst <= columns
        met = points >= 1.5 and worst >= -2 and acr >= 1 and samples <= 1.3
        assert row["all"] == ("yes" if met else "no"), row


@pytest.mark.parametrize("name", SETS)
def test_constants_follow_from_the_counts(bench, case, name):
    found = case.load(PAGE.with_suffix("") / f"{name.lower()}.npz", name)
    assert found.counts.shape == (case.SIZES[name].images, len(case.SIGMAS), 10)
    assert np.all(found.counts.sum(-1) == case.N)
    again = bench.Bench(found)
    rows = [*again.constants, again.constant("Cohen, sigma 1", 1, runner_up=False)]
    main = tables(name)[0]
    for row in rows:
        assert row.cells() == list(named(main, row.name).values())


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_lists_follow_from_the_counts(bench, case, name):
    again = bench.Bench(case.load(PAGE.with_suffix("") / f"{name.lower()}.npz", name))
    main = tables(name)[0]
    for _, row in again.fitted():
        assert row.cells() == list(named(main, row.name).values())


# --- the scripts


def test_rules_in_words_and_a_goal_that_is_missed(bench, judged):
    gate = [Cond("margin", 0), Cond("score", 0, -0.45)]
    rule = Rule(bench.SIGMAS, [gate, [Cond("score", 1)], [Cond("margin", 2)]])
    assert bench.told(rule) == "gate 1.5 > -0.3, majority 1, argmax 0.5"
    assert judged.Goal("a", 1.5, 1.5).cells() == ["a", "1.5", ">= 1.5", "met"]
    assert judged.Goal("a", 1.31, 1.3, at_least=False).cells()[-1] == "**missed**"


def test_a_list_is_compared_at_every_radius(judged):
    """The worst radius lies between columns of the table."""
    base = judged.Row("", np.repeat([0.0, 0.4, 1.0], [20, 30, 50]), 100.0)
    row = judged.Row("", np.repeat([0.0, 0.3, 1.1], [10, 40, 50]), 130.0)
    assert judged.compared(row, base) == (10.0, 0.0, -37.5, 1.081, 1.3)  # ACR .67 over .62
    assert judged.worst(row, [base])[1] == " (beyond 0.3: 50 images, 80)"


def test_splits_share_no_image(case, monkeypatch):
    rows = np.arange(60_000)
    monkeypatch.setattr(datasets, "mnist_digits", lambda: (rows[:5000], rows[:5000]))
    known = {"train": (rows, rows), "test": (-1 - rows, -1 - rows)}
    monkeypatch.setattr(datasets, "fashion_mnist", known.__getitem__)
    for name in SETS:
        parts = [x for x, _ in case.splits(name)]
        size = case.SIZES[name]
        assert [len(x) for x in parts] == [size.train, size.images, size.images]
        assert len(np.unique(np.concatenate(parts))) == sum(map(len, parts))


def test_projected_network_is_the_same_behind_an_orthonormal_projection(case):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(12, 5), torch.nn.ReLU(), torch.nn.Linear(5, 3))
    short, q = case.projected(net)
    assert torch.allclose(q.T @ q, torch.eye(5, dtype=torch.float64), atol=1e-12)
    x = torch.randn(20, 12)
    assert torch.allclose(short(x @ q.float()), net(x), atol=1e-5)  # float32 sums of 12 terms
