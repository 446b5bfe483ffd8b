"""Hoeffding's bound of a probability: k/n less sqrt(log(1/alpha)/(2 n))."""

import numpy as np

from rsbounds.confidence import Bound, End
from rsbounds.special import ndtri

ROUNDING = 1e-13  # more than all that is computed is rounded by


def lower(successes, n, alpha):
    width = np.sqrt(-np.log(alpha) / (2 * n))
    p = np.maximum(successes / n - width - ROUNDING, 0.0)
    z = ndtri(p)
    return End(z - ROUNDING * (1 + abs(z)), p, 1 - p)


HOEFFDING = Bound("hoeffding", "counts", lower)
