"""The noncentral chi-square law, compared: rsbounds, SciPy, Boost and R beside the
oracle.

    python benchmarks/pages/ncx2_compared.py

writes docs/benchmarks/ncx2-compared.md (a few minutes). R is asked where Rscript is
found, Boost where a C++ compiler finds its headers.
"""

import csv
import os
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import scipy.special
import scipy.stats
from machine import machine
from mpmath import mp
from ncx2_boost import boost, version

from rsbounds import oracle, special

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks" / "ncx2-compared.md"
TIMES = PAGE.with_name("ncx2-times.csv")
DF = (0.01, 0.5, 1.0, 2.0, 4.0, 50.0, 1000.0)
NC = (0.0, 0.5, 4.0, 100.0, 1e4)
TAILS = (0.3, 0.05, 1e-3, 1e-10, 1e-100)
WRONG = 1e-6
ROUNDS = 5
SIZE = 4000

Values = np.ndarray[Any, np.dtype[np.float64]]
Ask = Callable[[str, Any], Values]

R_SCRIPT = """
frame <- read.csv(commandArgs(TRUE)[1], colClasses = "character")
number <- function(name) as.numeric(frame[[name]])
x <- number("x"); p <- number("p")
df <- number("df"); nc <- number("nc"); up <- number("up") > 0
call <- function(f, at) ifelse(up, f(at, df, nc, lower.tail = FALSE), f(at, df, nc))
out <- suppressWarnings(cbind(call(pchisq, x), dchisq(x, df, nc), call(qchisq, p)))
out[] <- sprintf("%a", out)
write.csv(out, commandArgs(TRUE)[2], row.names = FALSE, quote = FALSE)
"""
R_TIMES = """
frame <- read.csv(commandArgs(TRUE)[1])
each <- function(f, v) {
  n <- 1
  while ((spent <- system.time(for (j in 1:n) f(v))[1]) < .05) n <- 2 * n
  for (k in 1:3) spent <- min(spent, system.time(for (j in 1:n) f(v))[1])
  spent / n / length(v) * 1e6
}
for (i in seq_len(nrow(frame))) {
  df <- frame$df[i]; nc <- frame$nc[i]
  x <- seq(frame$low[i], frame$high[i], length.out = 100)
  p <- seq(.05, .95, length.out = 7)
  cat(each(function(v) pchisq(v, df, nc), x), each(function(v) dchisq(v, df, nc), x),
      each(function(v) qchisq(v, df, nc), p), "\\n")
}
"""


class Point(NamedTuple):
    df: float
    nc: float
    p: float
    upper: bool
    x: float


class Library(NamedTuple):
    """At every point: the tail at x, the density at x, the quantile of p."""

    tail: Values
    density: Values
    quantile: Values


def grid() -> list[Point]:
    points = []
    for df in DF:
        for nc in NC:
            for p in TAILS:
                for upper in (False, True):
                    x = float(
                        (special.ncx2_isf if upper else special.ncx2_ppf)(p, df, nc)
                    )
                    if x > 0:  # df = 0.01 puts some below the smallest double
                        points.append(Point(df, nc, p, upper, x))
    return points


def columns(points: list[Point]) -> tuple[Values, ...]:
    df, nc, p, up, x = (np.array(c, dtype=float) for c in zip(*points, strict=True))
    return x, p, df, nc, up


def by_python(tails: Any, points: list[Point]) -> Library:
    """A SciPy distribution: rsbounds.stats.ncx2 or scipy.stats.ncx2."""
    x, p, df, nc, up = columns(points)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        tail = np.where(up > 0, tails.sf(x, df, nc), tails.cdf(x, df, nc))
        quantile = np.where(up > 0, tails.isf(p, df, nc), tails.ppf(p, df, nc))
        return Library(tail, tails.pdf(x, df, nc), quantile)


def run_r(script: str, *files: Path) -> str:
    words = ["Rscript", "-e", script, *map(str, files)]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def by_r(points: list[Point], folder: Path) -> Library:
    """In hexadecimal, so that R sees the same doubles."""
    x, p, df, nc, up = ([float(v).hex() for v in column] for column in columns(points))
    rows = [",".join(row) for row in zip(x, p, df, nc, up, strict=True)]
    given, got = folder / "points.csv", folder / "values.csv"
    given.write_text("\n".join(["x,p,df,nc,up", *rows]))
    run_r(R_SCRIPT, given, got)
    lines = got.read_text().splitlines()[1:]
    values = [
        [np.nan if v in ("NA", "NaN") else from_r(v) for v in k.split(",")]
        for k in lines
    ]
    return Library(*np.array(values).T)


