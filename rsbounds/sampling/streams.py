"""Random streams: one for each phase of each input."""

from __future__ import annotations

from enum import IntEnum

import numpy as np


class Phase(IntEnum):
    """What the samples of a stream are for; the numbers are part of the seed."""

    SELECT = 0
    ESTIMATE = 1
    PREDICT = 2
    SEARCH = 3
    BOUND = 4


def stream(seed: int, index: int, phase: Phase) -> np.random.Generator:
    """The generator of one phase of one input."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index, phase)))
