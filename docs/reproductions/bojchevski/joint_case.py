"""One joint certificate of edges and attributes, with sorted regions and without."""

from fractions import Fraction

from joint_regions import filled, of_flips, products
from shared import Table, columns, publish

from rsbounds.oracle import discrete, regions

EDGES = Fraction("0.001"), Fraction("0.8")
ATTRIBUTES = Fraction("0.003"), Fraction("0.4")
CHANGES = (1, 0), (3, 4)
P_A = ("0.9", "0.99", "0.999", "0.9999")


def table() -> Table:
    sides = (EDGES, CHANGES[0]), (ATTRIBUTES, CHANGES[1])
    case = regions.of_blocks([regions.of_flips(*noise, *own) for noise, own in sides])
    masses = products(*(of_flips(*noise, own) for noise, own in sides))
    rows = []
    for p in map(Fraction, P_A):
        unsorted = float(filled(masses, p))
        rows.append((float(p), unsorted, float(discrete.low([case], p))))
    return columns("p_a unsorted exact", rows)


if __name__ == "__main__":
    publish(__file__, table())
