"""What people bring and what is said to it: a case is files, a command, words, a step.

Each refusal is one line and names the argument, the value and the next step; where it
advises a step, the step is taken and works.
"""

import gzip
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from rsbounds.cli import main

FLAT = """
import numpy as np
def model(batch):
    first = batch.reshape(len(batch), -1)[:, 0]
    return np.stack([-first, first], 1)
def load():
    return model
"""
TORCH = """
import torch
def load():
    return {}
"""
CERTIFY = "certify --model m.py:load --sigma 1 --n0 10 --n 50 --out o.tsv"
TABLE = f"{CERTIFY} --data t.csv --target y"


class Case(NamedTuple):
    """Files, a command, what must be said, and the advice as it is followed.

    Advice: another command, or files that are changed, or both.
    """

    files: Mapping[str, str | bytes | Callable[[], object]]
    command: str
    said: tuple[str, ...]
    then: str = ""
    mended: Mapping[str, str | bytes | Callable[[], object]] = {}


def table(*lines, **further):
    return {"t.csv": "\n".join(lines) + "\n", **further}


def linear(size):
    return TORCH.format(
        f"torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear({size}, 2))"
    )


def convolution(channels):
    return TORCH.format(
        f"torch.nn.Sequential(torch.nn.Conv2d({channels}, 2, 1), "
        "torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())"
    )


def pictures(*folders, root="d", sizes=(4,)):
    image = pytest.importorskip("PIL.Image")
    for place, folder in enumerate(folders):
        path = Path(root, folder)
        path.mkdir(parents=True)
        size = sizes[place % len(sizes)]
        pixels = np.zeros((size, size), np.uint8)
        image.fromarray(pixels).save(path / "a.png")


def save(x, y):
    np.savez("d.npz", x=x, y=y)


