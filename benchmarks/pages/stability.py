"""Relative error and time of noncentral chi-square tails: rsbounds, SciPy and R beside
the oracle.

    python benchmarks/pages/stability.py

writes docs/benchmarks/stability.md, .csv, .png and stability-time.png (some
minutes). R's own library is used where it is installed as a shared library (libRmath).
"""

import csv
import ctypes
import ctypes.util
import os
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from machine import machine
from mpmath import mp
from scipy.stats import ncx2

from rsbounds import oracle
from rsbounds.special import ncx2_cdf, ncx2_isf_exp, ncx2_ppf_exp, ncx2_sf

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks"
DIMENSIONS = (784, 3072, 150528)
NONCENTRALITIES = (0.0, 1e3, 1e6, 1e9, 1e12, 1e16)
TAILS = (1e-2, 1e-10, 1e-50, 1e-100, 1e-200, 1e-300)
WRONG = 1e-3
ARRAY = 2000
SHOWN = (1e-17, 3.0)  # limits of the figure
# what pnchisq says of its own sums, which the errors show better
COMPLAINTS = (
    rb"pnchisq\(x=[^)]*\): not converged in \d+ iter\.|full precision[^']*'pnchisq'"
)
COLOURS = {"rsbounds": "#0072b2", "SciPy": "#d55e00", "R": "#009e73"}
Tail = Callable[[Any, int, float, bool], Any]


class Point(NamedTuple):
    dim: int
    nc: float
    upper: bool
    p: float
    error: dict[str, float]  # relative; NaN where NaN was returned, 1 where 0 was


class Time(NamedTuple):
    dim: int
    nc: float
    each: dict[str, float]  # microseconds a value, in arrays
    single: dict[str, float]  # microseconds a value, by one call each


def ours(x: Any, dim: int, nc: float, upper: bool) -> Any:
    return (ncx2_sf if upper else ncx2_cdf)(x, dim, nc)


def scipys(x: Any, dim: int, nc: float, upper: bool) -> Any:
    with np.errstate(all="ignore"):
        return (ncx2.sf if upper else ncx2.cdf)(x, dim, nc)


def libraries() -> dict[str, Tail]:
    found = {"rsbounds": ours, "SciPy": scipys}
    path = ctypes.util.find_library("Rmath")
    if path is not None:
        function = ctypes.CDLL(path).pnchisq
        function.restype = ctypes.c_double
        function.argtypes = [ctypes.c_double] * 3 + [ctypes.c_int] * 2

        def rs(x: Any, dim: int, nc: float, upper: bool) -> Any:
            if isinstance(x, float):
                return function(x, dim, nc, not upper, 0)
            return np.array([function(v, dim, nc, not upper, 0) for v in x])

        found["R"] = rs
    return found


