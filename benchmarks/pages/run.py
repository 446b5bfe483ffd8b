"""The benchmark pages again, in one run of some minutes.

    python benchmarks/pages/run.py

runs benchmarks/cases and writes docs/benchmarks/speed.md, then runs stability.py and
instructions.py. The pages that train or certify (learned.py, composite.py,
imagenet.py), ncx2_compared.py and scale.py are made apart; from the counts that are
there imagenet.py writes its page in seconds, composite.py in a few minutes.
"""

import json
import os
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from machine import machine

HERE = Path(__file__).parent
CASES = HERE.parent / "cases"
PAGE = HERE.parents[1] / "docs" / "benchmarks" / "speed.md"
HEAD = """# Speed

Everything timed in one run, ratios first, by

```sh
python benchmarks/pages/run.py
```

on: {machine}. The load average when it began was {load:.1f}. All times are the least of
several rounds, in a process that keeps the memory it frees. "Wall time" is of one call,
on all cores where a section does not say otherwise. The special functions beside SciPy
and R, over the noncentralities: [stability](stability.md).
"""
# glibc: freed blocks are used again; how many go back to the system is chance, worth 40
# % here
KEEP_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**34)}
SECTIONS = {  # group of benchmarks: (title, first column, table's base, text)
    "semi-elastic radii, arrays of 20,000": (
        "A batch of radii",
        "d",
        None,
        "20,000 radii at one dimension ($\\sigma$ = .25, rate .01, both branches). "
        "The peers solve the same certificate with `scipy.stats.ncx2`: in arrays, the "
        "first 400 radii by `scipy.optimize.elementwise.find_root`, to eleven digits; "
        "one by one, the first 10 by `scipy.optimize.brentq`, where Python takes most "
        "of the time. Processor time of all threads per radius, the least of three "
        "rounds (rsbounds: six).",
    ),
    "one scalar call from Python": (
        "One scalar call",
        "",
        "rsbounds.semielastic.radius",
        "A call with plain numbers makes no arrays. For loops over scalars use arrays, "
        "or the functions of `rsbounds.special` inside numba. The tails are at d = "
        "784, nc = 100; one thread.",
    ),
    "certify, n = 10,000, small CNN, d = 784": (
        "Certification over its forward passes",
        "noise",
        "",
        "`certify` with PyTorch against the forward passes of the same batches alone: "
        "with noise drawn for each batch (randn), and with one resident batch. One "
        "thread; the ratio is of processor times.",
    ),
    "noise for 334 inputs, d = 784": (
        "Noise",
        "noise",
        "float",
        "`scheme.on_grid()` draws noise on a grid, so that no rounding of $x + noise$ "
        "lies outside the theorem; this is what that costs, on one thread.",
    ),
    "KNNSigma, N = 60,000, d = 784, 256 points": (
        "Distances to 60,000 anchors",
        "",
        "test_matrix_product",
        "$\\sigma(x)$ of the 20 nearest among 60,000 anchors, for 256 points, against "
        "the matrix product in it.",
    ),
    "neighbour radius, N = 60,000, d = 784, 256 points": (
        "Locally biased smoothing: scans",
        "form and norm",
        "test_matrix_product",
        "The radius of the nearest-neighbour limit for 256 points, against the "
        "product of the same matrices. The $l_\\infty$ scans need $l_1$ distances "
        "between anchors, which no matrix product gives "
        "([how](../theory/locally-biased.md#scanning)).",
    ),
}


def measured() -> dict[str, list[dict[str, Any]]]:
    """The benchmarks by group."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "times.json")
        options = ["-n", "0", "-q", "-p", "no:cacheprovider", "--benchmark-enable"]
        options.append("--benchmark-disable-gc")
        words = [
            sys.executable,
            "-m",
            "pytest",
            str(CASES),
            *options,
            f"--benchmark-json={file}",
        ]
        subprocess.run(words, check=True, env={**os.environ, **KEEP_MEMORY})
        groups: dict[str, list[dict[str, Any]]] = {}
        for one in json.loads(file.read_text())["benchmarks"]:
            groups.setdefault(one["group"], []).append(one)
    return groups


def table(group: list[dict[str, Any]], first: str, base: str | None) -> list[str]:
    """The benchmark's own numbers (base None), these and its time (""), or its time
    over that of the one called ``base``.
    """
    if base:
        scale = min(one["stats"]["min"] for one in group if base in one["name"])
        head = [
            first,
            f"over {base.removeprefix('test_').replace('_', ' ')}",
            "wall time",
        ]
        rows = [
            [label(one), f"{one['stats']['min'] / scale:.3g}", time(one)]
            for one in group
        ]
    else:
        own = list(group[0]["extra_info"])
        head = [first, *(key.replace("_", " ") for key in own)]
        rows = [
            [label(one), *(f"{one['extra_info'][k]:.4g}" for k in own)] for one in group
        ]
        if base is not None:
            head.append("wall time")
            rows = [[*row, time(one)] for row, one in zip(rows, group, strict=True)]
    lines = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(line)} |" for line in lines]


def label(one: dict[str, Any]) -> str:
    name = one["name"].removeprefix("test_")
    return name.replace("_", " ") if one["param"] is None else str(one["param"])


def time(one: dict[str, Any]) -> str:
    seconds = one["stats"]["min"]
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size or unit == "us":
            return f"{seconds / size:.3g} {unit}"
    raise AssertionError


def main() -> None:
    load = os.getloadavg()[0]
    groups = measured()
    text = HEAD.format(machine=machine("numba", "torch", "scikit-learn"), load=load)
    for group, (title, first, base, explanation) in SECTIONS.items():
        rows = [
            "<!-- table -->",
            "",
            *table(groups[group], first, base),
            "",
            "<!-- end of table -->",
        ]
        text += "\n".join(["", f"## {title}", "", explanation, "", *rows, ""])
    PAGE.write_text(text)
    for script in ("stability", "instructions"):
        runpy.run_path(str(HERE / f"{script}.py"), run_name="__main__")


if __name__ == "__main__":
    main()
