"""Numbers as the rational numbers that they are."""

import math
import struct
from fractions import Fraction
from numbers import Rational
from typing import Any

import numpy as np

from rsbounds._numerics.checks import number
from rsbounds._numerics.domains import plain
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
    scalar = value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value
    if isinstance(scalar, bool | np.bool_):
        raise TypeError
    if isinstance(scalar, Rational):
        # NumPy's integers are rational numbers too, but theirs would wrap
        return Fraction(int(scalar.numerator), int(scalar.denominator))
    if hasattr(scalar, "as_integer_ratio"):
        exact = Fraction(*scalar.as_integer_ratio())
        if exact == 0 and isinstance(scalar, float):
            return _tiny(scalar)
        return exact
    return Fraction(number(name, scalar))


def _tiny(value: float) -> Fraction:
    """A double that is 0 or seems to be.

    Where the processor flushes numbers without full precision to zero, their ratio is
    computed as 0: their bits say what they are.
    """
    (bits,) = struct.unpack("<Q", struct.pack("<d", value))
    size = Fraction(bits & (2**63 - 1), 2**1074)
    return -size if bits >> 63 else size


def as_double(name: str, value: Any) -> Any:
    """A number as a result file can hold it, and else the value as it is.

    Of rational numbers these are the doubles.
    """
    if not isinstance(value, Fraction):
        return plain(value)
    try:
        nearest = float(value)
    except OverflowError:
        nearest = math.inf
    if nearest != value:
        raise ArgumentError(
            name,
            f"must be a number that a result file can hold, a double such as {nearest}"
            f"; got {value} (curves take any fraction)",
        )
    return nearest


def double_probability(name: str, value: Any, closed: str = "both") -> float:
    """A probability that a result file can hold, checked by its own number."""
    return float(exact_probability(name, as_double(name, value), closed))


def spelled(value: Fraction) -> str:
    """A rational number as a law names it: the shortest float that equals it, or p/q.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from rsbounds._numerics.rationals import spelled
    >>> spelled(Fraction(0.8)), spelled(Fraction(4, 5)), spelled(Fraction(1))
    ('0.8', '4/5', '1')
    """
    if value.denominator == 1:
        return str(value.numerator)
    return repr(float(value)) if Fraction(float(value)) == value else str(value)


def complement(probability: Any) -> float:
    """1 - p of the digits that a number is written with: 0.2 of 0.8."""
    return float(1 - Fraction(repr(float(probability))))