def r_version() -> str:
    words = ["pkg-config", "--modversion", "libRmath"]
    try:
        return subprocess.run(
            words, capture_output=True, text=True, check=True
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "of unknown version"


@contextmanager
def without_complaints() -> Iterator[None]:
    """C's standard output and error, less R's complaints, on standard error."""
    flush = ctypes.CDLL(None).fflush
    sys.stdout.flush()
    flush(None)
    saved = {n: os.dup(n) for n in (1, 2)}
    with tempfile.TemporaryFile() as caught:
        for n in saved:
            os.dup2(caught.fileno(), n)
        try:
            yield
        finally:
            flush(None)
            for n, old in saved.items():
                os.dup2(old, n)
                os.close(old)
            caught.seek(0)
            rest = re.sub(COMPLAINTS, b"", caught.read()).strip()
            if rest:
                print(rest.decode(errors="replace"), file=sys.stderr)


def points(tails: dict[str, Tail]) -> Iterator[Point]:
    for dim in DIMENSIONS:
        for nc in NONCENTRALITIES:
            for upper in (False, True):
                for p in TAILS:
                    x = float(
                        (ncx2_isf_exp if upper else ncx2_ppf_exp)(np.log(p), dim, nc)
                    )
                    exact = oracle.ncx2_sf if upper else oracle.ncx2_cdf
                    truth = exact(x, dim, nc, dps=25)
                    with without_complaints():
                        values = {
                            k: float(f(x, dim, nc, upper)) for k, f in tails.items()
                        }
                    error = {
                        k: float(abs(oracle_ratio(v, truth))) for k, v in values.items()
                    }
                    yield Point(dim, nc, upper, p, error)


def oracle_ratio(value: float, truth: Any) -> Any:
    """value/truth - 1 in the oracle's precision."""
    with mp.workdps(25):
        return value / truth - 1


def times(tails: dict[str, Tail]) -> Iterator[Time]:
    """Processor time of one upper tail near p = 0.1; least of several rounds."""
    for dim in DIMENSIONS:
        for nc in NONCENTRALITIES:
            x = ncx2_isf_exp(np.linspace(-3.0, -2.0, ARRAY), dim, nc)
            one = float(x[ARRAY // 2])
            each, single = {}, {}
            with without_complaints():
                for name, tail in tails.items():
                    some = x[: length(name, nc)]
                    each[name] = microseconds(tail, some, dim, nc) / some.size
                    single[name] = microseconds(tail, one, dim, nc)
            yield Time(dim, nc, each, single)


def length(name: str, nc: float) -> int:
    """Fewer values where they are slow; R's have no call of an array to share."""
    if name == "rsbounds" or nc <= (1e3 if name == "R" else 1e6):
        return ARRAY
    return 30 if nc <= 1e9 else 1


def microseconds(tail: Tail, x: Any, dim: int, nc: float) -> float:
    """Least time of a call over seven rounds of some milliseconds, three where one is
    long.
    """
    calls, best = 1, np.inf
    while True:
        start = process_time()
        for _ in range(calls):
            tail(x, dim, nc, True)
        spent = process_time() - start
        if spent > 5e-3:
            break
        calls *= 2
    for _ in range(7 if spent < 0.1 else 3):
        start = process_time()
        for _ in range(calls):
            tail(x, dim, nc, True)
        best = min(best, process_time() - start)
    return best / calls * 1e6


def cell(error: float) -> str:
    """An error as the file of every point has it."""
    if np.isnan(error):
        return "NaN"
    return "returns 0" if error == 1 else f"{error:.0e}"


def write_points(grid: list[Point], peers: list[str]) -> None:
    """Write the errors of the peers at every point."""
    with (PAGE / "stability.csv").open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["d", "tail", "nc", "p", *peers])
        for point in grid:
            place = [
                point.dim,
                "upper" if point.upper else "lower",
                f"{point.nc:.0e}",
                f"{point.p:.0e}",
            ]
            out.writerow([*place, *(cell(point.error[name]) for name in peers)])


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(line)} |" for line in lines] + [""]


def summary(grid: list[Point], names: list[str]) -> list[str]:
    rows = []
    for name in names:
        e = np.array([point.error[name] for point in grid])
        bad = np.isnan(e), e == 1, (e > WRONG) & (e != 1), (e > 1e-10) & (e <= WRONG)
        counts = [f"{int(b.sum())}" for b in bad]
        nearer = "" if name == "rsbounds" else f"{len(beaten(grid, name))}"
        rows.append([name, *counts, f"{e[e <= WRONG].max():.1e}", nearer])
    head = [
        f"{len(grid)} points",
        "NaN",
        "returns 0",
        f"wrong by > {WRONG:g}",
        "wrong by > 1e-10",
    ]
    return table([*head, "largest error of the rest", "nearer than rsbounds"], rows)


def beaten(grid: list[Point], name: str) -> list[Point]:
    """Where another library is nearer to the truth."""
    return [point for point in grid if point.error[name] < point.error["rsbounds"]]


def wins(grid: list[Point], peers: list[str]) -> str:
    parts = []
    for name in peers:
        lost = [p.error["rsbounds"] for p in beaten(grid, name)]
        text = f"{name} is nearer to the truth than rsbounds at {len(lost)} points"
        parts.append(
            text
            + (f" (rsbounds is wrong by {max(lost):.0e} there at most)" if lost else "")
        )
    which = (
        " The tables at the end show which."
        if any(beaten(grid, n) for n in peers)
        else ""
    )
    return "; ".join(parts) + "." + which


def quicker(clock: list[Time], peers: list[str], kind: str) -> str:
    """Where a peer takes less time than rsbounds."""
    parts = []
    for name in peers:
        where = []
        for nc in NONCENTRALITIES:
            times = [(t.dim, getattr(t, kind)) for t in clock if t.nc == nc]
            dims = [str(dim) for dim, each in times if each[name] < each["rsbounds"]]
            if dims:
                where.append(f"nc = {nc:g} (d = {', '.join(dims)})")
        parts.append(
            f"{name} is quicker than rsbounds at {' and '.join(where) or 'no point'}."
        )
    return "**" + " ".join(parts) + "**"


def write_times(clock: list[Time], names: list[str]) -> None:
    """Write the times of all calls, with those of the peers over ours."""
    peers = [name for name in names if name != "rsbounds"]
    head = [f"{name} / rsbounds" for name in peers] + [f"{name}, us" for name in names]
    with (PAGE / "stability-times.csv").open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["call", "d", "nc", *head])
        for call, kind in (("in arrays", "each"), ("one call", "single")):
            for time in clock:
                each = getattr(time, kind)
                over = [each[name] / each["rsbounds"] for name in peers]
                figures = [f"{value:.3g}" for value in over + [each[n] for n in names]]
                out.writerow([call, time.dim, f"{time.nc:.0e}", *figures])


