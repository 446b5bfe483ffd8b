"""How many joint certificates are false where regions are not sorted."""

from fractions import Fraction
from itertools import product

from joint_regions import filled, of_flips, products
from shared import Table, columns, publish

from rsbounds import schemes

FLIPS = Fraction("0.01"), Fraction("0.6")  # of edges and of attributes
CHANGES = [pair for pair in product(range(3), range(9)) if any(pair)]
P_A = ("0.9", "0.95", "0.99", "0.999", "0.9999", "0.99999")
HALF = Fraction(1, 2)


def table() -> Table:
    noise = schemes.flips(*map(float, FLIPS))
    curve = schemes.blocks(noise, noise, splits=[1]).curve
    regions = {changes: of_flips(*FLIPS, changes) for changes in CHANGES}
    unsorted = dict.fromkeys(P_A, 0)
    exact = dict.fromkeys(P_A, 0)
    false = dict.fromkeys(P_A, 0)
    for changes in product(CHANGES, CHANGES):
        masses = products(*(regions[pair] for pair in changes))
        for p in P_A:
            claimed = filled(masses, Fraction(p)) > HALF
            holds = curve.low(float(p), changes) > 0.5
            unsorted[p] += claimed
            exact[p] += holds
            false[p] += claimed and not holds
    rows = [(float(p), len(CHANGES) ** 2, unsorted[p], exact[p], false[p]) for p in P_A]
    return columns("p_a cases unsorted exact false", rows)


if __name__ == "__main__":
    publish(__file__, table())
