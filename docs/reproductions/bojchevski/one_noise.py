"""What the program prints for one noise, less the exact value."""

from fractions import Fraction
from functools import cache
from pathlib import Path

from shared import Table, columns, publish, read

from rsbounds.oracle import discrete, regions


def table() -> Table:
    printed = read(Path(__file__).with_name("printed.tsv"))
    case_of = cache(regions.of_flips)  # of two probabilities each
    rows = []
    for line in zip(*printed.values(), strict=True):
        add, delete, p_a, low = (float(line[i]) for i in (0, 1, 4, 5))
        changes = int(line[2]), int(line[3])
        case = case_of(Fraction(add), Fraction(delete), *changes)
        exact = float(discrete.low([case], Fraction(p_a)))
        rows.append((add, delete, *changes, p_a, exact, (low - exact) / exact))
    return columns("add delete added deleted p_a exact difference", rows)


if __name__ == "__main__":
    publish(__file__, table())
