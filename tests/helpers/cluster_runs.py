"""Runs of ``rsbounds certify`` with workers that can be found and killed."""

import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
from cli_models import ENVIRONMENT
from methods_by_code import METHODS

MODEL = """
import os, pathlib, time
import numpy as np

weights = np.random.default_rng(0).standard_normal((36, 3)).astype(np.float32)

def linear():
    return lambda batch: batch.reshape(len(batch), -1) @ weights

def held():
    pathlib.Path(f"pid-{os.getpid()}").touch()
    def call(batch):
        while waits():
            time.sleep(0.01)
        return linear()(batch)
    return call

def waits():
    try:
        out = pathlib.Path("hold").read_text()
        return len(pathlib.Path(out).read_bytes().splitlines()) > 3
    except FileNotFoundError:
        return False

def unseeded():
    import torch
    layers = torch.nn.Linear(36, 50), torch.nn.ReLU(), torch.nn.Linear(50, 3)
    return torch.nn.Sequential(torch.nn.Flatten(), *layers)

def seeded():
    import torch
    torch.manual_seed(1)
    return unseeded()

def murderous():
    here = linear()
    def call(batch):
        if abs(batch).max() > 50 and len(batch) > 1:
            os._exit(1)
        return here(batch)
    return call

def failing():
    def call(batch):
        if abs(batch).max() > 50 and len(batch) > 1:
            raise RuntimeError("no such layer")
        return linear()(batch)
    return call
"""
COUNT = 24
WAIT = 600.0  # seconds until a run is given up, on a machine with much else to do
# a model and a method that code makes
OTHERS = [
    ("linear", "--method methods:foreign"),
    ("seeded", "--method methods:maps"),
    ("seeded", "--method methods:network"),
]


def prepare(folder):
    """A model and its data; the input at 13 is far from all others."""
    (folder / "model.py").write_text(MODEL)
    (folder / "methods.py").write_text(METHODS)
    x = np.random.default_rng(1).standard_normal((COUNT, 1, 6, 6)).astype(np.float32)
    x[13] *= 100
    y = np.random.default_rng(2).integers(0, 3, COUNT)
    np.savez(folder / "data.npz", x=x, y=y)


def words(*more, out="out.tsv", model="linear", method="--sigma 0.5"):
    given = (
        f"--model model:{model} --data data.npz {method} --n0 20 --n 2000 --out {out}"
    )
    return [sys.executable, "-m", "rsbounds", "certify", *given.split(), *more]


def environment():
    kept = {k: v for k, v in ENVIRONMENT.items() if not k.startswith(("SLURM", "RAY"))}
    return kept | {"OMP_NUM_THREADS": "1"}


def run(*more, folder, env=None, **known):
    options = {"capture_output": True, "text": True, "timeout": WAIT}
    env = environment() | (env or {})
    return subprocess.run(words(*more, **known), cwd=folder, env=env, **options)


def done(*more, out="out.tsv", **known):
    """The rows of a run that ends well, but for their times."""
    ended = run(*more, out=out, **known)
    assert ended.returncode == 0, ended.stderr
    return without_time(known["folder"] / out)


@contextmanager
def begun(*more, folder, out="out.tsv"):
    """A run in a process group of its own, standard error in the file "err".

    Its workers wait for :func:`go_on` when three rows are written.
    """
    for file in folder.glob("pid-*"):
        file.unlink()
    (folder / "hold").write_text(out)
    known = {"cwd": folder, "env": environment(), "start_new_session": True}
    with (
        open(folder / "err", "wb") as err,
        subprocess.Popen(
            words(*more, out=out, model="held"), stderr=err, **known
        ) as process,
    ):
        try:
            yield process
        finally:
            go_on(folder)
            process.kill()


@contextmanager
def held(*more, folder, out="out.tsv"):
    """A run that has written three rows, of two workers that wait for :func:`go_on`."""
    with begun(*more, folder=folder, out=out) as process:
        wait_for(process, lambda: len(workers(process, folder)) == 2)
        path = folder / out
        wait_for(process, lambda: path.exists() and path.read_bytes().count(b"\n") > 3)
        yield process


def go_on(folder):
    (folder / "hold").unlink(missing_ok=True)


def wait_for(process, event):
    begun = time.monotonic()
    while not event():
        assert process.poll() is None, "the run ended before"
        assert time.monotonic() - begun < WAIT, "nothing happened"
        time.sleep(0.01)


def workers(process, folder):
    """Processes that made the model, but for the one that writes."""
    found = [int(file.name.removeprefix("pid-")) for file in folder.glob("pid-*")]
    return [pid for pid in found if pid != process.pid]


def children(pid):
    return [
        int(c) for c in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    ]


def importing(pid):
    """Whether a process has begun with its imports: NumPy's are among the first."""
    with suppress(OSError):
        return "_multiarray_umath" in Path(f"/proc/{pid}/maps").read_text()
    return False


def ended(pid):
    try:
        return (
            Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
        )
    except (ProcessLookupError, FileNotFoundError):
        return True


def gone(pid):
    """Whether a process ends, before the run is given up."""
    begun = time.monotonic()
    while not (over := ended(pid)) and time.monotonic() - begun < WAIT:
        time.sleep(0.01)
    return over


def complaint(stderr):
    """The command's one line; Ray and the interpreter may add some of their own."""
    assert "Traceback" not in stderr
    lines = [
        line for line in stderr.splitlines() if line.startswith("rsbounds certify: ")
    ]
    passed_over = ("first 10 inputs", "warning: ")
    (line,) = [line for line in lines if not any(word in line for word in passed_over)]
    return line


def without_time(path):
    lines = (line.split("\t") for line in path.read_text().splitlines())
    return [fields[:5] + fields[6:] for fields in lines]
