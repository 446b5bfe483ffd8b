"""Outward rounding: the machine epsilon, and rounding by an error bound."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rsbounds._numerics.checks import Array, either
from rsbounds_ext import kernels

EPS = 2.0**-52
SMALLEST = 2.0**-1074
TINY = 2.0**-1022  # the smallest number of full precision
LARGEST = float(np.finfo(np.float64).max)


def round_down(value: Any, error: Any) -> Array:
    """A number at most the truth, given ``value`` within a relative ``error`` of it.

    Never below 0 for a value above 0; inf stays inf; NaN stays NaN with the invalid
    flag.
    """
    return _rounded(kernels.round_down, value, error)


def round_up(value: Any, error: Any) -> Array:
    """A number at least the truth, given ``value`` within a relative ``error`` of it.

    0 stays 0; inf stays inf; NaN stays NaN with the invalid flag.
    """
    return _rounded(kernels.round_up, value, error)


def _rounded(rounded: np.ufunc, value: Any, error: Any) -> Array:
    number: Any = kernels.scalar(rounded, value, error)
    if number is not None and number == number:
        return number  # type: ignore[no-any-return]
    # beyond the largest float64 lies inf
    with np.errstate(over="ignore", under="ignore"):
        result: Array = rounded(np.asarray(value, dtype=np.float64), error)
    return result


def product(a: Any, b: Any) -> Array:
    """Product a b; the largest float64 where it overflows and neither is infinite."""
    if isinstance(a, float) and isinstance(b, float):
        number = float(a) * float(b)
        if math.isfinite(number):
            return np.float64(number)  # type: ignore[return-value]
    with np.errstate(over="ignore", under="ignore"):
        return capped(np.multiply(a, b), np.isfinite(a) & np.isfinite(b))


def positive_quotient(a: Any, b: Any) -> Array:
    """a/b of a >= 0 and b > 0, at least TINY where a > 0.

    Below TINY a product loses its relative precision, and a quotient may become 0: a
    step that has a size would vanish.
    """
    with np.errstate(over="ignore", under="ignore"):
        result: Array = np.where(a > 0, np.maximum(np.divide(a, b), TINY), a)
    return result


def capped(value: Array, finite: Any) -> Array:
    """The largest float64 where a value overflowed that is truly ``finite``."""
    result: Array = either(np.isinf(value) & finite, np.float64(LARGEST), value)
    return result


def flag_nan(value: Any) -> Any:
    """``value`` itself, with numpy's invalid flag raised when it holds a NaN."""
    if isinstance(value, float) and value == value:
        return value
    nan = np.isnan(value)
    if nan.any():
        np.multiply(np.inf, np.where(nan, 0.0, 1.0))
    return value


def apart(first: Array, second: Array, eps: float) -> float:
    """The largest difference of two rows of scores, 0.0 if rounding explains it.

    Rounding is what another order of sums may do: eps^(2/3) of the largest score.
    """
    largest = np.abs(second[np.isfinite(second)]).max(initial=0.0)
    with np.errstate(invalid="ignore"):  # of two infinities
        differences: Any = np.abs(first - second)
    same = (first == second) | (np.isnan(first) & np.isnan(second))
    close = same | (differences <= eps ** (2 / 3) * largest)
    if close.all():
        return 0.0
    # a NaN beside a number, or two infinities: no difference to speak of
    return float(np.nan_to_num(differences[~close], nan=np.inf).max())


def require_scored_alone(
    alone: Array, among: Array, rows: int, eps: float, subject: str, place: str = ""
) -> None:
    """ValueError if a row's scores in a batch of its copies aren't those among others.

    ``rows`` is the size of the batch, ``subject`` what a row is, ``place`` where in a
    run it was asked for.
    """
    gap = apart(alone, among, eps)
    if gap:
        raise ValueError(
            f"the model must score each {subject} for itself, without chance; the "
            f"scores of a {subject} among {rows - 1} others differ by {gap:.3g} from "
            f"those in a batch of its copies{place} (batch statistics, or random "
            "layers?)"
        )
