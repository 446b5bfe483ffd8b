"""The complete scripts of docs/examples: run on a few small pictures."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cli_models import package

from rsbounds import results

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
SCRIPT = EXAMPLES / "imagenet.py"
JOB = (EXAMPLES / "imagenet.sbatch").read_text()
MODEL = """
import torch
from rsbounds.loading import Loaded, Preprocess

def load():
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.AvgPool2d(4), torch.nn.Flatten(), torch.nn.Linear(12, 3)
    )
    return Loaded(net, mean=0.5, std=0.25, preprocess=Preprocess(8, (8, 8)))
"""
SMALL = ["--model", "own.py:load", "--device", "cpu", "--n", "200"]

pytestmark = pytest.mark.slow  # starts Python with torch


@pytest.fixture
def pictures(tmp_path):
    package("torch")
    image = package("PIL.Image")
    rng = np.random.default_rng(0)
    for number in range(5):
        folder = tmp_path / "val" / str(number % 3)
        folder.mkdir(parents=True, exist_ok=True)
        pixels = rng.integers(0, 256, (10, 12, 3), dtype=np.uint8)
        image.fromarray(pixels).save(folder / f"{number}.png")
    (tmp_path / "own.py").write_text(MODEL)
    return tmp_path


def start(folder, *words, **environment):
    return subprocess.Popen(
        [sys.executable, str(SCRIPT), "val", *words],
        cwd=folder,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(process):
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err.strip().splitlines()[-1:] or [""]


def test_two_tasks_of_slurm_write_the_rows_of_one_process(pictures):
    tasks = [
        start(pictures, *SMALL, "--out", "r.tsv", SLURM_PROCID=i, SLURM_NTASKS="2")
        for i in "01"
    ]
    alone = start(pictures, *SMALL, "--out", "alone.tsv")
    ends = [finished(process) for process in [*tasks, alone]]
    assert [code for code, *_ in ends] == [0, 0, 0], ends
    assert [end[1].split(",")[0] for end in ends] == [
        "r.0-of-2.tsv: 3 pictures",
        "r.1-of-2.tsv: 2 pictures",
        "alone.tsv: 5 pictures",
    ]
    parts = sorted(pictures.glob("r.?-of-2.tsv"))
    assert results.merge(pictures / "all.tsv", parts) == (5, [])
    found = [results.read(pictures / name).rows for name in ("all.tsv", "alone.tsv")]
    merged, whole = ([(r.idx, r.predict, r.radius, r.count) for r in f] for f in found)
    assert merged == whole


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--sigma", "-1"], "sigma must be in (0, inf); got -1.0"),
        (["--alpha", "2"], "alpha"),
        (["--n", "0"], "n must be"),
        (["--checkpoint", "none.pt"], "none.pt"),
        (["--model", "torchvision"], "model"),
    ],
)
def test_a_wrong_argument_is_one_line(pictures, words, named):
    code, _, [last] = finished(start(pictures, *SMALL, *words))
    assert code == 1
    assert last.startswith("imagenet.py: ")
    assert named in last


def test_the_job_gives_what_the_script_takes():
    """Its flags are the script's, and it merges the names that the tasks write."""
    script = SCRIPT.read_text()
    command = re.search(r"srun python imagenet\.py(.*?)(?<!\\)\n", JOB, re.S)[1]
    assert "--out resnet50.tsv" in command
    for flag in re.findall(r"--\w+", command):
        assert f'add("{flag}"' in script
    [tasks] = re.findall(r"--ntasks=(\d+)", JOB)
    assert f"resnet50.?-of-{tasks}.tsv" in JOB
