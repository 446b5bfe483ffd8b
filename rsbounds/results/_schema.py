"""Values of JSON against a schema, in the words of this package's errors."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, TypeAlias

from rsbounds._numerics.text import quoted, shown

Schema: TypeAlias = Mapping[str, Any]

_TYPES: Mapping[type, str] = {
    dict: "object",
    list: "array",
    str: "string",
    bool: "boolean",
    type(None): "null",
    int: "integer",
    float: "number",
}


def conform(name: str, value: Any, schema: Schema) -> None:
    """ValueError unless a value of JSON is what a schema says.

    Of JSON Schema: type, minimum and maximum, pattern (of the whole text), enum, items,
    required, properties, additionalProperties. A ``const`` is its reader's to compare.
    """
    kind, at = _TYPES.get(type(value), ""), name or "it"
    if "enum" in schema and value not in schema["enum"]:
        choices = ", ".join(map(repr, schema["enum"]))
        raise ValueError(f"{at} must be one of {choices}; got {quoted(value)}")
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
    pattern = schema.get("pattern")
    if kind == "string" and pattern and not re.fullmatch(pattern, value, re.ASCII):
        raise ValueError(f"{at} must be of the form {pattern}; got {quoted(value)}")
    if kind == "array":
        for i, entry in enumerate(value):
            conform(f"{name}[{i}]", entry, schema.get("items", {}))
    if kind == "object":
        _conform_object(name, value, schema)


def _conform_object(name: str, value: Mapping[str, Any], schema: Schema) -> None:
    at = name or "it"
    if missing := [key for key in schema.get("required", ()) if key not in value]:
        raise ValueError(f"{at} lacks {', '.join(missing)}")
    declared = schema.get("properties", {})
    others = schema.get("additionalProperties", {})
    for key, entry in value.items():
        if key not in declared and others is False:
            raise ValueError(f"{shown(key)!r:.60} is no entry of {at}")
        inside = f"{name}.{shown(key)}".removeprefix(".")
        conform(inside, entry, declared.get(key, others))
