"""Compare a noncentral chi-square law with ncx2.csv, and print where it fails.

    python compare.py [MODULE:NAME] [--limit 1e-10]

NAME has SciPy's methods cdf, sf, pdf, logcdf, logsf and logpdf; by default it is
scipy.stats:ncx2. Needs NumPy and SciPy alone. The error of a value is relative, that of
a logarithm is its distance from the truth, over the truth where that is above 1.
"""

import argparse
import csv
import importlib
import math
from decimal import Decimal, localcontext
from pathlib import Path

import numpy as np

TABLE = Path(__file__).parent / "ncx2.csv"
LOGS = ("logcdf", "logsf", "logpdf")
SMALLEST = Decimal("2.2250738585072014e-308")  # normal double


def rows():
    """The table's inputs as floats, its logarithms as decimals."""
    with TABLE.open(newline="", encoding="ascii") as file:
        for row in csv.DictReader(file):
            x, df, nc = (float(row[name]) for name in ("x", "df", "nc"))
            yield (x, df, nc), {name: Decimal(row[name]) for name in LOGS}


def error(value, truth, *, is_log):
    """The error of a value; inf for NaN and for an infinity."""
    if not math.isfinite(value):
        return math.inf
    with localcontext() as context:
        context.prec = 60
        scale = max(abs(truth), Decimal(1)) if is_log else truth
        return float(abs(Decimal(value) - truth) / scale)


def compare(law):
    """Method -> the error at each point whose truth is a normal double."""
    errors = {name: [] for log in LOGS for name in (log.removeprefix("log"), log)}
    with localcontext() as context, np.errstate(all="ignore"):
        context.prec = 60
        for point, logs in rows():
            for log, truth in logs.items():
                plain, own = log.removeprefix("log"), truth.exp()
                found = getattr(law, log)(*point)
                at = error(float(found), truth, is_log=True)
                errors[log].append((at, point, float(found)))
                if own > SMALLEST:
                    found = getattr(law, plain)(*point)
                    at = error(float(found), own, is_log=False)
                    errors[plain].append((at, point, float(found)))
    return errors


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("law", nargs="?", default="scipy.stats:ncx2")
    parser.add_argument("--limit", type=float, default=1e-10)
    args = parser.parse_args()
    module, _, name = args.law.partition(":")
    law = getattr(importlib.import_module(module), name)
    for name, found in compare(law).items():
        failed = sorted((own for own in found if own[0] > args.limit), reverse=True)
        largest = max((own[0] for own in found if own[0] <= args.limit), default=0.0)
        print(
            f"{name}: {len(failed)} of {len(found)} points are wrong by more than "
            f"{args.limit:g}; the largest error of the others is {largest:.1e}"
        )
        for own, point, value in failed:
            x, df, nc = (f"{number:g}" for number in point)
            print(f"    {name}({x}, {df}, {nc}) = {value:.17g}, error {own:.1e}")


if __name__ == "__main__":
    main()
