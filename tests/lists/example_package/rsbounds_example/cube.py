"""Uniform noise on a cube, certified in l_1.

Cubes of side 2 s whose centres are delta apart share all but |delta|_1/(2 s) of their
volume at most, so no event's probability changes by more. The class stays while
2 |delta|_1/(2 s) < p_a - p_b.
"""

import math
from typing import ClassVar

import numpy as np
from scipy.special import ndtr

from rsbounds.frameworks import as_function
from rsbounds.schemes import Domain, Option, Scheme

BLOCK = 4096  # samples of one forward pass
ROUNDING = 1e-14  # of two probabilities and their difference


class Cube(Scheme):
    """Noise that is uniform on the cube of half side ``sigma``."""

    name = "cube"
    norm = 1.0
    law = "uniform on a cube"
    domains: ClassVar = {"sigma": Domain(0.0, math.inf, "neither")}
    help = "uniform noise on a cube, certified in l_1"
    options = (Option("sigma", "half of the cube's side"),)

    @classmethod
    def from_options(cls, options, given):
        return cls.from_parameters({"sigma": options["sigma"]})

    def radius(self, z_a, sigma, z_b=None):
        p_b = ndtr(-z_a if z_b is None else z_b)
        lead = ndtr(z_a) - p_b - ROUNDING
        return float(np.maximum(sigma * lead * (1 - ROUNDING), 0.0))

    def sampler(self, model, **options):
        return CubeSampler(model)


class CubeSampler:
    """Class counts under that noise."""

    law = Cube.law

    def __init__(self, model):
        self.scores = as_function(model)

    def __call__(self, x, sigma, n, generator):
        counts = 0
        for start in range(0, n, BLOCK):
            shape = (min(BLOCK, n - start), *np.shape(x))
            noise = generator.uniform(-sigma, sigma, shape)
            scores = np.asarray(self.scores((x + noise).astype(np.float32)))
            valid = scores[~np.isnan(scores).any(axis=1)]
            votes = valid.argmax(axis=1)
            counts = counts + np.bincount(votes, minlength=scores.shape[1])
        return counts
