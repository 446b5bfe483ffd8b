"""Numbers of result files as text: read more strictly than Python reads, and never
rounded up.
"""

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import ROUND_DOWN, Context, Decimal
from pathlib import Path
from typing import Any

from rsbounds._numerics.text import shown

_TYPES = {
    dict: "object",
    list: "array",
    str: "string",
    bool: "boolean",
    type(None): "null",
}
_TYPES |= {int: "integer", float: "number"}
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
    """Class counts from ``class:count,class:count`` in the order of the classes, or
    ``-``.
    """
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
    return ",".join(f"{k}:{c}" for k, c in enumerate(dense) if c) or "-"


def as_path(name: str, value: Any) -> Path:
    """``value`` as a path, or ValueError."""
    if not isinstance(value, str | os.PathLike):
        raise ValueError(f"{name} must be a path; got {quoted(value)}")
    return Path(value)


@contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Name the file in an OSError of writing it, such as a full disk's."""
    try:
        yield
    except OSError as error:
        if error.strerror is None:  # the message names the file already
            raise
        raise OSError(f"can't write {os.fspath(path)}: {error.strerror}") from error


def quoted(value: Any) -> str:
    """A value, or a line of a file, as an error message quotes it."""
    text = repr(value)
    return text if len(text) <= 62 else text[:59] + "..."


def some(indices: Sequence[int]) -> str:
    """The first of many inputs, in words."""
    first = ", ".join(map(str, indices[:5]))
    return f"inputs {first}" + (
        f" and {len(indices) - 5} more" if len(indices) > 5 else ""
    )


def conform(name: str, value: Any, schema: Mapping[str, Any]) -> None:
    """ValueError unless a value of JSON is what a JSON schema says, as far as ours go."""
    kind, at = _TYPES.get(type(value), ""), name or "it"
    kinds = schema.get("type", kind)
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kind not in kinds and not (kind == "integer" and "number" in kinds):
        raise ValueError(
            f"{at} must be a JSON {' or '.join(kinds)}; got {quoted(value)}"
        )
    low, high = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
    bounded = low > -math.inf or high < math.inf  # else NaN may stand there
    if bounded and kind in ("integer", "number") and not low <= value <= high:
        raise ValueError(f"{at} must be in [{low}, {high}]; got {value!r:.40}")
    if kind == "array":
        for i, each in enumerate(value):
            conform(f"{name}[{i}]", each, schema.get("items", {}))
    if kind == "object":
        if missing := [key for key in schema.get("required", ()) if key not in value]:
            raise ValueError(f"{at} lacks {', '.join(missing)}")
        own, others = (
            schema.get("properties", {}),
            schema.get("additionalProperties", {}),
        )
        for key, each in value.items():
            conform(
                f"{name}.{shown(key)}".removeprefix("."), each, own.get(key, others)
            )


def plain(value: Any) -> Any:
    """The value as JSON can hold it: null for NaN, "inf" for infinity, also inside of
    others.
    """
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return None if math.isnan(value) else str(value)


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
