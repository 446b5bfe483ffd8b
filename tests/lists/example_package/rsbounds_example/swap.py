"""Zeros and ones that swap by chance, certified in l_0.

Whatever comes out is at most (1 - q)/q times as likely where one coordinate differs. So
an event keeps at least the inverse of that, and what it leaves grows by it at most.
"""

import math
from fractions import Fraction

import numpy as np
from scipy.special import ndtr, ndtri

from rsbounds.schemes import By, Domain, DrawnScheme, Option, Parameter

ROUNDING = 1e-9  # of a score, far beyond that of its quantile
MOST = 1000
CHANCE = Option("chance", "chance of a coordinate to swap")


class Swap(DrawnScheme):
    """Each coordinate swaps with one chance."""

    name = "swap"
    norm = 0.0
    self_inverse = True
    of_whole_numbers = True
    help = "zeros and ones that swap, certified in l_0"
    declared = (
        Parameter(
            "chance",
            "chance to swap",
            Domain(0.0, 0.5, "neither"),
            By.RERUN,
            option=CHANCE,
            input=CHANCE,
        ),
    )
    of_bits = True

    def read(self):
        self.level = self.parameters["chance"]
        self.law = f"swap chance={self.level!r}"

    def checked(self, x):
        point = np.asarray(x)
        if not np.isin(point, (0, 1)).all():
            raise ValueError("x must be of zeros and ones")
        return point.astype(np.int64)

    def noisy(self, x, sigma, size, bits):
        swapped = bits.happens(Fraction(self.level), (size, *x.shape))
        return bits.like((x == 1) ^ swapped, x)

    def transport(self, z, radius, sigma=None):
        level = self.fixed_level(sigma)
        if not np.all(np.asarray(radius) >= 0):
            raise ValueError(f"radius must be >= 0; got {radius}")
        low, changes = np.broadcast_arrays(np.asarray(z, np.float64), np.floor(radius))
        high = low
        for step in range(int(min(changes.max(), MOST))):
            moves = step < changes
            low = np.where(moves, least(low, level), low)
            high = np.where(moves, -least(-high, level), high)
        beyond = changes > MOST
        return np.where(beyond, -np.inf, low)[()], np.where(beyond, np.inf, high)[()]

    def radius_of_scores(self, z_a, z_b=None):
        level = self.level
        first, second = z_a, -z_a if z_b is None else z_b
        if math.isnan(first) or math.isnan(second):
            return math.nan
        for changes in range(MOST):
            first, second = least(first, level), -least(-second, level)
            if not first > second:
                return float(changes)
        return float(MOST)


def least(z, level):
    """The least score that an event can have one change away."""
    ratio = (1 - level) / level
    kept = ndtri(ndtr(z) / ratio)
    lost = -ndtri(np.minimum(ratio * ndtr(-z), 1.0))
    score = np.maximum(kept, lost)
    return np.where(np.isfinite(score), score - ROUNDING * (1 + np.abs(score)), score)
