"""Numbers as the rational numbers that they are."""

import struct
from fractions import Fraction
from numbers import Rational
from typing import Any

import numpy as np

from rsbounds._numerics.checks import number
from rsbounds._numerics.errors import ArgumentError


def exact_probability(name: str, value: Any, closed: str = "both") -> Fraction:
    """A probability without rounding: that of a float of any width is the float itself.

    ``closed`` says which of 0 and 1 it may be: "both", "left", "right" or "neither".
    """
    left = "[" if closed in ("both", "left") else "("
    right = "]" if closed in ("both", "right") else ")"
    expected = f"must be a probability in {left}0, 1{right}; got {value!r}"
    try:
        exact = _ratio(name, value)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(name, expected) from None
    above = exact >= 0 if left == "[" else exact > 0
    below = exact <= 1 if right == "]" else exact < 1
    if not (above and below):
        raise ArgumentError(name, expected)
    return exact


def _ratio(name: str, value: Any) -> Fraction:
    one = value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value
    if isinstance(one, bool | np.bool_):
        raise TypeError
    if isinstance(one, Rational):
        # NumPy's integers are rational numbers too, but theirs would wrap
        return Fraction(int(one.numerator), int(one.denominator))
    if hasattr(one, "as_integer_ratio"):
        exact = Fraction(*one.as_integer_ratio())
        if exact == 0 and isinstance(one, float):
            return _tiny(one)
        return exact
    return Fraction(number(name, one))


def _tiny(value: float) -> Fraction:
    """A double that is 0 or seems to be.

    Where the processor flushes numbers without full precision to zero, their ratio is
    computed as 0: their bits say what they are.
    """
    (bits,) = struct.unpack("<Q", struct.pack("<d", value))
    size = Fraction(bits & (2**63 - 1), 2**1074)
    return -size if bits >> 63 else size
