"""Radii beside the truth: at most it, and as near as is promised."""

from mpmath import mp

WITHIN = mp.mpf(
    "1e-11"
)  # the width of the promise: at most the truth, and within this of it


def holds(value, truth):
    """At most the truth and within 1e-11 of it; 0 where the truth is not positive.

    Below 1e-300 float64 itself loses its digits, and only the side is promised.
    """
    value = mp.mpf(float(value))
    if truth < 1e-300:
        return 0 <= value <= max(truth, 0)
    return truth * (1 - WITHIN) <= value <= truth


D40 = 1e-39  # one unit in the 40th digit, with a little room for rounding


def close(value, expected, tolerance=D40):
    value, expected = mp.mpf(value), mp.mpf(expected)
    return bool(value == expected or abs(value - expected) <= tolerance * abs(expected))
