"""Resident memory of the whole command: it does not grow with the data set."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

MODEL = """
import torch

def load():
    return torch.nn.Sequential(torch.nn.AvgPool2d(8), torch.nn.Flatten(), torch.nn.Linear(2352, 10))
"""
# VmHWM: ru_maxrss would count the process that started this one
COMMAND = """
import re, sys
from rsbounds.cli import main
code = main(sys.argv[1:])
with open("/proc/self/status") as status:
    print("peak", re.search(r"VmHWM:\\s+(\\d+) kB", status.read())[1])
sys.exit(code)
"""
OPTIONS = "certify --model model.py:load --sigma 0.25 --max 10 --n0 10 --n 100 --data"
COUNTS = (27, 2700)  # pictures of 150,528 bytes: 4 and 406 MB


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    (folder / "model.py").write_text(MODEL)
    for count in COUNTS:
        x, y = np.full((count, 3, 224, 224), 7, np.uint8), np.arange(count) % 10
        np.savez(folder / f"{count}.npz", x=x, y=y)
        np.save(folder / f"{count}.npy", x)
        np.save(folder / f"{count}.labels.npy", y)
    yield folder
    shutil.rmtree(folder)


def peak(folder: Path, data: str, *options: str) -> float:
    """Resident memory at most, in MiB."""
    out = f"{data.replace(':', '-')}{''.join(options)}.tsv"
    arguments = [*OPTIONS.split(), data, "--out", out, *options]
    run = subprocess.run(
        [sys.executable, "-c", COMMAND, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    found = re.search(r"^peak (\d+)$", run.stdout, re.MULTILINE)
    assert found
    return int(found[1]) / 1024


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("options", [[], ["--sound-noise"]])
@pytest.mark.parametrize("kind", ["npz", "npy"])
def test_the_command_needs_no_more_for_a_larger_file(files, kind, options):
    small, large = (peak(files, f"{count}.{kind}", "--scale", "255", *options) for count in COUNTS)
    print(f"{kind} {options}: {small:.0f} MiB, {large:.0f} MiB")
    assert large - small < 60  # MiB, where the files differ by 384; found: 22 at most


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_command_needs_no_more_for_a_folder_of_more_pictures(files):
    """Of which it holds the names: a few hundred bytes a picture."""
    image = pytest.importorskip("PIL.Image")
    image.fromarray(np.full((224, 224, 3), 7, np.uint8)).save(files / "one.png")
    for count in COUNTS:
        for i in range(count):
            place = files / f"pictures{count}" / f"class{i % 10}"
            place.mkdir(parents=True, exist_ok=True)
            (place / f"{i}.png").hardlink_to(files / "one.png")
    small, large = (peak(files, f"imagefolder:pictures{count}") for count in COUNTS)
    print(f"folder: {small:.0f} MiB, {large:.0f} MiB")
    assert large - small < 40  # MiB, where the pictures in memory differ by 384; found: none
