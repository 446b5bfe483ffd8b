"""Without PyTorch, what needs it is left out; the rest is tested all the same."""

import gc
import os
import re
import signal
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import hypothesis
import pytest

# Everywhere the same examples, and no example fails because the machine has much else
# to do; `pytest --hypothesis-profile=explore` draws new ones.
hypothesis.settings.register_profile(
    "explore", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.register_profile(
    "rsbounds",
    hypothesis.settings.get_profile("explore"),
    derandomize=True,
    database=None,
)
hypothesis.settings.load_profile("rsbounds")

# the processes of pytest-xdist are as many as the cores: each takes one
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

# Where Python is told to write no bytecode, each process that a test starts would
# compile the whole package again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Tests end processes, never the machine, so what they write need not be on the disk: a
# row waits there for milliseconds. Tests of this put a function of their own in its
# place, and child processes wait as always.
os.fsync = lambda descriptor: None

# their own tests run the examples of these; the last are for noxfile.py
collect_ignore_glob = ["rsbounds/art.py", "rsbounds/jax.py", "rsbounds/sklearn.py"]
collect_ignore_glob += ["tests/extras/*"]
MISSING = [name for name in ("torch", "cryptography") if find_spec(name) is None]
FOLDERS = (Path(__file__).parent, Path(__file__).parent / "tests/helpers")
IMPORT = re.compile(r"^(?:from|import) ([\w.]+)", re.MULTILINE)


@cache
def imported(path):
    """The modules that a file imports when it is loaded, and their files here."""
    names = IMPORT.findall(path.read_text(encoding="utf-8"))
    places = [name.replace(".", "/") for name in names]
    files = [
        file
        for place in places
        for folder in FOLDERS
        for file in (folder / f"{place}.py", folder / place / "__init__.py")
        if file.is_file()
    ]
    files += [file for up in path.parents if (file := up / "__init__.py").is_file()]
    return names, files


def needs_what_is_missing(path):
    """Whether a file's imports, and theirs in this project, reach a missing package."""
    seen = {path}
    open_files = [path]
    while MISSING and open_files:
        names, files = imported(open_files.pop())
        if any(name.partition(".")[0] in MISSING for name in names):
            return True
        open_files += [file for file in files if file not in seen]
        seen.update(files)
    return False


def pytest_ignore_collect(collection_path):
    """Leave out the files that need a package that isn't here."""
    if collection_path.suffix == ".py" and needs_what_is_missing(collection_path):
        return True
    return None


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Search for no garbage: what collecting makes stays, and tests never search it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config, items):
    """Leave out the examples that need one."""
    kept, left_out = [], []
    for item in items:
        examples = getattr(getattr(item, "dtest", None), "examples", ())
        source = "".join(example.source for example in examples)
        imported = re.findall(r"^(?:from|import) (.+)", source, re.MULTILINE)
        words = set(re.findall(r"\w+", " ".join(imported)))
        (left_out if words.intersection(MISSING) else kept).append(item)
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept


# commands that a shell starts in the background ignore Ctrl-C, and so would those that
# tests start
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
