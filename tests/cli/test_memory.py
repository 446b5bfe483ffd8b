"""Resident memory of the whole command: it does not grow with the data set."""

import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

MODEL = """
import torch

def load():
    layers = torch.nn.AvgPool2d(8), torch.nn.Flatten(), torch.nn.Linear(2352, 10)
    return torch.nn.Sequential(*layers)
"""
# VmHWM: ru_maxrss would count the process that started this one
COMMAND = """
import re, sys
from rsbounds.cli import main
options, *files = sys.argv[1:]
for file in files:
    if main([*options.split(), "--data", file, "--out", file + ".tsv"]):
        sys.exit("no run")
    with open("/proc/self/status") as status:
        print("peak", re.search(r"VmHWM:\\s+(\\d+) kB", status.read())[1])
"""
OPTIONS = (
    "certify --model model.py:load --scale 255 --sigma 0.25 --max 10 --n0 5 --n 15"
)
COUNTS = (27, 1350)  # pictures of 150,528 bytes: 4 and 203 MB


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    (folder / "model.py").write_text(MODEL)
    picture = folder / "one.png"
    pytest.importorskip("PIL.Image").fromarray(
        np.full((224, 224, 3), 7, np.uint8)
    ).save(picture)
    for count in COUNTS:
        x, y = np.full((count, 3, 224, 224), 7, np.uint8), np.arange(count) % 10
        np.savez(folder / f"{count}.npz", x=x, y=y)
        np.save(folder / f"{count}.npy", x)
        np.save(folder / f"{count}.labels.npy", y)
        for i in y:
            (folder / f"{count}" / f"{i}").mkdir(parents=True, exist_ok=True)
        for i, label in enumerate(y):
            (folder / f"{count}" / f"{label}" / f"{i}.png").hardlink_to(picture)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("more", ["", " --sound-noise"])
def test_the_command_needs_no_more_for_a_larger_file(files, more):
    """In one process: what it held at most after the small files, and after the large
    ones.
    """
    kinds = "imagefolder:{}", "{}.npz", "{}.npy"
    data = [kind.format(count) for count in COUNTS for kind in kinds]
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, OPTIONS + more, *data],
        cwd=files,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    peaks = [
        int(kib) / 1024
        for kib in re.findall(r"^peak (\d+)$", done.stdout, re.MULTILINE)
    ]
    assert len(peaks) == len(data)
    assert peaks[-1] - peaks[2] < 60, (
        peaks
    )  # MiB, where the files differ by 190; found: 22 at most
    for file in files.glob("*.tsv*"):
        file.unlink()
