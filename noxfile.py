"""The quick tests wherever README says that rsbounds runs: `nox`, or `nox -s clang`.

`nox -s clang -- tests/gaussian` runs some of them. A session without its interpreter or
compiler says so and is skipped; nox counts it.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path

import nox

nox.options.error_on_missing_interpreters = False
nox.options.stop_on_first_error = False

# Pythons of a version manager need not be on PATH by name: pyenv, asdf, mise, uv
PLACES = [os.environ.get("PYENV_ROOT", "~/.pyenv") + "/versions"]
PLACES += ["~/.asdf/installs/python", "~/.local/share/mise/installs/python"]
PLACES += ["~/.local/share/uv/python"]
FOLDERS = [
    str(folder)
    for place in PLACES
    for pattern in ("3.*/bin", "cpython-3.*/bin")
    for folder in sorted(Path(place).expanduser().glob(pattern))
    if not re.search(r"\dt$|freethreaded", folder.parent.name)
]
os.environ["PATH"] = os.pathsep.join([*FOLDERS, os.environ["PATH"]])

PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
OLDEST = PYTHONS[0]
# the newest one here: the newest packages have none for the oldest Python
NEWEST = next((x for x in PYTHONS[::-1] if shutil.which(f"python{x}")), PYTHONS[-1])
DEFAULT = None  # the one that runs nox
# What the quick tests need beside PyTorch, which they leave out where it is missing:
# from an index it may be a build for GPUs of several GB. RSBOUNDS_TORCH=1 has it.
EXTRAS = "plot,config,verify,os,numba"
TOOLS = ["pytest", "pytest-xdist", "pytest-benchmark", "hypothesis", "gmpy2", "cython"]
TOOLS += ["setuptools", "jupytext", "mlxtend"]
KERNELS = ["tests/special/test_kernels.py", "tests/special/test_calls.py"]
# nox would have temporary files inside the clone, where files of a run are not copied
OUTSIDE = {"TMPDIR": tempfile.gettempdir()}
# Each extra that users install has a file that does what it is for
ALONE = Path(__file__).parent / "tests/extras"
USES = sorted(path.stem.removeprefix("with_") for path in ALONE.glob("with_*.py"))
NEED_TORCH = {"torch", "timm", "hf", "images", "demo"}
PRIVATE = ["sh", "-c", 'umask 077; exec "$@"', "sh"]  # before the words of a command


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
    words = ["-m", "pytest", "-q", *paths, *session.posargs]
    # beside the sources, where numba keeps what it compiles, one process may read what
    # another version wrote before
    cache = {"NUMBA_CACHE_DIR": f"{session.create_tmp()}/numba"}
    session.run("python", *words, env=OUTSIDE | cache | (env or {}))


@nox.session(python=PYTHONS)
def tests(session):
    """The quick tests on each Python."""
    quick(session)


@nox.session(python=OLDEST)
def oldest(session):
    """With the oldest packages that pyproject.toml allows."""
    quick(session, constraints="constraints-oldest.txt")


@nox.session(python=NEWEST)
def newest(session):
    """With the newest packages that there are, on the newest Python here."""
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
def levels(session):
    """The kernels' tests at two levels of each compiler, portable and not."""
    install(session, "-c", "constraints.txt")
    compilers = {"gcc": "g++", "clang": "clang++"}
    here = {cc: cxx for cc, cxx in compilers.items() if shutil.which(cxx)}
    session.log(f"compilers here: {', '.join(here)}")
    for (cc, cxx), level, portable in product(here.items(), ("-O2", "-O3"), "01"):
        name = f"{cc}{level}-{portable}"
        build = f"--config-settings=build-dir={session.create_tmp()}/{name}"
        flags = f"--config-settings=cmake.define.CMAKE_CXX_FLAGS_RELEASE={level}"
        env = {"CC": cc, "CXX": cxx, "RSBOUNDS_PORTABLE": portable}
        session.install("--no-deps", build, flags, "-e", ".", env=env)
        session.run("python", "-m", "pytest", "-q", "-n", "0", *KERNELS)


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
@nox.parametrize("extra", USES)
def extra(session, extra):
    """Each extra alone: it has all that its main function needs."""
    use(session, extra, "constraints.txt")


