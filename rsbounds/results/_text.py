"""JSON and text of strangers, as messages, cards and pages show them."""

import math
import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from rsbounds._numerics.text import shown


def some(indices: Sequence[int]) -> str:
    """The first of many inputs, in words."""
    first = ", ".join(map(str, indices[:5]))
    return f"inputs {first}" + (
        f" and {len(indices) - 5} more" if len(indices) > 5 else ""
    )


def literal(text: object) -> str:
    """A stranger's text with nothing in it that Markdown or HTML takes for its own."""
    return re.sub(r"([\\`*_\[\]|~#])", r"\\\1", escape(shown(text), quote=False))


def html_table(lines: Sequence[Sequence[object]]) -> str:
    """Lines of cells as a table of HTML, the first line its head; "" without lines."""
    if not lines:
        return ""
    rows = [[escape(shown(cell)) for cell in line] for line in lines]
    head = "".join(f"<th>{cell}</th>" for cell in rows[0])
    body = "".join(
        f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows[1:]
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def plain(value: Any) -> Any:
    """Return the value as JSON can hold it.

    null for NaN, "inf" for infinity, also inside of others.
    """
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return None if math.isnan(value) else str(value)
