"""A number in every type that Python and its packages have for one."""

from dataclasses import astuple, is_dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np

TYPES = {
    "float16": np.float16,
    "float32": np.float32,
    "longdouble": np.longdouble,
    "float64": np.float64,
    "0-d float16": lambda v: np.array(v, dtype=np.float16),
    "0-d float64": lambda v: np.array(v, dtype=np.float64),
    "0-d longdouble": lambda v: np.array(v, dtype=np.longdouble),
    "int": int,
    "int8": np.int8,
    "uint64": np.uint64,
    "Fraction": Fraction,
    "Decimal": Decimal,
}

WHOLE = ("int", "int8", "uint64")


def rounded(value):
    """The same of eleven bits."""
    if isinstance(value, list):
        return [rounded(v) for v in value]
    return value if isinstance(value, int) else float(np.float16(value))


def retyped(value, name):
    """The value in that type; None where the type does not hold it."""
    if isinstance(value, list):
        flat = np.ravel(value)
        parts = [retyped(float(v), name) for v in flat]
        if any(part is None for part in parts):
            return None
        return np.array(parts).reshape(np.shape(value))
    if name in WHOLE and not (value == int(value) and 0 <= value < 128):
        return None
    return TYPES[name](value)


def bits(result):
    if isinstance(result, tuple):
        return [bits(part) for part in result]
    if is_dataclass(result):
        return repr(result), bits(astuple(result))
    array = np.asarray(result)
    if array.dtype == object or array.dtype.kind == "U":
        return repr(result)
    return array.dtype.str, array.shape, array.tobytes()


def require_alike(call, values):
    """The same bits for numbers of every type, or a ValueError for two of them."""
    values = {argument: rounded(value) for argument, value in values.items()}
    expected = bits(call(**values))
    refused = []
    different = []
    for argument, value in values.items():
        for kind in TYPES:
            other = retyped(value, kind)
            if other is None:
                continue
            try:
                result = bits(call(**{**values, argument: other}))
            except ValueError:
                refused.append((argument, kind))
                continue
            if result != expected:
                different.append((argument, kind, result, expected))
    assert not different
    assert {kind for _, kind in refused} <= {"Fraction", "Decimal"}, refused


EXTREMES = (0.0, -0.0, 5e-324, 2.0**-1022, 1e-160, 1.0, 1e160, 1e308, np.inf, -np.inf)
