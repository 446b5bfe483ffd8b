"""Exact curves of discrete noise: how far a probability can fall within r changes.

One primitive answers every question about a model under discrete noise: low(p, r), the
least probability that an event of probability p at x can have at any x' within r
changes. A class is certified where low(p_a, r) > high(p_b, r). All are computed in
rational numbers, and rounded to the safe side where a float is asked for. Where the
noise is a float's, its exact value is meant.

Examples
--------
>>> from rsbounds import discrete
>>> words = discrete.mask(50, 5)
>>> words.radius(0.9), words.low(1.0, 4) > 0.6
(4, True)
"""

from rsbounds.discrete._curve import Curve
from rsbounds.discrete._kernels import (
    Blocks,
    Categorical,
    Deletion,
    Flips,
    Mask,
    blocks,
    categorical,
    deletion,
    flips,
    mask,
)
from rsbounds.discrete._votes import certify_votes

__all__ = [
    "Blocks",
    "Categorical",
    "Curve",
    "Deletion",
    "Flips",
    "Mask",
    "blocks",
    "categorical",
    "certify_votes",
    "deletion",
    "flips",
    "mask",
]
