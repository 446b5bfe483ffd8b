"""Anchors with labels, drawn by a seed."""

import numpy as np
from hypothesis import strategies as st

NORMS = (1, 2, np.inf)

seeds = st.integers(0, 2**32 - 1)


def random_memory(rng, count, dim, classes=3):
    centres = rng.standard_normal((classes, dim)) * 2
    labels = rng.integers(0, classes, count)
    return centres[labels] + rng.standard_normal((count, dim)), labels
