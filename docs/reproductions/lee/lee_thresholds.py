"""Lee et al.'s published thresholds less the exact ones."""

from fractions import Fraction
from itertools import groupby
from pathlib import Path

from shared import Table, columns, publish, read

from rsbounds.oracle import discrete, regions

VALUES = {"ImageNet": 256, "MNIST": 2}  # of a pixel


def table() -> Table:
    published = read(Path(__file__).with_name("published.tsv"))
    lines = list(zip(*published.values(), strict=True))
    rows = []
    for (data, keep), scheme_lines in groupby(lines, key=lambda line: line[:2]):
        differences = []
        for _, _, changes, printed in scheme_lines:
            case = regions.of_categories(Fraction(keep), VALUES[data] - 1, int(changes))
            exact = discrete.infimum([case])
            assert exact is not None
            differences.append(float(Fraction(printed) - exact))
        last = len(differences) - 1
        least, largest = min(differences), max(differences)
        rows.append((data, float(keep), last + 1, last, least, largest))
    return columns("data keep rows last_r least_difference largest_difference", rows)


if __name__ == "__main__":
    publish(__file__, table())
