"""Lee et al.'s published thresholds less the exact ones."""

from fractions import Fraction
from itertools import groupby
from pathlib import Path

from shared import Table, columns, publish, read

from rsbounds.noises.categorical import Categorical

VALUES = {"ImageNet": 256, "MNIST": 2}  # of a pixel


def table() -> Table:
    published = read(Path(__file__).with_name("published.tsv"))
    lines = list(zip(*published.values(), strict=True))
    rows = []
    for (data, keep), scheme_lines in groupby(lines, key=lambda line: line[:2]):
        curve = Categorical(Fraction(keep), VALUES[data]).curve
        differences = []
        for _, _, changes, printed in scheme_lines:
            exact = curve.threshold(int(changes), exact=True)
            differences.append(float(Fraction(printed) - exact))
        last = len(differences) - 1
        least, largest = min(differences), max(differences)
        rows.append((data, float(keep), last + 1, last, least, largest))
    return columns("data keep rows last_r least_difference largest_difference", rows)


if __name__ == "__main__":
    publish(__file__, table())
