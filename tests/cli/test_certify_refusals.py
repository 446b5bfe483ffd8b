"""``rsbounds certify`` with bad data and bad arguments: one line that says which, exit
2.
"""

import os
from pathlib import Path

import numpy as np
import pytest
from cli_models import (
    MODELS,
    arguments,
    inputs,
    models,
    one_line,
    package,
    refused,
    savez,
)

from rsbounds.cli import _engine, main
from rsbounds.loading import CorruptInput, open_data


def nan_pixel():
    x = np.zeros((12, 36), dtype=np.float32)
    x[[0, 9], 0] = np.nan, np.inf
    savez(x=x)


BAD_DATA = {
    "no file": (lambda: Path("data.npz").unlink(), "data.npz: No such file"),
    "NaN": (nan_pixel, "data.npz: input 0 must be finite"),
}


@pytest.mark.parametrize("case", BAD_DATA)
def test_bad_data_gives_one_line(work, capsys, case):
    spoil, said = BAD_DATA[case]
    spoil()
    refused(capsys, arguments(), said)


WRONG_KINDS = """
torch = pytest.importorskip("torch")
NETWORK = torch.nn.Linear(36, 2)
"""
BAD_ARGUMENTS = {
    "sigma 0": ({"sigma": 0}, "argument --sigma: must be in"),
    "sigma missing": ({"sigma": None}, "the following arguments are required: --sigma"),
    "alpha 0": ({"alpha": 0}, "--alpha must be in (0, 1)"),
    "alpha of a target": (
        {"target_radius": 0.3, "alpha": 0.7, "model": "models:fails"},
        "--alpha must be in",
    ),
    "n beyond": (
        {"n": 2 * 10**15},
        "--n: expected a whole number from 1 to 1000000000000000",
    ),
    "processes beyond the machine": (
        {"processes": 10**6},
        "--processes must be at most",
    ),
    "threads beyond the machine": ({"threads": 10**6}, "--threads must be at most"),
    "batch 0": ({"batch": 0}, "--batch: expected a whole number from 1 to "),
    "start beyond": ({"start": 12}, "start must be below"),
    "shard": ({"shard": "2/2"}, "--shard must be i/N"),
    "k": ({"answer": "top-k", "k": 2}, "--k must be from 1 to 1"),
    "grid": ({"grid": 100}, "--grid needs --sound-noise"),
    "rate": ({"rate": 0.1}, "--rate has no meaning for --method gaussian"),
    "anchors": (
        {"method": "semi-elastic"},
        "arguments are required: --anchors, --rate",
    ),
    "no directory": ({"out": "no/such/out.tsv"}, "no/such: there is no such folder"),
    "a directory": ({"out": "."}, ". is not a regular file"),
    "module": (
        {"model": "nomodels:f"},
        "--model nomodels:f failed: ModuleNotFoundError",
    ),
    "a network": (
        {"model": "models:NETWORK"},
        "got the Linear itself: write def load()",
    ),
    "no method": (
        {"method": "models:W", "sigma": None},
        "--method models:W must name a function",
    ),
    "fails": ({"model": "models:fails"}, "models:fails failed: KeyError: 'weights' ("),
    "nan": ({"model": "models:nan"}, "must return numbers"),
    "autocast": ({"autocast": "bfloat16"}, "--autocast needs a torch module"),
    "sound noise": (
        {"model": "models:torch_linear", "sound-noise": ""},
        "the first input must lie on the grid of 1/255",
    ),
    "devices": ({"device": "cuda:0,cpu"}, "one device, or cuda:0,cuda:1,..."),
    "devices and Ray": (
        {"device": "cuda:0,cuda:1", "ray": ""},
        "--ray deals out the GPUs itself",
    ),
    "input range": ({"model-args": "input_range=(0,x)"}, "input_range must be real"),
    "channels of arrays": ({"channels": 1}, "--channels is for pictures"),
    "device": (
        {"model": "models:torch_linear", "device": "abacus"},
        "--device abacus can't be used: ",
    ),
}


@pytest.mark.parametrize("case", BAD_ARGUMENTS)
def test_bad_arguments_give_one_line(work, capsys, case):
    changes, said = BAD_ARGUMENTS[case]
    if case == "a network":
        models(MODELS + WRONG_KINDS)
    refused(capsys, arguments(**changes), said)


