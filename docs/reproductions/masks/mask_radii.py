"""Radii that programs for masks print, restated, against the largest valid ones."""

from fractions import Fraction
from math import comb

from shared import Table, columns, publish

from rsbounds import schemes

#: Coordinates, how many are kept.
PIXELS = ((784, 45), (1024, 75), (50176, 2000))
WORDS = ((50, 5), (50, 15), (200, 20))
P_A = ("0.6", "0.8", "0.9", "0.99", "0.999")


def passes(p: Fraction, share: Fraction, size: int, kept: int, changes: int) -> bool:
    """Whether p less ``share`` of the masks that show a change is above one half."""
    hidden = Fraction(comb(size - changes, kept), comb(size, kept))
    return p - share * (1 - hidden) > Fraction(1, 2)


def first_that_fails(p: Fraction, share: Fraction, size: int, kept: int) -> int:
    changes = 0
    while passes(p, share, size, kept, changes):
        changes += 1
    return changes


def table() -> Table:
    rows = []
    for size, kept in PIXELS + WORDS:
        for p in map(Fraction, P_A):
            valid = schemes.mask(size, kept).curve.radius(float(p))
            failing = first_that_fails(p, Fraction(1), size, kept)
            words = (size, kept) in WORDS
            # one program returns the last radius that passes, the other the next
            plain = failing if words else failing - 1
            # with the classes' share of all masks for that of the masks that matter
            scaled = first_that_fails(p, p, size, kept) if words else "none"
            program = "RanMASK" if words else "ablation"
            rows.append((program, size, kept, float(p), valid, plain, scaled))
    return columns("program size kept p_a valid printed with_lambda", rows)


if __name__ == "__main__":
    publish(__file__, table())
