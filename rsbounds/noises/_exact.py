"""Rational numbers in, doubles out: every rounding here goes to a stated side."""

import math
import struct
import sys
from fractions import Fraction
from typing import Any

import numpy as np

from rsbounds._numerics.rounding import EPS, TINY, round_down, round_up
from rsbounds._numerics.scores import NDTRI_ERROR
from rsbounds.special import ndtri_exp

_STEPS = 1074
_LN2 = math.log(2.0)
#: One operation on probabilities in doubles, or one after a quotient's rounding.
SHARE_ERROR = 4 * EPS
#: The logarithm of a tail, from that of a double in [1/2, 1) and a power of 2.
LOG_ERROR = 4 * EPS
_LARGEST = sys.float_info.max


def float_down(numerator: int, denominator: int) -> float:
    """The largest double at most numerator/denominator, which is in [0, inf)."""
    if _is_subnormal(numerator, denominator):
        return _of_steps((numerator << _STEPS) // denominator)
    nearest = _nearest(numerator, denominator)
    if nearest == math.inf:
        return _LARGEST
    top, bottom = nearest.as_integer_ratio()
    if top * denominator > numerator * bottom:
        return math.nextafter(nearest, -math.inf)
    return nearest


def float_up(numerator: int, denominator: int) -> float:
    """The least double at least numerator/denominator, which is in [0, inf]."""
    if _is_subnormal(numerator, denominator):
        return _of_steps(-((-numerator << _STEPS) // denominator))
    nearest = _nearest(numerator, denominator)
    if nearest == math.inf:
        return nearest
    top, bottom = nearest.as_integer_ratio()
    if top * denominator < numerator * bottom:
        return math.nextafter(nearest, math.inf)
    return nearest


def float_above(numerator: int, denominator: int) -> float:
    """The least double above numerator/denominator, which is in [0, inf)."""
    if _is_subnormal(numerator, denominator):
        return _of_steps((numerator << _STEPS) // denominator + 1)
    nearest = numerator / denominator
    top, bottom = nearest.as_integer_ratio()
    if top * denominator <= numerator * bottom:
        return math.nextafter(nearest, math.inf)
    return nearest


def leading_up(numerator: int, denominator: int) -> Fraction:
    """A quotient rounded up to 64 leading bits, however small it is."""
    shift = max(64 - numerator.bit_length() + denominator.bit_length(), 0)
    return Fraction(-((-numerator << shift) // denominator), 1 << shift)


def _nearest(numerator: int, denominator: int) -> float:
    """The double nearest to a quotient, inf beyond the largest."""
    try:
        return numerator / denominator  # Python rounds it to the nearest double
    except OverflowError:
        return math.inf


def _is_subnormal(numerator: int, denominator: int) -> bool:
    """Whether a quotient may be below 2^-1022; then it is below 2^-1021.

    There a processor may be set to compute 0, so that doubles are made of their bits.
    """
    return numerator.bit_length() - denominator.bit_length() < -1021


def _of_steps(number: int) -> float:
    """The double of so many steps of 2^-1074, at most 2^53 of them."""
    value: float = struct.unpack("<d", struct.pack("<Q", number))[0]
    return value


def score_above(numerator: int, denominator: int) -> float:
    """Return a score z with Phi(z) > numerator/denominator.

    It is the least, but for the error of ndtri_exp.

    The quotient is in [1/2, 1). It is not reduced: that would take longer than all
    else.
    """
    tail = denominator - numerator
    if 2 * tail == denominator:
        return math.nextafter(0.0, math.inf)
    # log of a number in [1/2, 1) and of a power of 2 below it: two terms of one sign
    power = tail.bit_length() - denominator.bit_length()
    top, bottom = tail << -power, denominator
    while top >= bottom:
        bottom *= 2
        power += 1
    mantissa = float_down(top, bottom)
    log_tail = math.log(mantissa) + power * _LN2
    log_tail += log_tail * LOG_ERROR
    z = round_up(-float(ndtri_exp(log_tail)), NDTRI_ERROR + 2 * EPS)
    return math.nextafter(max(float(z), 0.0), math.inf)


def lower_float(p: Any) -> Any:
    """``p`` less four roundings; 0 where it is too small to have full precision."""
    return np.where(p < TINY * 2, 0.0, round_down(p, SHARE_ERROR))


def upper_float(p: Any) -> Any:
    """``p`` and four roundings; at least TINY."""
    return np.maximum(round_up(p, SHARE_ERROR), 2 * TINY)
