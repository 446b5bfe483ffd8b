"""Sums over the axes, for both kinds of noise."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rsbounds._numerics.checks import (
    Array,
    Floats,
    as_floats,
)
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.rounding import (
    EPS,
)

# a sum over the last axis: pairwise in blocks of 128, so at most 16 + log2(dim/128)
# roundings
SUM_ERROR = 40 * EPS


def reach_of(scale: Array, power: Floats) -> Array:
    """1 / |1/scale| in the norm of exponent 1/power, along the last axis."""
    smallest = scale.min(axis=-1)
    power = np.asarray(power)[..., None]
    with np.errstate(divide="ignore", under="ignore"):
        terms = (smallest[..., None] / scale) ** (1.0 / power)
        reach: Array = smallest / sum_of(terms) ** power[..., 0]
    return reach


def reciprocal(norm: Array) -> Array:
    with np.errstate(under="ignore"):
        return 1.0 / norm


def sum_of(terms: Array) -> Array:
    total: Array = np.ascontiguousarray(terms).sum(axis=-1)
    return total


def levels_of(name: str, value: ArrayLike) -> Array:
    return axes_of(name, as_floats(name, value, 0.0, closed="neither", towards=-np.inf))


def axes_of(name: str, value: Array) -> Array:
    if value.ndim == 0 or value.shape[-1] == 0:
        raise ArgumentError(
            name, f"must have shape (..., d) with d >= 1; got shape {value.shape}"
        )
    return value
