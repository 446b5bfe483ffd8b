"""Pieces of a page: tables whose columns sort, notes, and charts of step curves.

Text of strangers reaches a page escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from rsbounds._numerics.decimals import truncated
from rsbounds._numerics.text import shown
from rsbounds.results._plot import Curve

DIGITS = 6  # of what curves show


def sortable(lines: Sequence[Sequence[str]]) -> str:
    """A table of cells that `_cell` made, the first line its head."""
    head = "".join(f"<th tabindex=0>{own}</th>" for own in lines[0])
    body = "\n".join(
        f"<tr><td>{'</td><td>'.join(line)}</td></tr>" for line in lines[1:]
    )
    table = f"<table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>"
    return f'<div class="scroll">{table}</div>'


def cell(text: object, small: object = "") -> str:
    """The HTML of a text, with a smaller one below."""
    below = f"<br><small>{escape(shown(small))}</small>" if small else ""
    return escape(shown(text)) + below


def noted(notes: Iterable[str]) -> list[str]:
    """Paragraphs below a table."""
    return [f"<p><small>{escape(shown(note))}</small></p>" for note in notes]


def division(
    plotly: Any, place: str, figure: Mapping[str, Any], *, script: bool
) -> str:
    """A chart as HTML; ``script``: with the plotting library in it."""
    html: str = plotly.to_html(
        figure,
        config={
            "displaylogo": False,
            "showSendToCloud": False,  # nothing goes to its makers
        },
        full_html=False,
        validate=False,
        div_id=place,
        include_plotlyjs=script,
        default_height="450px",
    )
    return html


def chart_of(drawn: Sequence[Curve], title: str, x: str) -> dict[str, Any]:
    traces = []
    for curve in drawn:
        # between two steps it is as high as at the next: vertical first, then
        # horizontal
        line = {
            "shape": "vh",
            "color": curve.colour,
            "dash": curve.dash,
            "width": curve.width,
        }
        edges = [float(truncated(float(edge), DIGITS)) for edge in curve.edges]
        heights = [round(float(share), DIGITS) for share in curve.heights]
        trace = {
            "type": "scatter",
            "mode": "lines",
            "name": escape(shown(curve.name)),
            "line": line,
        }
        traces.append({**trace, "x": edges, "y": heights})
    axes = {"xaxis": {"title": {"text": x}}, "yaxis": {"rangemode": "tozero"}}
    font = {"family": "system-ui, sans-serif", "size": 13}  # the page's
    own = {
        "title": {"text": title},
        "showlegend": True,
        "hovermode": "closest",
        "font": font,
    }
    return {"data": traces, "layout": own | axes}
