"""Compute the tables of tests/data/xsref: the noncentral chi-square law and Marcum's
Q in ball arithmetic (python-flint).

    python tests/helpers/make_xsref_tables.py

Each row has the arguments, exact doubles; the value, the double nearest to the middle
of its enclosure; and an upper bound of that double's relative error. Both tails are
Poisson mixtures of central chi-square tails. Those are made by sums of positive
terms, an upper one from one incomplete gamma function of Arb, so that nothing cancels.
"""

import csv
import math
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from flint import arb, ctx

TABLES = Path(__file__).parents[1] / "data" / "xsref"
BITS = 400
LEAST = 1e-300  # below, a table of doubles says little
LARGEST_ERROR = 2.0**-52

DF = (0.5, 1.0, 2.0, 4.0, 11.0, 100.0, 784.0, 3072.0)
NC = (0.0, 0.5, 4.0, 100.0, 1000.0)
OF_MEAN = (0.01, 0.5, 0.9, 1.0, 1.125, 2.0, 5.0)

M = (0.5, 1.0, 2.0, 5.0, 50.0)
A = (0.0, 0.125, 1.0, 5.0, 20.0)
B = (0.125, 1.0, 4.0, 10.0, 25.0)

Row = tuple[float, ...]


def tails(x: arb, df: arb, nc: arb) -> tuple[arb, arb]:
    """Enclosures of the lower and the upper tail."""
    y = x / 2
    rate = nc / 2
    shape = df / 2
    mean = float(rate)
    count = math.ceil(mean + 40 * math.sqrt(mean) + 2 * float(y) + 400)

    weights = []  # of Poisson's law
    steps = []  # the upper tail at shape + j + 1 less that at shape + j
    weight = (-rate).exp()
    step = y**shape * (-y).exp() / (shape + 1).gamma()
    for j in range(count):
        weights.append(weight)
        steps.append(step)
        weight = weight * rate / (j + 1)
        step = step * y / (shape + j + 1)

    # the weights left out fall faster than this geometric series
    left_out = weight / (1 - rate / (count + 1))

    upper = arb(0)
    central = y.gamma_upper(shape, regularized=1)
    for j in range(count):
        upper += weights[j] * central
        central += steps[j]
    upper += between_zero_and(left_out)  # no central tail exceeds 1

    # the series of steps from here on, below a geometric one: count exceeds 2 y
    central = between_zero_and(step / (1 - y / (shape + count + 1)))
    lower = between_zero_and(left_out * central)  # which falls from here on
    for j in reversed(range(count)):
        central += steps[j]
        lower += weights[j] * central
    return lower, upper


def between_zero_and(bound: arb) -> arb:
    half = bound.abs_upper() / 2
    return half + arb(0, 1) * half


def entry(truth: arb) -> tuple[float, float] | None:
    """The double in the middle, and the bound of its error; None where it is tiny."""
    value = float(truth.mid())
    if not value >= LEAST:
        return None
    error = (abs(arb(value) / truth - 1)).abs_upper()
    bound = math.nextafter(float(error), math.inf)
    if not (error <= arb(bound) and bound <= LARGEST_ERROR):
        raise ArithmeticError(f"too wide an enclosure: {truth}")
    return value, bound


def chi_square(upper: bool) -> Iterator[Row]:
    for df, nc, share in product(DF, NC, OF_MEAN):
        x = share * (df + nc)
        truth = tails(arb(x), arb(df), arb(nc))[upper]
        result = entry(truth)
        if result is not None:
            yield x, df, nc, *result


def marcum() -> Iterator[Row]:
    for m, a, b in product(M, A, B):
        _, truth = tails(arb(b) ** 2, 2 * arb(m), arb(a) ** 2)
        result = entry(truth)
        if result is not None:
            yield m, a, b, *result


def write(name: str, arguments: str, rows: Iterator[Row]) -> None:
    with (TABLES / f"{name}.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*arguments.split(), "value", "error"])
        count = 0
        for row in rows:
            writer.writerow(map(repr, row))
            count += 1
    print(f"{name}: {count} rows")


if __name__ == "__main__":
    ctx.prec = BITS
    write("ncx2_cdf", "x df nc", chi_square(upper=False))
    write("ncx2_sf", "x df nc", chi_square(upper=True))
    write("marcum_q", "m a b", marcum())