@pytest.mark.parametrize(
    "noise",
    [
        {"sigma": 1, "transform": "rotation-z"},
        {"method": "orbit", "transform": "quarter-turns"},
        {"method": "categorical", "keep": 0.8, "values": 3},
    ],
)
def test_an_input_that_noise_is_not_for_is_of_the_data(work, capsys, noise):
    savez(x=inputs()[0][..., :5])
    argv = arguments(**{"sigma": None, **noise})
    refused(capsys, argv, "--data data.npz: the first input")


def test_a_later_input_that_noise_is_not_for_is_named(work, capsys):
    x, _ = inputs()
    x = np.clip(x, 0, 1)
    x[5] = 2
    savez(x=x)
    argv = arguments(sigma=0.5, transform="gamma")
    one_line(capsys, argv, "input 5 must be in [0, 1]")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_unwritable_directory_gives_one_line(work, capsys):
    (work / "locked").mkdir(mode=0o500)
    refused(
        capsys, arguments(out="locked/out.tsv"), "locked/out.tsv: Permission denied"
    )


def test_the_model_is_tried_on_the_first_input_that_can_be_decoded(work):
    x, _ = inputs()
    x[:2] = np.nan
    for bad, found in ((x, 2), (np.full_like(x, np.nan), None)):
        with open_data((bad, np.zeros(len(x), int))) as data:
            if found is None:
                with pytest.raises(CorruptInput, match="input 0"):
                    _engine.first(data)
            else:
                np.testing.assert_array_equal(_engine.first(data), x[found])


STRANGE = """
import numpy as np

class Tensor:
    "What a CUDA tensor is to NumPy."
    def __init__(self, array):
        self.array = array
    def __array__(self, *args, **options):
        raise TypeError("can't convert cuda:0 device type tensor to numpy")
    def __len__(self):
        return len(self.array)

def cuda():
    return lambda batch: Tensor(batch)

def complex():
    return lambda batch: batch.reshape(len(batch), -1)[:, :2] * 1j

def leaves():
    def call(batch):
        raise SystemExit(0)
    return call

def deep():
    def call(batch):
        return call(batch)
    return call

def grad():
    import torch
    layer = torch.nn.Linear(36, 2)
    return lambda batch: layer(torch.from_numpy(batch.reshape(len(batch), -1)))
"""


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("cuda", "can't convert cuda:0"),
        ("complex", "must return scores of shape"),
        ("leaves", "SystemExit: 0"),
        ("deep", "RecursionError"),
    ],
)
def test_scores_that_are_none_are_one_line(work, capsys, name, said):
    models(STRANGE)
    one_line(capsys, arguments(model=f"models:{name}"), "input 0 failed: ", said)
    assert not Path("out.tsv").exists()


def test_a_callable_with_gradients_is_certified(work):
    package("torch")
    models(STRANGE)
    assert main(arguments(model="models:grad", max=2, n=100)) == 0


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("--method=", "--method '' is unknown"),
        ("--device=", "expected one device, or cuda:0,cuda:1,...; got ''"),
    ],
)
def test_an_empty_name_is_told(work, capsys, word, said):
    refused(capsys, [*arguments(), word], said)
    assert not Path("out.tsv").exists()


@pytest.mark.parametrize("device", ["cuda", "cuda:1", "mps"])
def test_a_device_for_a_numpy_model_is_refused(work, capsys, device):
    one_line(capsys, arguments(device=device), "--device needs a torch module")
    assert not Path("out.tsv").exists()


def test_a_model_that_fails_while_it_is_drawn_again_is_one_line(work, capsys):
    assert main(arguments()) == 0
    again = ["--data", "data.npz", "--rerun", "12", "--model"]
    argv = ["verify", "out.tsv", *again, "models:late"]
    one_line(capsys, argv, "failed: RuntimeError: device lost")


def test_traceback_on_demand(work, capsys, monkeypatch):
    monkeypatch.setenv("RSBOUNDS_TRACEBACK", "1")
    assert main(arguments(model="models:late")) == 2
    err = capsys.readouterr().err
    assert "Traceback (most recent call last)" in err
    assert 'raise RuntimeError("device lost")' in err
