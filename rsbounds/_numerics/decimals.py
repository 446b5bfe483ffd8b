"""Numbers and class counts as text: read strictly, never rounded up."""

import math
import re
from collections.abc import Sequence
from decimal import ROUND_DOWN, ROUND_UP, Context, Decimal

MOST_CLASSES = 100_000  # a few characters of a file must not fill the memory


def whole_number(text: str) -> int:
    """``int`` without its 1_0 for 10, and within 64 bits."""
    if not re.fullmatch(r"-?[0-9]{1,18}", text):
        raise ValueError("a whole number of at most 18 digits")
    return int(text)


def number(text: str) -> float:
    """``float`` of digits, or of inf."""
    value = float(text)
    digits = re.fullmatch(r"[-+.0-9eE]+", text) and math.isfinite(value)
    if not digits and text not in ("inf", "-inf"):
        raise ValueError("a number, or inf")
    return value


def dense_counts(text: str) -> tuple[int, ...]:
    """Read ``class:count,class:count`` or ``-`` as counts in order of the classes."""
    dense: list[int] = []
    for part in text.split(",") if text != "-" else ():
        pair = re.fullmatch(r"([0-9]{1,18}):([0-9]{1,18})", part)
        if not pair or int(pair[1]) < len(dense) or not int(pair[2]):
            raise ValueError("class:count,class:count in the order of the classes")
        if not int(pair[1]) < MOST_CLASSES:
            raise ValueError(f"classes below {MOST_CLASSES}")
        dense += [0] * (int(pair[1]) - len(dense)) + [int(pair[2])]
    return tuple(dense)


def sparse_counts(dense: Sequence[int]) -> str:
    """The text of class counts, zeros left out."""
    return ",".join([f"{k}:{c}" for k, c in enumerate(dense) if c]) or "-"


def truncated(value: float, digits: int | None = None) -> str:
    """A decimal that is at most ``value`` (>= 0): "-" for NaN, "inf" for infinity.

    The shortest that reads back as ``value``, or with ``digits`` decimals; numbers too
    small or too large for these keep two decimals and an exponent.
    """
    if not math.isfinite(value):
        return "-" if math.isnan(value) else "inf"
    exact = Decimal(value)
    if digits is not None:
        if 0 < value < 10.0**-digits or value >= 1e6:
            return f"{Context(prec=3, rounding=ROUND_DOWN).create_decimal(exact):.2e}"
        return str(exact.quantize(Decimal(10) ** -digits, ROUND_DOWN))
    text, precision = repr(float(value)), 17
    # repr reads back exactly, but may lie above: then the next shortest that does not
    while not (Decimal(text) <= exact and float(text) == value):
        text = str(Context(prec=precision, rounding=ROUND_DOWN).create_decimal(exact))
        precision += 1
    return text


def short(value: float) -> str:
    """A number >= 0 in at most 12 digits, never above it as float64 reads them."""
    text = f"{value:.12g}"
    if float(text) <= value:
        return text
    return str(Context(prec=12, rounding=ROUND_DOWN).create_decimal(Decimal(value)))


def rounded_up(value: float, digits: int) -> str:
    """A finite number in so many significant digits, not below it."""
    context = Context(prec=digits, rounding=ROUND_UP, capitals=0)
    return context.to_sci_string(context.create_decimal(Decimal(value)))


def round_radii(largest: float, *, whole: bool = False) -> list[float]:
    """Up to eight round radii, from 0 to ``largest``, finite and >= 0.

    ``whole``: they count something, so that none lies between whole numbers.
    """
    if largest == 0:
        return [0.0]
    power = Decimal(10) ** (Decimal(largest).adjusted() - 1)
    steps = [power * Decimal(k) for k in ("2.5", "5", "10", "25")]
    if whole:
        steps = [Decimal(1), Decimal(2), *(s for s in steps if s > 2 and s == int(s))]
    step = next(s for s in steps if largest < 8 * s)
    radii = [float(k * step) for k in range(int(Decimal(largest) / step) + 1)]
    return list(dict.fromkeys(radii))  # the smallest of all are no multiples
