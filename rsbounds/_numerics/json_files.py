"""JSON of strangers: read with limits, and errors that say what is wrong."""

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.text import quoted, shown

DEEPEST = 50
MOST_ENTRIES = 10**6
#: What is said of a file that would exhaust the stack.
TOO_DEEP = f"expected entries nested at most {DEEPEST} deep"


def parsed(content: bytes, *, nan: bool = True) -> dict[str, Any]:
    """The JSON object in a file of a stranger; ValueError says what is wrong.

    ``nan``: NaN and infinity may stand in it, as Python writes them.
    """
    count = 0

    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal count
        count += len(pairs)
        if count > MOST_ENTRIES:
            raise ValueError(f"expected at most {MOST_ENTRIES} entries")
        if len(entries := dict(pairs)) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"expected each entry once; got {quoted(twice)} twice")
        return entries

    def constant(name: str) -> float:
        if not nan:
            raise ValueError(f"{name} is no number of JSON")
        return float(name)

    try:
        entries = json.loads(
            content, object_pairs_hook=distinct, parse_constant=constant
        )
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"expected JSON: {error}") from None
    if not isinstance(entries, dict):
        raise ValueError(f"expected a JSON object; got {quoted(entries)}")
    if _is_deeper(entries, DEEPEST):
        raise ValueError(TOO_DEEP)
    return entries


def _is_deeper(node: Any, levels: int) -> bool:
    """Whether a value of JSON is nested deeper than so many levels."""
    inside = node.values() if isinstance(node, dict) else node
    if not isinstance(node, dict | list):
        return levels < 1
    return levels < 1 or any(_is_deeper(child, levels - 1) for child in inside)


def as_text(entries: Mapping[str, Any]) -> str:
    """The JSON of entries; ArgumentError, by its place, for what JSON can't hold.

    Only in memory a scheme may have parameters of any kind, such as fractions.
    """
    for place, value in _unheld(entries, ""):
        raise ArgumentError(
            place,
            "must be numbers, texts, lists or mappings by name, which a file holds; "
            f"got {shown(repr(value)):.60}: give a float, or write no file",
        )
    return json.dumps(entries, indent=2) + "\n"


def _unheld(node: Any, place: str) -> Iterator[tuple[str, Any]]:
    """The places and values that JSON has no form for."""
    if isinstance(node, dict):
        for name, child in node.items():
            if not isinstance(name, str | int | float | None):
                yield place, node
            yield from _unheld(child, f"{place}.{name}".removeprefix("."))
    elif isinstance(node, list | tuple):
        for number, child in enumerate(node):
            yield from _unheld(child, f"{place}.{number}")
    elif not isinstance(node, str | int | float | None):
        yield place, node


def as_json(value: Any) -> Any:
    """Return the value as JSON can hold it.

    null for NaN, "inf" for infinity, also inside of others.
    """
    if isinstance(value, Mapping):
        return {str(name): as_json(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(entry) for entry in value]
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return None if math.isnan(value) else str(value)
