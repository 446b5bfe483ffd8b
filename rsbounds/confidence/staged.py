"""A bound for runs that stop, at fixed looks, once more samples gain little."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import Array
from rsbounds.confidence.bound import Bound, End, Looks, part_of
from rsbounds.confidence.counts import CLOPPER_PEARSON

#: By benchmarks/pages/samples.py: hardly an input is decided by fewer than n/100, and
#: radii rest on alpha by its logarithm alone, so that early looks are cheap.
LOOKS = Looks(
    CLOPPER_PEARSON.name,
    (
        (Fraction(1, 100), Fraction(1, 100)),
        (Fraction(3, 100), Fraction(1, 100)),
        (Fraction(1, 10), Fraction(3, 100)),
        (Fraction(3, 10), Fraction(5, 100)),
        (Fraction(1), Fraction(9, 10)),
    ),
)


def _of_the_last(k: Any, n: NDArray[Any], alpha: Array) -> End:
    """The lower end of the last look, from the counts of all n samples."""
    _, share = LOOKS.shares[-1]
    levels = [part_of(level, share) for level in np.ravel(alpha).tolist()]
    level = np.reshape(levels, np.shape(alpha))
    return CLOPPER_PEARSON.lower(k, n, level)


STAGED = Bound("staged", "counts", _of_the_last, looks=LOOKS)
