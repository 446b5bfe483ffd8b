"""Outward rounding: the one machine epsilon, and the one way to round by an error bound."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rsbounds._numerics.checks import Array

EPS = 2.0**-52
SMALLEST = 2.0**-1074


def round_down(value: Any, error: Any) -> Array:
    """A number at most the truth, given ``value`` within a relative ``error`` of it.

    Never below 0 for a value above 0; inf stays inf; NaN stays NaN with the invalid flag.
    """
    rounded: Array = _round(value, error, -np.inf)
    return rounded


def round_up(value: Any, error: Any) -> Array:
    """The same for a number at least the truth; 0 stays 0."""
    rounded: Array = _round(value, error, np.inf)
    return rounded


def _round(value: Any, error: Any, towards: float) -> Any:
    if isinstance(value, float) and isinstance(error, float) and math.isfinite(value):
        x = float(value)  # the steps below for one number, in a fiftieth of the time
        slack = error * abs(x) + 4 * SMALLEST
        moved = math.nextafter(x + math.copysign(slack, towards), towards)
        crossed = moved < 0 < x or x < 0 < moved
        return np.float64(x if x == 0 else 0.0 if crossed else moved)
    value = np.asarray(value, dtype=np.float64)
    # beyond the largest float64 lies inf
    with np.errstate(over="ignore", under="ignore"):
        slacks = error * np.where(np.isinf(value), 0.0, np.abs(value)) + 4 * SMALLEST
        there = np.nextafter(value + np.copysign(slacks, towards), towards)
    there = np.where(np.sign(there) == -np.sign(value), 0.0, there)
    return flag_nan(np.where((value == 0) | np.isinf(value), value, there))[()]


def product(a: Any, b: Any) -> Array:
    """a b, the largest float64 where it overflows and neither of them is infinite."""
    with np.errstate(over="ignore", under="ignore"):
        return capped(np.multiply(a, b), np.isfinite(a) & np.isfinite(b))


def capped(value: Array, finite: Any) -> Array:
    """The largest float64 in place of an overflow, where the true value is ``finite``."""
    return np.where(np.isinf(value) & finite, np.finfo(np.float64).max, value)


def flag_nan(value: Any) -> Any:
    """``value`` itself, with numpy's invalid flag raised when it holds a NaN."""
    if isinstance(value, float) and value == value:
        return value
    nan = np.isnan(value)
    if nan.any():
        np.multiply(np.inf, np.where(nan, 0.0, 1.0))
    return value