def from_r(text: str) -> float:
    return float(text) if "nf" in text else float.fromhex(text)


def errors(
    points: list[Point], libraries: dict[str, Library]
) -> dict[str, dict[str, Values]]:
    """Relative errors by kind and library; NaN where NaN came out, 1 where 0 or
    infinity did.
    """
    found = {k: {n: np.empty(len(points)) for n in libraries} for k in Library._fields}
    for i, q in enumerate(points):
        truth = oracle.ncx2_tails(q.x, q.df, q.nc, dps=25)
        with mp.workdps(25):
            at_x = mp.exp(truth.log_upper if q.upper else truth.log_lower)
            for name, library in libraries.items():
                found["tail"][name][i] = relative(library.tail[i], at_x)
                found["density"][name][i] = relative(
                    library.density[i], mp.exp(truth.log_density)
                )
        for name, library in libraries.items():
            found["quantile"][name][i] = quantile_error(float(library.quantile[i]), q)
    return found


def relative(value: float, truth: Any) -> float:
    return float(abs(mp.mpf(float(value)) / truth - 1))


def quantile_error(x: float, q: Point) -> float:
    """(its tail - p)/(x density), the relative error of x to first order."""
    if np.isnan(x):
        return np.nan
    if x == 0 or np.isinf(x):
        return 1.0
    at = oracle.ncx2_tails(x, q.df, q.nc, dps=25)
    with mp.workdps(25):
        tail = mp.exp(at.log_upper if q.upper else at.log_lower)
        return float(abs(tail - mp.mpf(q.p)) / (x * mp.exp(at.log_density)))


# --- times
# ---------------------------------------------------------------------------------

CASES = (
    *((0.5, 1.0), (1.0, 4.0), (4.0, 100.0), (50.0, 1e4), (1000.0, 1e3)),
    *((4.0, 0.0), (80.0, 0.0), (200.0, 0.0), (784.0, 0.0), (1e5, 0.0)),
)
OURS = (special.ncx2_cdf, special.ncx2_pdf, special.ncx2_ppf)


def least(function: Callable[[], Any]) -> float:
    best = np.inf
    for _ in range(ROUNDS):
        start = process_time()
        function()
        best = min(best, process_time() - start)
    return best


def python_times(df: float, nc: float) -> tuple[list[float], list[float]]:
    """Microseconds of a lower tail, a density and a quantile: rsbounds, then SciPy."""
    p = np.linspace(0.05, 0.95, SIZE)
    x = np.linspace(*special.ncx2_ppf([0.05, 0.95], df, nc), SIZE)
    arguments = (x, x, p)
    ours = [
        least(lambda f=f, a=a: f(a, df, nc)) / SIZE * 1e6  # type: ignore[misc]
        for f, a in zip(OURS, arguments, strict=True)
    ]
    theirs = [
        least(lambda: scipy.special.chndtr(x, df, nc)) / SIZE * 1e6,
        least(lambda: scipy.stats.ncx2.pdf(x, df, nc)) / SIZE * 1e6,
        least(lambda: scipy.special.chndtrix(p, df, nc)) / SIZE * 1e6,
    ]
    return ours, theirs


def r_times(folder: Path) -> list[list[float]]:
    rows = [(df, nc, *special.ncx2_ppf([0.05, 0.95], df, nc)) for df, nc in CASES]
    given = folder / "cases.csv"
    given.write_text(
        "df,nc,low,high\n" + "\n".join(",".join(map(str, map(float, r))) for r in rows)
    )
    out = run_r(R_TIMES, given)
    return [list(map(float, line.split())) for line in out.splitlines()]


def boost_times(ask: Ask) -> list[list[float]]:
    rows = [(*special.ncx2_ppf([0.05, 0.95], df, nc), df, nc) for df, nc in CASES]
    found: list[list[float]] = ask("times", rows).tolist()
    return found


# --- the page
# ------------------------------------------------------------------------------


