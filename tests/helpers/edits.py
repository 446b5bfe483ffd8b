"""Edits of JSON and of tables, as those make who want a file to say more."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np


def leaves(tree: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all entries of a value of JSON, of objects and lists too."""
    if above:
        yield above
    if isinstance(tree, dict | list):
        inside = tree.items() if isinstance(tree, dict) else enumerate(tree)
        for key, each in inside:
            yield from leaves(each, (*above, key))


def with_another(tree: Any, place: tuple[Any, ...], value: Any) -> Any:
    """A value of JSON with another entry at a place."""
    copy = json.loads(json.dumps(tree))
    node = copy
    for key in place[:-1]:
        node = node[key]
    if value is DELETED:
        del node[place[-1]]
    else:
        node[place[-1]] = value
    return copy


def entry(tree: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        tree = tree[key]
    return tree


DELETED = object()
OTHERS = (None, True, False, 0, 1, 2, 2.0, 0.5, 1e-9, 1e9, -1, "", "x", [], {}, [1])


def another(rng: np.random.Generator, value: Any) -> Any:
    """Another value, most often of the same kind."""
    choice = rng.integers(4)
    if choice == 0:
        return OTHERS[rng.integers(len(OTHERS))]
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        factors = (0.5, 0.9, 1 - 1e-9, 1 + 1e-9, 1.001, 1.1, 2.0)
        scaled = value * factors[rng.integers(len(factors))]
        if isinstance(value, int):
            return value + int(rng.choice([-2, -1, 1, 2, 10]))
        return scaled
    if isinstance(value, str):
        return other_text(rng, value)
    return DELETED


def other_text(rng: np.random.Generator, text: str) -> str:
    """A text with another number in it, or one of another row's form."""
    try:
        number = float(text)
    except ValueError:
        number = None
    if number is not None and rng.random() < 0.8:
        factors = (0.5, 1 - 1e-7, 1 - 1e-12, 1 + 1e-12, 1 + 1e-9, 1.001, 1.3, -1.0)
        value = number * factors[rng.integers(len(factors))]
        return str(int(value) + 1) if text.lstrip("-").isdecimal() else repr(value)
    digits = [i for i, c in enumerate(text) if c.isdecimal()]
    if digits and rng.random() < 0.8:
        i = digits[rng.integers(len(digits))]
        return f"{text[:i]}{rng.integers(10)}{text[i + 1 :]}"
    ends = ("", "-", "0", "inf", "nan", f"{text}x", f"{text},1", "9" * 15)
    return ends[rng.integers(len(ends))]
