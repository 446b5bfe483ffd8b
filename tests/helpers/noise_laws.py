"""The laws of noise by name, and counts that follow a law."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import of_fractions
from mpmath import mp
from scipy import sparse, stats

from rsbounds import schemes

SURE = 1e-6


def assert_follows(counts, law):
    """Chi-square against exact probabilities; those that are 0 are never drawn.

    Outcomes that are expected fewer than five times are counted together.
    """
    assert sum(law.values()) == 1
    chances = np.array([float(law[outcome]) for outcome in counts])
    drawn = np.array(list(counts.values()))
    assert not drawn[chances == 0].any()
    expected = drawn.sum() * chances
    rare = expected < 5
    drawn = np.append(drawn[~rare], drawn[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    there = expected > 0
    assert stats.chisquare(drawn[there], expected[there]).pvalue > SURE


def assert_rounds_normal(noise, spread, centre=0.0):
    """Whole numbers against the normal law, rounded: five standard deviations."""
    noise = np.asarray(noise)
    with mp.workdps(20):
        for k in range(-15, 16):
            p = float(mp.ncdf((k + 0.5 - centre) / spread))
            share = np.mean(noise <= k)
            assert abs(share - p) < 5 * (p * (1 - p) / noise.size) ** 0.5 + 1e-9


def categorical_law(x, keep, values):
    other = (1 - keep) / (values - 1)
    return {
        y: np.prod([keep if a == b else other for a, b in zip(x, y, strict=True)])
        for y in product(range(values), repeat=len(x))
    }


def flips_law(x, add, delete):
    chances = {
        (0, 0): 1 - add,
        (0, 1): add,
        (1, 0): delete,
        (1, 1): 1 - delete,
    }
    return {
        y: np.prod([chances[pair] for pair in zip(x, y, strict=True)])
        for y in product(range(2), repeat=len(x))
    }


def subsets(places):
    """Each subset of the places, by its size."""
    for count in range(places + 1):
        yield from combinations(range(places), count)


def mask_law(x, keep):
    """Each element is kept on its own; -1 stands where it is not."""
    return {
        tuple(v if i in left else -1 for i, v in enumerate(x)): keep ** len(left)
        * (1 - keep) ** (len(x) - len(left))
        for left in subsets(len(x))
    }


def deletion_law(x, delete):
    """Of what is left, with -1 after its end."""
    kept = mask_law(x, 1 - delete)
    return {tuple(sorted(y, key=lambda v: v < 0)): p for y, p in kept.items()}


def graph_law(add, delete):
    """Of the graph below: its pairs are (0, 1), (0, 2), (1, 2); its diagonal stays."""
    return {
        (1, a, b, a, 0, c, b, c, 0): chance
        for (a, b, c), chance in flips_law((1, 0, 0), add, delete).items()
    }


def joint_law(left, right):
    pairs = product(left.items(), right.items())
    return {a + b: p * q for (a, p), (b, q) in pairs}


TENTH, THIRD, HALF = Fraction(1, 10), Fraction(1, 3), Fraction(1, 2)
FIFTH, FEW = Fraction(1, 5), Fraction(1, 50)
GRAPH = np.array([[1, 1, 0], [1, 0, 0], [0, 0, 0]])
ROWS = (0, 1, 0, 0, 1, 0)
MATRIX = sparse.csr_array(np.array(ROWS).reshape(2, 3))
TWO_OF_FOUR = {
    tuple(5 + i if i in left else -1 for i in range(4)): Fraction(1, 6)
    for left in combinations(range(4), 2)
}
#: A noise, an input, and the law of its copies, -1 where they are shorter.
LAWS = [
    (
        of_fractions.categorical(1 / Fraction(7), 3),
        [0, 2, 1],
        categorical_law((0, 2, 1), 1 / Fraction(7), 3),
    ),
    (
        of_fractions.categorical(4 * FIFTH, 3),
        [0.0, 2.0],
        categorical_law((0, 2), 4 * FIFTH, 3),
    ),
    (of_fractions.categorical(THIRD, 4), [0, 3], categorical_law((0, 3), THIRD, 4)),
    (
        of_fractions.flips(TENTH, 3 * FIFTH),
        [1, 0, 1, 0],
        flips_law((1, 0, 1, 0), TENTH, 3 * FIFTH),
    ),
    (
        of_fractions.flips(Fraction(0), HALF / 2),
        [1],
        {(0,): HALF / 2, (1,): 3 * HALF / 2},
    ),
    *(
        (of_fractions.flips(add, 2 * FIFTH), MATRIX, flips_law(ROWS, add, 2 * FIFTH))
        for add in (Fraction(0), FIFTH, FEW)
    ),
    *(
        (
            of_fractions.flips(add, 3 * FIFTH, symmetric=True),
            make(GRAPH),
            graph_law(add, 3 * FIFTH),
        )
        for add in (FIFTH, FEW)
        for make in (np.array, sparse.csr_array, sparse.coo_matrix)
    ),
    (schemes.mask(4, 2, hidden=-1), [5, 6, 7, 8], TWO_OF_FOUR),
    (of_fractions.mask(THIRD, hidden=-1), [5, 6, 7], mask_law((5, 6, 7), THIRD)),
    (of_fractions.deletion(FIFTH), [4, 5, 6], deletion_law((4, 5, 6), FIFTH)),
    (
        schemes.blocks(
            schemes.categorical(0.5, 3), schemes.flips(0.1, 0.3), splits=[2]
        ),
        [2, 0, 1, 0],
        joint_law(
            categorical_law((2, 0), HALF, 3),
            flips_law((1, 0), Fraction(0.1), Fraction(0.3)),
        ),
    ),
    (
        schemes.blocks(schemes.flips(0.02, 0.5), schemes.flips(0.1, 0.2), splits=[2]),
        sparse.csr_array([[0, 1, 1, 0]]),
        joint_law(
            flips_law((0, 1), Fraction(0.02), HALF),
            flips_law((1, 0), Fraction(0.1), Fraction(0.2)),
        ),
    ),
]
