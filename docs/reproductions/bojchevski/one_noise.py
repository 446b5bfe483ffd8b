"""What the program prints for one noise, less the exact value."""

from fractions import Fraction
from pathlib import Path

from shared import Table, columns, publish, read

from rsbounds.noises.flips import FlipsCurve


def table() -> Table:
    printed = read(Path(__file__).with_name("printed.tsv"))
    rows = []
    for line in zip(*printed.values(), strict=True):
        add, delete, p_a, low = (float(line[i]) for i in (0, 1, 4, 5))
        changes = int(line[2]), int(line[3])
        exact = FlipsCurve(Fraction(add), Fraction(delete)).low(p_a, changes)
        rows.append((add, delete, *changes, p_a, exact, (low - exact) / exact))
    return columns("add delete added deleted p_a exact difference", rows)


if __name__ == "__main__":
    publish(__file__, table())
