"""Laws of regions, which are products of whole numbers, against all outcomes."""

from collections import Counter
from fractions import Fraction
from itertools import product

import pytest

from rsbounds.oracle import discrete, regions


def by_unlike(law, x):
    """The law of how many bits of an outcome are unlike those of x."""
    result = Counter({number: Fraction(0) for number in range(len(x) + 1)})
    for outcome, mass in law.items():
        result[sum(o != bit for o, bit in zip(outcome, x, strict=True))] += mass
    return dict(result)


@pytest.mark.parametrize("add", [Fraction(0), Fraction(1, 3), Fraction(0.2)])
@pytest.mark.parametrize("delete", [Fraction(1), Fraction(0.6)])
def test_regions_of_flips_are_sums_over_all_outcomes(add, delete):
    for added, deleted in product(range(4), repeat=2):
        x = [0] * added + [1] * deleted
        cases = discrete.flip_cases(add, delete, x)[added, deleted]
        (at_x, at_other) = cases[0]
        assert regions.of_flips(add, delete, added, deleted) == (
            by_unlike(at_x, x),
            by_unlike(at_other, x),
        )
