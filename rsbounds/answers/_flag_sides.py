"""The two sides of a flag: what the selection samples ask about, and its bounds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rsbounds.confidence import BOUNDS
from rsbounds.confidence.internal import Pair
from rsbounds.procedure import Procedure


class Side(NamedTuple):
    """What the selection samples ask about, and the evidence of it."""

    predict: int  # FLAGGED or PASSES
    hits: int  # of samples on this side
    rest: int  # all others, void ones with them
    least: float  # the score that its own must stay above


def pair_of(side: Side, n: int, procedure: Procedure) -> Pair:
    """The bounds of the side and of its opposite: one at all of alpha."""
    if not n:
        return Pair(-np.inf, np.inf, 0.0, 1.0)
    bound = BOUNDS[procedure.bound]
    return bound.of_two_counts(
        side.hits, side.rest, n, procedure.alpha, runner_up=False
    )
