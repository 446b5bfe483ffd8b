"""Models and data for ``rsbounds certify``, and its command line."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from rsbounds.cli import main
from rsbounds.loading.packages import need

MODELS = """
import time
from pathlib import Path

import numpy as np
import pytest

W = np.random.default_rng(0).standard_normal(36).astype(np.float32)
W /= np.linalg.norm(W)

def linear():
    return lambda batch: batch.reshape(len(batch), -1) @ np.stack([W, -W], axis=1)

def other():
    return lambda batch: batch.reshape(len(batch), -1) @ np.stack([W, -2 * W], axis=1)

def torch_linear():
    torch = pytest.importorskip("torch")
    torch.set_num_threads(2)
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(36, 2, bias=False))
    model[1].weight.data = torch.from_numpy(np.stack([W, -W]))
    return model

def slow():
    model = linear()
    def call(batch):
        while waits():
            time.sleep(0.01)
        return model(batch)
    return call

def waits():  # once three rows are written, as long as there is a file "hold"
    if not Path("hold").exists():
        return False
    try:
        return len(Path("out.tsv").read_bytes().splitlines()) > 3
    except FileNotFoundError:
        return False

def nan():
    return lambda batch: np.full((len(batch), 2), np.nan)

def late():
    model, calls = linear(), []
    def call(batch):
        calls.append(batch)
        if len(calls) > 10:
            raise RuntimeError("device lost")
        return model(batch)
    return call

def fails():
    raise KeyError("weights")

"""
ROOT = Path(__file__).parents[2]
ENVIRONMENT = os.environ | {
    "PYTHONPATH": os.pathsep.join(
        filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))
    )
}


def prepare(tmp_path, monkeypatch):
    """A directory with models and data, current, and the module not yet imported."""
    (tmp_path / "models.py").write_text(MODELS)
    rng = np.random.default_rng(3)
    x = 0.3 * rng.standard_normal((12, 1, 6, 6)).astype(np.float32)
    np.savez(tmp_path / "data.npz", x=x, y=rng.integers(0, 2, 12))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "models", raising=False)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


def arguments(**changes):
    options = {
        "model": "models:linear",
        "data": "data.npz",
        "sigma": 0.25,
        "out": "out.tsv",
        "n0": 50,
        "n": 1000,
    }
    options |= changes
    pairs = (
        (f"--{k.replace('_', '-')}", str(v))
        for k, v in options.items()
        if v is not None
    )
    return ["certify", *(word for pair in pairs for word in pair if word)]


def inputs():
    with np.load("data.npz") as data:
        return data["x"], data["y"]


def savez(**changes):
    np.savez("data.npz", **dict(zip("xy", inputs(), strict=True)) | changes)


def python(*words, **options):
    """Runs Python, which finds the package as it lies here."""
    env = ENVIRONMENT | options.pop("env", {})
    words = [sys.executable, *words]
    return subprocess.run(
        words, capture_output=True, text=True, env=env, timeout=600, **options
    )


def models(text):
    """Other models in the current directory, not yet imported."""
    Path("models.py").write_text(text)
    # Python takes bytecode for current that is of the same second and length
    shutil.rmtree("__pycache__", ignore_errors=True)
    sys.modules.pop("models", None)


def says(capsys, argv, status=0):
    """What the command prints, to both streams, when it ends with that status."""
    capsys.readouterr()
    assert main(argv.split() if isinstance(argv, str) else argv) == status
    return "".join(capsys.readouterr())


def one_line(capsys, argv, *said):
    """The command refuses, in one line that has each of these parts."""
    capsys.readouterr()
    assert main(argv) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1, err
    for part in said:
        assert part in err


def refused(capsys, argv, *said):
    """The same, by the command or by its parser, before anything is written."""
    capsys.readouterr()
    try:
        status = main(argv)
    except SystemExit as stop:  # as argparse leaves
        status = stop.code
    captured = capsys.readouterr()
    assert (status, captured.out) == (2, "")
    assert captured.err.count("\n") == 1, captured.err
    for part in said:
        assert part in captured.err
    assert not list(Path().glob("out*"))


def package(name):
    """The module; the test is skipped where it isn't installed, and fails where it is
    broken.
    """
    for part in (name, "torch"):
        if importlib.util.find_spec(part.partition(".")[0]) is None:
            pytest.skip(f"needs {part.partition('.')[0]}")
    return need(name, "this test")
