"""``rsbounds certify`` with bad data and bad arguments: one line that says which, exit
2.
"""

import os
from pathlib import Path

import numpy as np
import pytest
from cli_models import MODELS, arguments, models, refused, savez


def nan_pixel():
    x = np.zeros((12, 36), dtype=np.float32)
    x[[0, 9], 0] = np.nan, np.inf
    savez(x=x)


BAD_DATA = {
    "no file": (lambda: Path("data.npz").unlink(), "data.npz: No such file"),
    "NaN": (nan_pixel, "data.npz: input 0 must be finite; 1 of 36 numbers are not"),
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
    "sigma 0": ({"sigma": 0}, "argument --sigma: must be in ["),
    "sigma missing": ({"sigma": None}, "the following arguments are required: --sigma"),
    "alpha 0": ({"alpha": 0}, "--alpha must be in (0, 1)"),
    "alpha of a target": (
        {"target_radius": 0.3, "alpha": 0.7, "model": "models:fails"},
        "--alpha must be in (0, 0.5]; got 0.7",
    ),
    "n beyond": (
        {"n": 2 * 10**15},
        "--n: expected a whole number from 1 to 1000000000000000; got",
    ),
    "batch 0": ({"batch": 0}, "--batch: expected a whole number from 1 to "),
    "start beyond": (
        {"start": 12},
        "start must be below the end of the inputs, 12; got 12",
    ),
    "shard": ({"shard": "2/2"}, "--shard must be i/N with 0 <= i < N; got '2/2'"),
    "rate": ({"rate": 0.1}, "--rate has no meaning for --method gaussian"),
    "anchors": (
        {"method": "semi-elastic"},
        "arguments are required: --anchors, --rate",
    ),
    "no directory": (
        {"out": "no/such/out.tsv"},
        "no/such: there is no such folder",
    ),
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
    "nan": ({"model": "models:nan"}, "must return numbers; got NaN for input 0"),
    "autocast": ({"autocast": "bfloat16"}, "--autocast needs a torch module"),
    "sound noise": (
        {"model": "models:torch_linear", "sound-noise": ""},
        "sound noise needs inputs on the grid of 1/255",
    ),
    "devices": (
        {"device": "cuda:0,cpu"},
        "one device, or cuda:0,cuda:1,...; got cuda:0,cpu",
    ),
    "devices and Ray": (
        {"device": "cuda:0,cuda:1", "ray": ""},
        "--ray deals out the GPUs itself",
    ),
    "input range": (
        {"model-args": "input_range=(0,x)"},
        "input_range must be real numbers",
    ),
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


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_unwritable_directory_gives_one_line(work, capsys):
    (work / "locked").mkdir(mode=0o500)
    refused(
        capsys, arguments(out="locked/out.tsv"), "locked/out.tsv: Permission denied"
    )
