"""Text of strangers, such as names in their files."""

import re
from collections.abc import Sequence

_HASH = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{52}\b")


def shown(text: object) -> str:
    """The text with its control characters escaped: it may reach a terminal."""
    whole = str(text)
    if whole.isprintable():
        return whole
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode() for c in whole
    )


def quoted(value: object) -> str:
    """A value, or a line of a file, as an error message quotes it."""
    text = repr(value)
    return text if len(text) <= 62 else text[:59] + "..."


def abridged(text: str) -> str:
    """The text with the first 12 of the 64 digits of each hash: files have them all."""
    return _HASH.sub(r"\1...", text)


def named_inputs(indices: Sequence[int]) -> str:
    """The first of many inputs, in words."""
    first = ", ".join(map(str, indices[:5]))
    return f"inputs {first}" + (
        f" and {len(indices) - 5} more" if len(indices) > 5 else ""
    )
