"""The quick tests wherever README says that rsbounds runs: `nox`, or `nox -s clang`.

A session without its interpreter or compiler says so and is skipped; nox counts it.
"""

import os
import shutil
import tempfile
from pathlib import Path

import nox

nox.options.error_on_missing_interpreters = False
nox.options.stop_on_first_error = False

# Pythons of a version manager need not be on PATH by name
ROOT = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser()
FOLDERS = [str(folder) for folder in sorted(ROOT.glob("versions/3.*/bin"))]
os.environ["PATH"] = os.pathsep.join([*FOLDERS, os.environ["PATH"]])

PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
OLDEST = PYTHONS[0]
DEFAULT = None  # the one that runs nox
# What the quick tests need beside PyTorch, which they leave out where it is missing:
# from an index it may be a build for GPUs of several GB. RSBOUNDS_TORCH=1 has it.
EXTRAS = "plot,config,verify,os"
TOOLS = ["pytest", "pytest-xdist", "pytest-benchmark", "hypothesis", "cython"]
TOOLS += ["setuptools", "jupytext", "mlxtend"]
KERNELS = ["tests/special/test_kernels.py", "tests/special/test_calls.py"]
# nox would have temporary files inside the clone, where files of a run are not copied
OUTSIDE = {"TMPDIR": tempfile.gettempdir()}
# Each extra alone: what it is for
USES = {
    "torch": "import rsbounds.torch as t; t.Smooth(lambda x: x, 2, 0.5)",
    "plot": "import rsbounds.results; import matplotlib",
    "config": "import rsbounds.cli; import yaml",
    "verify": "import rsbounds.audit, rsbounds.oracle; import flint",
    "onnx": "import rsbounds.loading; import onnxruntime",
    "sklearn": "import rsbounds.sklearn",
    "art": "import rsbounds.art",
    "os": "from rsbounds.sampling import SystemBits; SystemBits().whole(9)",
}


def install(session, *pins, extras=EXTRAS, env=None):
    """The clone and the tests' tools, compiled in a folder of the session's own."""
    build = f"--config-settings=build-dir={session.create_tmp()}/build"
    session.install(*pins, build, "-e", f".[{extras}]", *TOOLS, env=env)


def quick(session, *paths, constraints="constraints.txt", env=None):
    """Install what the quick tests need, and run them (or those of ``paths``)."""
    torch = os.environ.get("RSBOUNDS_TORCH") == "1"
    if not torch:
        session.log("without PyTorch and its tests: RSBOUNDS_TORCH=1 has them")
    pins = ["-c", constraints] if constraints else []
    extras = f"{EXTRAS},demo,images,onnx" if torch else EXTRAS
    install(session, *pins, extras=extras, env=env)
    session.run("python", "-m", "pytest", "-q", *paths, env=OUTSIDE | (env or {}))


@nox.session(python=PYTHONS)
def tests(session):
    """The quick tests on each Python."""
    quick(session)


@nox.session(python=OLDEST)
def oldest(session):
    """With the oldest packages that pyproject.toml allows."""
    quick(session, constraints="constraints-oldest.txt")


@nox.session(python=DEFAULT)
def newest(session):
    """With the newest packages that there are."""
    quick(session, constraints=None)


@nox.session(python=DEFAULT)
def clang(session):
    """Built by Clang."""
    if not shutil.which("clang++"):
        session.skip("clang++ is not here")
    quick(session, env={"CC": "clang", "CXX": "clang++"})


@nox.session(python=DEFAULT)
def portable(session):
    """Built for the baseline's instructions."""
    quick(session, env={"RSBOUNDS_PORTABLE": "1"})


@nox.session(python=DEFAULT)
def undefined(session):
    """The kernels' tests under the sanitizer of undefined behaviour."""
    flags = "-fsanitize=undefined -fno-sanitize-recover=undefined"
    quick(session, *KERNELS, env={"CXXFLAGS": flags, "LDFLAGS": flags})


@nox.session(python=DEFAULT)
def addresses(session):
    """The kernels' tests under the sanitizer of addresses."""
    name = session.run("gcc", "-print-file-name=libasan.so", external=True, silent=True)
    flags = "-fsanitize=address"
    preload = {"LD_PRELOAD": name.strip(), "ASAN_OPTIONS": "detect_leaks=0"}
    env = {"CXXFLAGS": flags, "LDFLAGS": flags}
    install(session, "-c", "constraints.txt", env=env)
    session.run("python", "-m", "pytest", "-q", "-n", "0", *KERNELS, env=preload)


@nox.session(python=DEFAULT)
@nox.parametrize("extra", list(USES))
def extra(session, extra):
    """Each extra alone: what it brings is enough."""
    if extra == "torch" and os.environ.get("RSBOUNDS_TORCH") != "1":
        session.skip("PyTorch may be a build for GPUs: RSBOUNDS_TORCH=1")
    session.install("-c", "constraints.txt", f".[{extra}]")
    with tempfile.TemporaryDirectory() as folder, session.chdir(folder):
        session.run("python", "-c", USES[extra])


@nox.session(python=DEFAULT)
def surroundings(session):
    """An odd machine: one core, private files, narrow, another clock, random hashes."""
    install(session, "-c", "constraints.txt")
    os.umask(0o077)
    odd = {"TZ": "Asia/Kathmandu", "PYTHONHASHSEED": "random", "COLUMNS": "40"}
    for threads in ("1", "8"):
        env = odd | {"OMP_NUM_THREADS": threads, "NUMBA_NUM_THREADS": threads}
        words = ["-m", "pytest", "-q", "-n", "0", "tests/results", "tests/special"]
        session.run("python", *words, env=env)
