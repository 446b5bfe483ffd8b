"""Compute the reference tables of tests/data again, from the oracle, at the inputs
they hold.

    python tests/helpers/make_tables.py [--jobs N] [--stride N] [NAME ...]

A table has inputs, exact doubles, and values v = NAME_hi + NAME_lo, two doubles each.
Every value is computed at two precisions that must agree to 25 digits; where the
Poisson series is feasible the two runs use different methods (the series against the
contour integral). The inputs were drawn once: dimensions from 1 to 1e7, distances from
0 to 1e8 and inf, scores in both tails to 1e8 in size, points beside every border
between formulas, at mean and median, balls down to 1e-150. Of each decade of dimension
and distance and each part of either tail the point stayed that came nearest to its
error bound.
"""

import argparse
import hashlib
import math
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from mpmath import mp

from rsbounds import oracle
from rsbounds.oracle._series import terms

TABLES = Path(__file__).parents[1] / "data"
LOW, HIGH = 40, 60
LONGEST = 3000.0  # terms up to which the series is the second method at every row ...
LONGEST_TENTH = 50000.0  # ... and at one row in ten

Row = tuple[float, ...]
Values = list[Any]


def method(row: Row, x: float, dim: float, nc: float) -> str:
    length = terms(x, dim, nc) if x > 0 and math.isfinite(nc) else math.inf
    tenth = hash(row) % 10 == 0
    return "series" if length < (LONGEST_TENTH if tenth else LONGEST) else "contour"


def ball(row: Row, high: bool) -> Values:
    u, dim, s = row
    how = "contour" if high else method(row, (s + u) ** 2, dim, s * s)
    return [oracle.ball_score(u, dim, s, dps=HIGH if high else LOW, method=how)]


def ncx2(row: Row, high: bool) -> Values:
    how = "contour" if high else method(row, *row)
    return [*oracle.ncx2_tails(*row, dps=HIGH if high else LOW, method=how)]


Maker = Callable[[Row, bool], Values]
MAKERS: dict[str, tuple[Maker, list[str], list[str]]] = {
    "ball": (ball, ["u", "dim", "s"], ["score"]),
    "ncx2": (ncx2, ["x", "df", "nc"], ["logcdf", "logsf", "logpdf"]),
}


def agree(a: Any, b: Any) -> bool:
    """To 25 digits (or to 1e-40 near 0); both NaN, or equal infinities, also agree."""
    if not (mp.isfinite(a) and mp.isfinite(b)):
        return bool(a == b or (mp.isnan(a) and mp.isnan(b)))
    with mp.workdps(HIGH):
        return bool(abs(a - b) <= mp.mpf("1e-25") * max(abs(b), mp.mpf("1e-15")))


def split(value: Any) -> tuple[float, float]:
    hi = float(value)
    with mp.workdps(HIGH):
        return hi, float(value - mp.mpf(hi)) if math.isfinite(hi) else 0.0


def entry(maker: Maker, row: Row) -> list[tuple[float, float]]:
    try:
        pair = maker(row, False), maker(row, True)
    except Exception as error:
        raise ArithmeticError(f"{maker.__name__} at {row}: {error}") from error
    if not all(map(agree, *pair)):
        raise ArithmeticError(
            f"{maker.__name__}: two precisions disagree at {row}: {pair}"
        )
    return [split(value) for value in pair[1]]


def write(name: str, jobs: int, stride: int) -> None:
    maker, inputs, outputs = MAKERS[name]
    path = TABLES / f"{name}.npz"
    with np.load(path) as table:
        arrays = {key: table[key][::stride] for key in inputs}
    rows = [tuple(map(float, row)) for row in zip(*arrays.values(), strict=True)]
    with ProcessPoolExecutor(jobs) as pool:
        values = np.array(list(pool.map(partial(entry, maker), rows, chunksize=8)))
    for k, key in enumerate(outputs):
        arrays[f"{key}_hi"], arrays[f"{key}_lo"] = values[:, k, 0], values[:, k, 1]
    np.savez_compressed(path, **arrays)
    print(f"{name}: {len(rows)} rows", flush=True)


def checksums() -> None:
    sums = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
        for path in sorted(TABLES.glob("*.npz"))
    ]
    (TABLES / "SHA256SUMS").write_text("".join(sums))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "names", nargs="*", help=f"of {', '.join(MAKERS)}; all by default"
    )
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument(
        "--stride", type=int, default=1, help="every n-th row alone, for a trial"
    )
    args = parser.parse_args()
    for name in args.names or MAKERS:
        write(name, args.jobs, args.stride)
        checksums()
