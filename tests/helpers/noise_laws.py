"""The laws of noise by name, and counts that follow a law."""

from itertools import product

import numpy as np
from scipy import stats

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
