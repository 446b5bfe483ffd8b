"""Decision lists that several tests certify by, and their tables of counts."""

from itertools import product

import numpy as np

from rsbounds.composite import (
    Cond,
    Rule,
)

CASCADE = Rule(
    [1.0, 0.5], [[Cond("margin", 0), Cond("score", 0, -0.3)], [Cond("margin", 1)]]
)

RULES = {
    "constant": Rule([0.7], [[Cond("margin", 0)]]),
    "cohen": Rule([0.7], [[Cond("score", 0)]]),
    "cascade": CASCADE,
    "gates": Rule(
        [1.0, 0.6, 0.3],
        [
            [Cond("margin", 0, 0.1), Cond("score", 0, -0.25)],
            [Cond("score", 1, 0.05)],
            [Cond("margin", 2), Cond("margin", 1, -0.2)],
        ],
    ),
    "set": Rule(
        [1.0, 0.4],
        [[Cond("margin", 0), Cond("set", 0, 0.2, (0, 1))], [Cond("margin", 1)]],
    ),
}


def tables(n, classes):
    return np.array([c for c in product(range(n + 1), repeat=classes) if sum(c) == n])