def written(grid: list[Point], clock: list[Time], names: list[str]) -> str:
    peers = [name for name in names if name != "rsbounds"]
    largest = max(
        (e for p in grid if p.upper for e in p.error.values() if e > SHOWN[1]),
        default=0,
    )
    lines = [
        "# Stability of noncentral chi-square tails",
        "",
        f"Made by `python benchmarks/pages/stability.py` on: {machine('mpmath')}"
        + (
            f"; R's library libRmath {r_version()}."
            if "R" in names
            else "; R was not installed."
        ),
        "",
        f"The {len(grid)} points are both tails at d = "
        f"{', '.join(map(str, DIMENSIONS))}, six noncentralities and six "
        "probabilities: the exact double $x$ whose tail is nearest to $p$, against "
        "the oracle at 25 digits.",
        "",
        "<!-- summary -->",
        "",
        *summary(grid, names),
        "<!-- end of summary -->",
        "",
        wins(grid, peers),
        "",
        "![Relative error against the noncentrality and against p](stability.png)",
        "",
        f"The figure shows upper tails. Errors above {SHOWN[1]:g} are drawn at "
        f"{SHOWN[1]:g}"
        + (f" (the largest is {largest:.0e})" if largest else "")
        + f", errors below {SHOWN[0]:.0e} at {SHOWN[0]:.0e}, and NaN is not drawn.",
        "",
        "## Time",
        "",
        "Processor time of one upper tail near 0.1 ([all figures](stability-times.csv)"
        f"). *In arrays* rsbounds and SciPy are given the same arrays of {ARRAY:,} up "
        "to nc = 1e6; beyond, SciPy gets 30 values at 1e9 and then one, each of which "
        "takes far longer than the overhead of a call. *One call* from Python spends "
        "most of its time on the checks of arguments and the way through NumPy. R is "
        "called through ctypes for each value.",
        "",
        f"In arrays: {quicker(clock, peers, 'each')}",
        "",
        f"One call: {quicker(clock, peers, 'single')}",
        "",
        "![Time in arrays against the noncentrality](stability-time.png)",
        "",
    ]
    lines += [
        "## Every point",
        "",
        f"[The relative errors of {' and '.join(peers)} at all points](stability.csv). "
        "The first table of\nthis page has the largest error of rsbounds over the same "
        "points.",
    ]
    return "\n".join(lines) + "\n"


def shown(errors: list[float]) -> Any:
    return np.clip(errors, *SHOWN)  # NaN stays


def drawn(grid: list[Point], names: list[str]) -> None:
    figure = plt.figure(figsize=(9, 8.6), layout="constrained")
    halves = figure.subfigures(2, 1)
    axes = np.array([half.subplots(1, 3, sharey=True) for half in halves])
    for column, dim in zip(axes.T, DIMENSIONS, strict=True):
        for name in names:
            style: dict[str, Any] = {"color": COLOURS[name], "marker": "."}
            for p, line in ((1e-2, "-"), (1e-10, "--"), (1e-100, ":")):
                part = [q for q in grid if (q.dim, q.upper, q.p) == (dim, True, p)]
                x = [max(q.nc, 1.0) for q in part]
                y = shown([q.error[name] for q in part])
                column[0].loglog(x, y, line, **style, label=f"{name}, p = {p:.0e}")
            for nc, line in ((1e3, "-"), (1e6, "--"), (1e12, ":")):
                part = [q for q in grid if (q.dim, q.upper, q.nc) == (dim, True, nc)]
                y = shown([q.error[name] for q in part])
                label = f"{name}, nc = {nc:.0e}"
                column[1].semilogy(range(len(TAILS)), y, line, **style, label=label)
        column[0].set(title=f"d = {dim}", xlabel="noncentrality (0 at 1)")
        column[1].set(xlabel="log10 p (not to scale)")
        column[1].set_xticks(range(len(TAILS)), [f"{np.log10(p):.0f}" for p in TAILS])
    for half, row in zip(halves, axes, strict=True):
        row[0].set_ylabel(
            f"relative error of the upper tail (1: returned 0)\nabove {SHOWN[1]:g} "
            f"drawn at {SHOWN[1]:g}, below {SHOWN[0]:.0e} at {SHOWN[0]:.0e}"
        )
        lines = row[0].get_legend_handles_labels()
        half.legend(
            *lines, handlelength=3.5, loc="outside lower center", ncols=len(names)
        )
    for axis in axes.flat:
        axis.grid(alpha=0.3)
    figure.savefig(PAGE / "stability.png", dpi=130)


def drawn_times(clock: list[Time], names: list[str]) -> None:
    figure, axes = plt.subplots(
        1, 3, figsize=(12, 3.4), sharey=True, layout="constrained"
    )
    for axis, dim in zip(axes, DIMENSIONS, strict=True):
        part = [t for t in clock if t.dim == dim]
        for name in names:
            x, y = [max(t.nc, 1.0) for t in part], [t.each[name] for t in part]
            axis.loglog(x, y, color=COLOURS[name], marker=".", label=name)
        axis.set(title=f"d = {dim}", xlabel="noncentrality (0 drawn at 1)")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("microseconds a tail, in arrays")
    axes[-1].legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    figure.savefig(PAGE / "stability-time.png", dpi=110)


def main() -> None:
    warnings.filterwarnings(
        "ignore", "Error in function", RuntimeWarning
    )  # SciPy's, of its sums
    tails = libraries()
    names = list(tails)
    grid, clock = list(points(tails)), list(times(tails))
    drawn(grid, names)
    drawn_times(clock, names)
    write_points(grid, [name for name in names if name != "rsbounds"])
    write_times(clock, names)
    (PAGE / "stability.md").write_text(written(grid, clock, names))


if __name__ == "__main__":
    main()
