"""Exact probabilities: the counts of all outcomes of a noise that has few.

Where the noise has n outcomes, all alike, and the class of each is counted, a class's
probability is its count over n. Nothing was drawn, so nothing is spent of alpha.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import Array
from rsbounds._numerics.rounding import EPS, round_down, round_up
from rsbounds.confidence.bound import Bound, End
from rsbounds.confidence.counts import score


def _exact(count: Any, n: NDArray[np.int64], alpha: Array) -> End:
    """The share itself, its complement and its score, to the safe side."""
    share = np.asarray(count / n)
    rest = np.asarray((n - count) / n)
    # a share of all or none is what it is
    p = np.where(count == n, 1.0, round_down(share, EPS))
    q = np.where(count == 0, 1.0, round_up(rest, EPS))
    return End(z=score(p, q), p=p[()], q=q[()])


#: All outcomes were evaluated: the sampler says so, and the scheme how many there are.
EXACT = Bound("exact", "outcomes", _exact)
