"""Text of strangers, such as names in their files."""

import re

_HASH = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{52}\b")


def shown(text: object) -> str:
    """The text with its control characters escaped: it may reach a terminal."""
    given = str(text)
    if given.isprintable():
        return given
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode() for c in given
    )


def quoted(value: object) -> str:
    """A value, or a line of a file, as an error message quotes it."""
    text = repr(value)
    return text if len(text) <= 62 else text[:59] + "..."


def abridged(text: str) -> str:
    """The text with the first 12 of the 64 digits of each hash: files have them all."""
    return _HASH.sub(r"\1...", text)
