"""Uniform noise on a cube, certified in l_1.

Cubes of side 2 s whose centres are delta apart share all but |delta|_1/(2 s) of their
volume at most, so no event's probability changes by more. The class stays while
2 |delta|_1/(2 s) < p_a - p_b.
"""

import math

import numpy as np
from scipy.special import ndtr

from rsbounds.noises import floating
from rsbounds.schemes import Domain, DrawnScheme, Option, Parameter

ROUNDING = 1e-14  # of two probabilities and their difference


class Cube(DrawnScheme):
    """Noise that is uniform on the cube of half side ``sigma``."""

    name = "cube"
    norm = 1.0
    law = "uniform on a cube"
    help = "uniform noise on a cube, certified in l_1"
    declared = (
        Parameter(
            "sigma",
            "half of the cube's side",
            Domain(0.0, math.inf, "neither"),
            option=Option("sigma", "half of the cube's side"),
        ),
    )
    checked = staticmethod(floating)

    def read(self):
        self.level = self.parameters["sigma"]

    def noisy(self, x, sigma, size, bits):
        moves = 2 * bits.uniform((size, *x.shape)) - 1
        return bits.like(x + sigma * moves, x)

    def radius_of_scores(self, z_a, z_b=None):
        p_b = ndtr(-z_a if z_b is None else z_b)
        lead = ndtr(z_a) - p_b - ROUNDING
        return float(np.maximum(self.level * lead * (1 - ROUNDING), 0.0))