@nox.session(python=OLDEST)
@nox.parametrize("extra", USES)
def oldest_extra(session, extra):
    """Each extra alone, with the oldest packages that pyproject.toml allows."""
    use(session, extra, "constraints-oldest.txt")


def use(session, extra, constraints):
    """Install one extra, and do what it is for."""
    if extra in NEED_TORCH and os.environ.get("RSBOUNDS_TORCH") != "1":
        session.skip("PyTorch may be a build for GPUs: RSBOUNDS_TORCH=1")
    session.install("-c", constraints, f".[{extra}]")
    with tempfile.TemporaryDirectory() as folder, session.chdir(folder):
        env = {"PYTHONPATH": str(ALONE.parent / "helpers")}
        session.run("python", "-P", str(ALONE / f"with_{extra}.py"), env=env)


@nox.session(python=DEFAULT)
def private(session):
    """In a clone that no other user may read."""
    with tempfile.TemporaryDirectory() as folder:  # of mode 0700
        session.run("git", "clone", "-q", ".", folder, external=True)
        with session.chdir(folder):
            quick(session)


@nox.session(python=False)
def guest(session):
    """A user without a home or a network, who may write neither clone nor packages."""
    tools = ("setpriv", "unshare", "git")
    if os.geteuid() != 0 or not all(map(shutil.which, tools)):
        session.skip(f"only root may become another user; it needs {', '.join(tools)}")
    become = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
    python = readable_python(become)
    if python is None:
        session.skip("the user nobody may run no Python >= 3.11 here")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        clone, own = f"{folder}/clone", f"{folder}/venv/bin/python"
        words = ["-m", "virtualenv", "-q", "-p", python, f"{folder}/venv"]
        session.run("git", "clone", "-q", ".", clone, external=True)
        session.run(sys.executable, *words, external=True)
        with session.chdir(clone):
            packages = ["-e", f".[{EXTRAS}]", *TOOLS]
            words = ["-m", "pip", "install", "-q", "-c", "constraints.txt", *packages]
            session.run(own, *words, external=True)
            env = ["env", "-i", f"PATH={os.defpath}", "HOME=/nonexistent"]
            tests = [own, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
            words = [*become, *env, *PRIVATE, *tests, *session.posargs]
            session.run("unshare", "-n", *words, external=True)


def readable_python(become):
    """A Python that another user may run: the one of this program, or the system's."""
    known = "import sys; sys.exit(sys.version_info < (3, 11))"
    for python in (os.path.realpath(sys.executable), "/usr/bin/python3"):
        # setpriv itself may still read what the user may not: env is that user
        words = [*become, "env", python, "-c", known]
        if subprocess.run(words, cwd="/").returncode == 0:
            return python
    return None


@nox.session(python=DEFAULT)
def surroundings(session):
    """One core, then 8 threads; 40 and 80 columns, private files, any order."""
    install(session, "-c", "constraints.txt")
    session.install("pytest-randomly")
    odd = {"TZ": "Asia/Kathmandu", "PYTHONHASHSEED": "random"}
    for threads, columns in (("1", "40"), ("8", "80")):
        several = {f"{name}_NUM_THREADS": threads for name in ("OMP", "NUMBA")}
        env = OUTSIDE | odd | several | {"COLUMNS": columns}
        core = ["taskset", "-c", "0"] if threads == "1" else []
        words = ["-m", "pytest", "-q", "--randomly-dont-reset-seed", *session.posargs]
        session.run(*core, *PRIVATE, "python", *words, env=env, external=True)


@nox.session(python=DEFAULT)
def alone(session):
    """Each file of tests by itself, and of it each test in a process of its own."""
    install(session, "-c", "constraints.txt")
    env = OUTSIDE | {"PYTHONPATH": str(ALONE.parent / "helpers")}
    for path in session.posargs or sorted(Path("tests").glob("**/test_*.py")):
        words = ["-m", "pytest", "-q", "-n", "0", "-p", "each_alone", str(path)]
        # 5: none of its tests is quick, or PyTorch is missing
        session.run("python", *words, env=env, success_codes=[0, 5])