def table(head: list[str], rows: list[list[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(line)} |" for line in lines] + [""]


def summary(found: dict[str, dict[str, Values]]) -> list[str]:
    rows = []
    for kind, by_library in found.items():
        ours = by_library["rsbounds"]
        for name, e in by_library.items():
            bad = np.isnan(e), e == 1, (e > WRONG) & (e != 1)
            rest = e[e <= WRONG]
            nearer = "" if name == "rsbounds" else f"{int((e < ours).sum())}"
            counts = [f"{int(b.sum())}" for b in bad]
            rows.append(
                [
                    kind,
                    name,
                    *counts,
                    f"{np.median(rest):.0e}",
                    f"{rest.max():.0e}",
                    nearer,
                ]
            )
    head = [
        "",
        "",
        "NaN",
        "0 or infinity",
        f"wrong by > {WRONG:g}",
        "median of the rest",
    ]
    return table([*head, "largest of the rest", "nearer than rsbounds"], rows)


def losses(found: dict[str, dict[str, Values]]) -> dict[str, str]:
    """The largest error of rsbounds, by kind, where a peer is nearer to the truth."""
    largest = {}
    for kind, by_library in found.items():
        ours = by_library["rsbounds"]
        lost = np.any([e < ours for e in by_library.values()], axis=0)
        largest[kind] = f"{ours[lost].max(initial=0):.0e}"
    return largest


def time_rows(others: dict[str, list[list[float]]]) -> list[list[str]]:
    rows = []
    for i, (df, nc) in enumerate(CASES):
        ours, theirs = python_times(df, nc)
        for k, kind in enumerate(("tail", "density", "quantile")):
            peers = {"SciPy": theirs[k]} | {
                name: times[i][k] for name, times in others.items()
            }
            ratios = [f"{t / ours[k]:.3g}" for t in peers.values()]
            rows.append([f"{df:g}", f"{nc:g}", kind, *ratios, f"{ours[k]:.3g}"])
    return rows


def time_table(others: dict[str, list[list[float]]]) -> list[str]:
    """The times of tails; those of densities and quantiles too go into a file."""
    peers = ["SciPy", *others]
    head = ["df", "nc", "of", *(f"{n} / rsbounds" for n in peers), "rsbounds, us"]
    rows = time_rows(others)
    with TIMES.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([head, *rows])
    short = [row[:2] + row[3:] for row in rows if row[2] == "tail"]
    return table(head[:2] + head[3:], short)


def stalled() -> str:
    """The quantiles of issue 1642 of TensorFlow Probability."""
    p = np.linspace(1e-3, 1 - 1e-3, 10)
    each = least(lambda: special.ncx2_ppf(p, 1, 4.0)) / p.size * 1e6
    worst = max(
        quantile_error(float(x), Point(1, 4.0, q, False, x))
        for q, x in zip(p, special.ncx2_ppf(p, 1, 4.0), strict=True)
    )
    return (
        f"rsbounds takes\n{each:.2g} us for each of the ten, with the checks, and is "
        f"within {worst:.0e} of the truth."
    )


def main() -> None:
    points = grid()
    from rsbounds.stats import ncx2

    libraries = {
        "rsbounds": by_python(ncx2, points),
        "SciPy": by_python(scipy.stats.ncx2, points),
    }
    times: dict[str, list[list[float]]] = {}
    r_version = "R was not installed"
    with tempfile.TemporaryDirectory() as name:
        if ask := boost(Path(name)):
            x, p, df, nc, up = columns(points)
            given = np.stack([x, p, df, nc, up], -1)
            libraries["Boost"] = Library(*ask("values", given.tolist()).T)
            times["Boost"] = boost_times(ask)
        if shutil.which("Rscript"):
            libraries["R"] = by_r(points, Path(name))
            times["R"] = r_times(Path(name))
            r_version = run_r("cat(R.version.string)")
    found = errors(points, libraries)
    text = (
        Path(__file__)
        .with_suffix(".md")
        .read_text()
        .format(
            machine=f"{machine('mpmath')}; {version()}; {r_version}",
            load=os.getloadavg()[1],
            points=len(points),
            df=", ".join(f"{v:g}" for v in DF),
            nc=", ".join(f"{v:g}" for v in NC),
            tails=", ".join(f"{v:g}" for v in TAILS),
            summary="\n".join(summary(found)),
            **losses(found),
            times="\n".join(time_table(times)),
            stalled=stalled(),
        )
    )
    PAGE.write_text(text)


if __name__ == "__main__":
    main()