CASES = {
    "a gap in a column of numbers": Case(
        table("a,b,y", "1,2.5,no", "2,?,yes", "3,1.5,no"),
        TABLE,
        ("--data", "'b'", "line 3", "'?'", "fill"),
        mended=table("a,b,y", "1,2.5,no", "2,2,yes", "3,1.5,no"),
    ),
    "an empty cell": Case(
        table("a,b,y", "1,2.5,no", "2,,yes"),
        TABLE,
        ("--data", "'b'", "line 3", "''", "leave out their rows"),
        mended=table("a,b,y", "1,2.5,no", "2,3.5,yes"),
    ),
    "separators of thousands": Case(
        table("a,b,y", '"1,200",2.5,no', "900,1.0,yes"),
        TABLE,
        ("--data", "'a'", "line 2", "'1,200'", "thousands take out"),
        mended=table("a,b,y", "1200,2.5,no", "900,1.0,yes"),
    ),
    "a decimal comma": Case(
        table("a,b,y", '"38,1",2,no', "37,1,yes"),
        TABLE,
        ("--data", "'a'", "line 2", "'38,1'", "--decimal ','"),
        f"{TABLE} --decimal ,",
    ),
    "numbers and words in a column": Case(
        table("a,b,y", "1,2,no", "2,3+,yes"),
        TABLE,
        ("--data", "'b'", "line 3", "'3+'", "--categories b"),
        f"{TABLE} --categories b --method blocks --blocks auto:sigma=1,keep=.9".replace(
            "--sigma 1 ", ""
        ),
    ),
    "semicolons": Case(
        table("a;b;y", "1,5;2;no", "2,5;3;yes"),
        TABLE,
        ("--separator", "no comma", "--separator ';'"),
        f"{TABLE} --separator ';' --decimal ,",
    ),
    "tabs": Case(
        table("a\tb\ty", "1\t2\tno", "2\t3\tyes"),
        TABLE,
        ("--separator", "no comma", "--separator 'tab'"),
        f"{TABLE} --separator 'tab'",
    ),
    "a name twice": Case(
        table("a,b,a,y", "1,2,3,no", "2,3,4,yes"),
        TABLE,
        ("--data", "columns 1 and 3", "'a'", "rename one"),
        mended=table("a,b,c,y", "1,2,3,no", "2,3,4,yes"),
    ),
    "a column without a name": Case(
        table(",a,y", "0,1,no", "1,2,yes"),
        TABLE,
        ("--data", "column 1 has none", "index=False"),
        mended=table("a,y", "1,no", "2,yes"),
    ),
    "no class": Case(
        table("a,b,y", "1,2,no", "2,3,NA"),
        TABLE,
        ("--data", "'y'", "line 3", "'NA'", "leave out such rows"),
        mended=table("a,b,y", "1,2,no", "2,3,yes"),
    ),
    "a table without a target": Case(
        {"t.csv.gz": gzip.compress(b"a,b,y\n1,2,no\n2,3,yes\n")},
        f"{CERTIFY} --data t.csv.gz",
        ("--target must name",),
        f"{CERTIFY} --data t.csv.gz --target y",
    ),
    "labels of one hot": Case(
        {"d.npz": lambda: save(np.ones((2, 3)), np.eye(2))},
        f"{CERTIFY} --data d.npz",
        ("d.npz: y", "(2, 2)", "y.argmax(axis=1)"),
        mended={"d.npz": lambda: save(np.ones((2, 3)), np.eye(2).argmax(axis=1))},
    ),
    "labels in a column": Case(
        {"d.npz": lambda: save(np.ones((2, 3)), np.array([[0], [1]]))},
        f"{CERTIFY} --data d.npz",
        ("d.npz: y", "(2, 1)", "y.ravel()"),
        mended={"d.npz": lambda: save(np.ones((2, 3)), np.array([0, 1]))},
    ),
    "labels True and False": Case(
        {"d.npz": lambda: save(np.ones((2, 3)), np.array([False, True]))},
        f"{CERTIFY} --data d.npz",
        ("d.npz: y", "True and False", "y.astype(int)"),
        mended={"d.npz": lambda: save(np.ones((2, 3)), np.array([0, 1]))},
    ),
    "a folder of parts": Case(
        {"d": lambda: pictures("train/0", "train/1", "val/0", "val/1")},
        f"{CERTIFY} --data imagefolder:d",
        ("imagefolder:d", "train and val", "say which, imagefolder:d/val"),
        f"{CERTIFY} --data imagefolder:d/val",
    ),
    "fewer folders than classes": Case(
        {"d": lambda: pictures("cat"), "m.py": FLAT},
        f"{CERTIFY} --data imagefolder:d",
        ("1 classes and the model 2", "name each folder by its class's number"),
        f"{CERTIFY} --data imagefolder:e",
        mended={"e": lambda: pictures("1", root="e")},
    ),
    "grey pictures": Case(
        {"d": lambda: pictures("0", "1"), "m.py": linear(16)},
        f"{CERTIFY} --data imagefolder:d",
        ("input 0 has shape (3, 4, 4)", "Linear) takes 16 numbers", "--channels 1"),
        f"{CERTIFY} --data imagefolder:d --channels 1",
    ),
    "grey pictures before a convolution": Case(
        {"d": lambda: pictures("0", "1"), "m.py": convolution(1)},
        f"{CERTIFY} --data imagefolder:d",
        ("input 0 has shape (3, 4, 4)", "Conv2d) takes 1 channels", "--channels 1"),
        f"{CERTIFY} --data imagefolder:d --channels 1",
    ),
    "channels last": Case(
        {"m.py": convolution(3), "d.npz": lambda: save(np.ones((2, 4, 5, 3)), [0, 1])},
        f"{CERTIFY} --data d.npz",
        ("shape (4, 5, 3)", "takes 3 channels", "x.transpose(0, 3, 1, 2)"),
        mended={
            "d.npz": lambda: save(np.ones((2, 4, 5, 3)).transpose(0, 3, 1, 2), [0, 1])
        },
    ),
    "no axis of channels": Case(
        {"m.py": convolution(1), "d.npz": lambda: save(np.ones((2, 4, 5)), [0, 1])},
        f"{CERTIFY} --data d.npz",
        ("shape (4, 5)", "takes 1 channels", "x[:, None]"),
        mended={"d.npz": lambda: save(np.ones((2, 4, 5))[:, None], [0, 1])},
    ),
    "pictures of several sizes": Case(
        {"d": lambda: pictures("0", "1", sizes=(4, 5)), "m.py": linear(48)},
        f"{CERTIFY} --data imagefolder:d",
        ("input 1 has shape (3, 5, 5)", "takes 48 numbers", "--crop"),
        f"{CERTIFY} --data imagefolder:d --crop 4",
    ),
    "data of no known form": Case(
        {"d.mat": b"MATLAB"},
        f"{CERTIFY} --data d.mat",
        ("--data must be FILE.npz", "FILE.csv", "'d.mat'", "scipy.io.loadmat"),
        f"{CERTIFY} --data d.npz",
        mended={"d.npz": lambda: save(np.ones((2, 3)), [0, 1])},
    ),
    "a table of tabs": Case(
        {"t.tsv": "a\ty\n1\tno\n2\tyes\n"},
        f"{CERTIFY} --data t.tsv",
        ("--data must be FILE.npz", "'t.tsv'", "--separator 'tab'"),
        f"{CERTIFY} --data t.tsv --target y --separator tab",
    ),
    "a picture's archive": Case(
        {"d.tar.gz": b"tar"},
        f"{CERTIFY} --data d.tar.gz",
        ("imagefolder:DIR", "'d.tar.gz'", "unpack it"),
        f"{CERTIFY} --data imagefolder:d",
        mended={"d": lambda: pictures("0", "1")},
    ),
    "a file of weights": Case(
        {"w.pt": b"", "d.npz": lambda: save(np.ones((2, 3)), [0, 1])},
        "certify --model w.pt --data d.npz --sigma 1 --n 50 --out o.tsv",
        ("--model must be timm:NAME", "'w.pt'", "path/to/file.py:CALLABLE"),
        f"{CERTIFY} --data d.npz",
    ),
    "a network without its prefix": Case(
        {"net.onnx": b"", "d.npz": lambda: save(np.ones((2, 3)), [0, 1])},
        "certify --model net.onnx --data d.npz --sigma 1 --n 50 --out o.tsv",
        ("--model must be timm:NAME", "'net.onnx'", "say onnx:FILE"),
        f"{CERTIFY} --data d.npz",
    ),
}


def write(files):
    for name, content in files.items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        if callable(content):
            content()
        else:
            path.write_bytes(
                content if isinstance(content, bytes) else content.encode()
            )


@pytest.fixture
def work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write({"m.py": FLAT})


@pytest.mark.filterwarnings("default:the first input reaches")
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_refusal_names_argument_value_and_a_step_that_works(work, capsys, case):
    write(case.files)
    assert main(shlex.split(case.command)) == 2
    captured = capsys.readouterr()
    lines = captured.err.splitlines()
    assert len(lines) == 1
    for word in case.said:
        assert word in lines[0]
    write(case.mended)
    assert main(shlex.split(case.then or case.command)) == 0
