"""The special functions alone: what an import loads, its size and its time.

    python benchmarks/pages/alone.py

builds a wheel, installs it beside the NumPy and SciPy of this Python, and writes
docs/benchmarks/alone.md (three minutes). numba-stats is measured where it is installed.
"""

import os

if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # before cores are counted

import json
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

from machine import machine

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "benchmarks" / "alone.md"
ROUNDS = 15
Run = tuple[float, float, list[str], list[str]]

#: Prints the processor time of an import and of a first call, and what was loaded.
CHILD = """
import json, sys
from time import process_time
sys.path[:0] = {paths}
old = set(sys.modules)
start = process_time()
{imported}
middle = process_time()
{called}
end = process_time()
new = set(sys.modules) - old
files = [getattr(sys.modules[name], "__file__", None) for name in new]
print(json.dumps([middle - start, end - middle, sorted(new), [f for f in files if f]]))
"""


class Case(NamedTuple):
    name: str
    imported: str
    called: str
    packages: tuple[str, ...]  # what has to be installed for it, besides rsbounds


CASES = (
    Case(
        "`rsbounds.special`",
        "from rsbounds.special import ncx2_cdf",
        "ncx2_cdf(1.0, 2.0, 3.0)",
        ("numpy",),
    ),
    Case(
        "`scipy.special` (Boost)",
        "from scipy.special import chndtr",
        "chndtr(1.0, 2.0, 3.0)",
        ("numpy", "scipy"),
    ),
    Case(
        "`rsbounds.stats`",
        "from rsbounds.stats import ncx2",
        "ncx2.cdf(1.0, 2.0, 3.0)",
        ("numpy", "scipy"),
    ),
    Case(
        "`scipy.stats`",
        "from scipy.stats import ncx2",
        "ncx2.cdf(1.0, 2.0, 3.0)",
        ("numpy", "scipy"),
    ),
    Case("NumPy", "import numpy", "numpy.exp(1.0)", ("numpy",)),
    Case(
        "`numba_stats` (normal law)",
        "import numpy; from numba_stats import norm",
        "norm.cdf(numpy.array([1.0]), 0.0, 1.0)",
        ("numpy", "scipy", "numba", "llvmlite", "numba-stats"),
    ),
)


def is_here(package: str) -> bool:
    try:
        distribution(package)
    except PackageNotFoundError:
        return False
    return True


def size_of(files: list[Path]) -> float:
    """In megabytes, without compiled copies of Python's files."""
    kept = {file for file in files if file.is_file() and file.suffix != ".pyc"}
    return sum(file.stat().st_size for file in kept) / 1e6


def installed(package: str) -> list[Path]:
    own = distribution(package)
    return [Path(str(own.locate_file(file))) for file in own.files or ()]


def wheel_in(folder: Path) -> Path:
    """A wheel of this project, and in ``site`` what it installs."""
    pip = [sys.executable, "-m", "pip"]
    build = [*pip, "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", folder]
    subprocess.run([*build, ROOT], check=True)
    (wheel,) = folder.glob("*.whl")
    install = [*pip, "install", "-q", "--no-deps", "--target", folder / "site", wheel]
    subprocess.run(install, check=True)
    return wheel


def start(case: Case, paths: list[str]) -> Run:
    code = CHILD.format(paths=paths, imported=case.imported, called=case.called)
    command = [sys.executable, "-I", "-S", "-c", code]
    result = json.loads(subprocess.check_output(command, text=True))
    return tuple(result)


def others_of(modules: list[str]) -> set[str]:
    """The packages among them that come neither with Python nor with this project."""
    tops = {name.partition(".")[0] for name in modules}
    public = {name for name in tops if not name.startswith("_")}
    return public - set(sys.stdlib_module_names) - {"cython_runtime"}


TEXT = """# Special functions alone

For the [special functions](../reference/special.md) alone rsbounds needs no extra. Its
dependencies are NumPy, SciPy and tqdm; `import rsbounds.special` loads NumPy alone (a
test holds it), no SciPy, numba or torch.
Made by

```sh
python benchmarks/pages/alone.py
```

on: {machine}. A wheel is built and installed, and new interpreters import it and call
one function with three numbers, in turns with the others: medians of {rounds} rounds,
processor time. What numba compiles is in its cache. Sizes are of the files on disk
without compiled copies of Python's; those of a package count all that the wheel brings.

| | loaded besides | on disk, MB | import, s | first call, ms |
| --- | --- | --- | --- | --- |
{rows}

The sizes are of the package with what it needs: NumPy is {numpy:.1f} MB of each,
SciPy {scipy:.1f} MB. `rsbounds` itself is {own:.1f} MB (a wheel of {wheel:.1f} MB), of
which `rsbounds.special` loads {loaded} files of {part:.1f} MB. {left_out}

C and C++ programs need the headers alone, {headers:.2f} MB, without Python:
[compiled code](../howto/compiled-code.md).
"""


def row(case: Case, runs: list[Run], own: float) -> str:
    first, call = (median(run[k] for run in runs) for k in (0, 1))
    size = sum(size_of(installed(package)) for package in case.packages)
    if "rsbounds" in case.name:
        size += own
    others = others_of(runs[0][2]) - {"rsbounds", "rsbounds_ext"}
    shown = ", ".join(f"`{name}`" for name in sorted(others))
    return f"| {case.name} | {shown} | {size:.1f} | {first:.2f} | {1e3 * call:.1f} |"


def main() -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        wheel = wheel_in(folder)
        site = folder / "site"
        # compiled copies are written by the first start of each
        paths = [str(site), *filter(None, sys.path)]
        cases = [case for case in CASES if all(map(is_here, case.packages))]
        rounds = [[start(case, paths) for case in cases] for _ in range(ROUNDS + 1)][1:]
        runs = list(zip(*rounds, strict=True))
        own = size_of([*site.rglob("*")])
        special = [Path(file) for file in runs[0][0][3]]
        loaded = [file for file in special if file.is_relative_to(site)]
        missing = "numba-stats is not installed here and left out."
        text = TEXT.format(
            machine=machine("numba", "numba-stats"),
            rounds=ROUNDS,
            rows="\n".join(
                row(case, list(each), own)
                for case, each in zip(cases, runs, strict=True)
            ),
            numpy=size_of(installed("numpy")),
            scipy=size_of(installed("scipy")),
            own=own,
            wheel=wheel.stat().st_size / 1e6,
            loaded=len(loaded),
            part=size_of(loaded),
            headers=size_of([*(site / "rsbounds_ext" / "include").rglob("*")]),
            left_out="numba-stats has no noncentral chi-square law."
            if len(cases) == len(CASES)
            else missing,
        )
    PAGE.write_text(text)


if __name__ == "__main__":
    main()
