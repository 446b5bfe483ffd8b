"""Rounding of a network's float64 arithmetic.

How far it may lie from the exact function of the weights, and what that takes from a
level or a mean.

A running error analysis in the maximum norm, for all inputs with coordinates in [0, 1]
at once: each operation maps a bound of its exact input's size and a bound of that
input's error to the same two bounds of its output. A sum of n products is within
gamma_n of the sum of their sizes, in any order and with any fused operations (Higham
2002, sections 3.1 and 3.5); torch convolves float64 numbers by such sums, on the CPU.
Elementary functions are assumed to be within 4 units in the last place (torch calls
SLEEF's, which claim 1).
"""

import math

import torch

from rsbounds._numerics.rounding import EPS
from rsbounds.torch.networks._walk import computed
from rsbounds.torch.networks.graph import Graph
from rsbounds.torch.networks.operations._record import SizeAndError

__all__ = ["UNIT", "require_small", "require_small_mean", "scaled_input", "shift"]

_U = EPS / 2
_UP = 1 + 1e-9  # for the rounding of these bounds themselves
# How large the rounding may be where no radius allows for it: a thousandth of what
# the level (or the mean) may move by over one lowest level, or this part of the level.
_SHARE = 1 / 1000
_LEAST = 2.0**-33

UNIT = SizeAndError(
    1.0, _U
)  # the points of the grid in [0, 1], as whole numbers over 255


def require_small(
    level: Graph, floor: float, lip: float, at_input: SizeAndError = UNIT
) -> None:
    """ValueError where rounding would move a network's level beyond its rate.

    A radius without an allowance for rounding rests on the exact function. The layers
    may cancel, however: with biases of 1e16 and -1e16 between them, what runs is a
    staircase whose steps no constant bounds.
    """
    error = computed(level, at_input).error
    if not 2 * error <= max(_SHARE * lip, _LEAST) * floor:
        raise ValueError(
            "the level must not drown in rounding: in float64 it may be off by "
            f"{error:.2g} with a Lipschitz bound of {lip:.2g} and a floor of {floor}; "
            "its layers compute with numbers that are too large"
        )


def require_small_mean(
    mean: Graph, floor: float, mean_lip: float, at_input: SizeAndError
) -> None:
    """ValueError where rounding would move a network's mean too far, in l2."""
    moved = shift(mean, at_input)
    if not moved <= _SHARE * (1 + mean_lip) * floor:
        raise ValueError(
            "the mean must not drown in rounding: in float64 it may be off by "
            f"{moved:.2g} where the lowest level is {floor:g}; its layers compute with "
            "numbers that are too large"
        )


def shift(mean: Graph, at_input: SizeAndError) -> float:
    """How much further apart than their exact values two means may be, in l2.

    Each is off by at most sqrt(d) times its error in the maximum norm.
    """
    moved = computed(mean, at_input).error
    return 2 * math.sqrt(math.prod(mean.shape)) * moved * _UP


def scaled_input(shape: torch.Tensor) -> SizeAndError:
    """The range of the grid's points divided by the shape.

    Each coordinate is within 3 u of a number of at most 1 over the smallest axis.
    """
    size = 1 / float(shape.min()) * _UP
    return SizeAndError(size, 3 * _U * size)
