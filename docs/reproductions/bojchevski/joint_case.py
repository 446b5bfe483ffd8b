"""One joint certificate of edges and attributes, with sorted regions and without."""

from fractions import Fraction

from joint_regions import filled, of_flips, products
from shared import Table, columns, publish

from rsbounds.noises.blocks import Blocks
from rsbounds.noises.flips import Flips

EDGES = Fraction("0.001"), Fraction("0.8")
ATTRIBUTES = Fraction("0.003"), Fraction("0.4")
CHANGES = (1, 0), (3, 4)
P_A = ("0.9", "0.99", "0.999", "0.9999")


def table() -> Table:
    curve = Blocks(Flips(*EDGES), Flips(*ATTRIBUTES), splits=[1]).curve
    regions = products(of_flips(*EDGES, CHANGES[0]), of_flips(*ATTRIBUTES, CHANGES[1]))
    rows = []
    for p in map(Fraction, P_A):
        unsorted = float(filled(regions, p))
        rows.append((float(p), unsorted, float(curve.low(p, CHANGES))))
    return columns("p_a unsorted exact", rows)


if __name__ == "__main__":
    publish(__file__, table())
