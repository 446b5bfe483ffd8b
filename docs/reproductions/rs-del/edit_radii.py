"""RS-Del's radius of edits by its closed form, and with a proved error."""

from fractions import Fraction
from math import floor, log

from shared import Table, columns, publish

from rsbounds.schemes import METHODS

DELETE = ("0.9", "0.95", "0.97", "0.99", "0.995")
P_A = ("0.6", "0.9", "0.99", "0.9999")


def table() -> Table:
    rows = []
    for delete in DELETE:
        curve = METHODS["deletion"]({"delete": Fraction(delete)}).curve
        for p in P_A:
            printed = floor(log(1.5 - float(p)) / log(float(delete)))
            exact = curve.radius(float(p))
            rows.append((float(delete), float(p), printed, exact))
    return columns("delete p_a formula exact", rows)


if __name__ == "__main__":
    publish(__file__, table())
