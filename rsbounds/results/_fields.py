"""Fields of result files, read from text more strictly than ``int`` and ``float`` read them."""

from __future__ import annotations

import math
import re


def whole(text: str) -> int:
    """``int`` without its 1_0 for 10, and within 64 bits."""
    if not re.fullmatch(r"-?[0-9]{1,18}", text):
        raise ValueError("a whole number of at most 18 digits")
    return int(text)


def real(text: str) -> float:
    """``float`` of digits, or of inf."""
    value = float(text)
    if not (re.fullmatch(r"[-+.0-9eE]+", text) and math.isfinite(value)) and text != "inf":
        raise ValueError("a number, or inf")
    return value


def short(line: str) -> str:
    """A line of a file as an error message quotes it."""
    return repr(line if len(line) <= 60 else line[:57] + "...")
