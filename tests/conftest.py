"""Fixtures of more than one file."""

import os
import re
import shutil
import socket
import sys
from pathlib import Path

import cluster_runs as runs
import mpmath
import pytest
from cli_models import arguments, prepare

from rsbounds.cli import main

# Each worker of pytest has a core: threads of torch would take those of the others.
os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*_):
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.fixture
def work(tmp_path, monkeypatch):
    return prepare(tmp_path, monkeypatch)


@pytest.fixture(scope="session")
def certified(tmp_path_factory):
    """Where a run in such a directory wrote its files."""
    with pytest.MonkeyPatch.context() as patch:
        folder = prepare(tmp_path_factory.mktemp("certified"), patch)
        assert main(arguments()) == 0
    sys.modules.pop("models", None)
    return folder


@pytest.fixture
def finished(tmp_path, monkeypatch, certified):
    """The same directory after ``rsbounds certify``, ended in another."""
    for name in ("out.tsv", "out.tsv.manifest.json"):
        shutil.copy(certified / name, tmp_path)
    return prepare(tmp_path, monkeypatch)


@pytest.fixture(autouse=True)
def one_thread(request):
    """Sums, and so trained networks, may depend on the number of threads."""
    place = request.path.relative_to(Path(__file__).parent).as_posix()
    if not re.search("torch|demo|memory|^art/", place):
        yield
        torch = sys.modules.get("torch")
        if torch is not None:  # whose threads a model's file may have set
            torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
        return
    demo = pytest.importorskip("rsbounds.demo")
    with demo.one_thread():
        yield


@pytest.fixture(scope="module")
def sixty_digits():
    with mpmath.workdps(60):
        yield


@pytest.fixture
def balls():
    """Ball arithmetic of 256 bits."""
    with pytest.importorskip("flint").ctx.workprec(256):
        yield


@pytest.fixture(scope="session")
def whole(tmp_path_factory):
    """The result file of one process, for runs that were dealt to others."""
    folder = tmp_path_factory.mktemp("whole")
    runs.prepare(folder)
    done = runs.run(folder=folder)
    assert done.returncode == 0, done.stderr
    return folder / "out.tsv"
