"""What a notebook shows of an object: strangers' texts as HTML, escaped."""

from collections.abc import Sequence
from html import escape

from rsbounds._numerics.text import shown


def view(
    line: str, table: Sequence[Sequence[object]] = (), notes: Sequence[str] = ()
) -> str:
    """An object in a line, its table and what must be said of it."""
    return f"<p><code>{escape(shown(line))}</code></p>{table_of(table)}{listed(notes)}"


def table_of(lines: Sequence[Sequence[object]]) -> str:
    """Lines of cells as a table of HTML, the first line its head; "" without lines."""
    if not lines:
        return ""
    rows = [[escape(shown(cell)) for cell in line] for line in lines]
    head = "".join(f"<th>{cell}</th>" for cell in rows[0])
    body = "".join(
        f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows[1:]
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def listed(texts: Sequence[str]) -> str:
    """Texts as a list of HTML."""
    return f"<ul>{''.join(f'<li>{escape(shown(text))}</li>' for text in texts)}</ul>"
