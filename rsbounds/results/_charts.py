"""What plots and pages draw: step curves of files, and the page's charts as Plotly takes them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np

from rsbounds._numerics.checks import Array
from rsbounds.certificate import ABSTAIN
from rsbounds.confidence import lower_bound, upper_bound
from rsbounds.results._compare import comparable
from rsbounds.results._results import Results
from rsbounds.results._row import Row
from rsbounds.results._text import truncated

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
LEVEL = 0.95  # of the intervals
DIGITS = 6  # of radii and p_A in the page

Chart = dict[str, Any]  # a trace, or traces and layout


class Curve(NamedTuple):
    """A step curve: between two edges it is as high as at the later one."""

    name: str
    edges: Array
    heights: Array
    colour: str
    dash: str
    width: float


def cut(value: float) -> float:
    """The number cut off to ``DIGITS`` decimals; NaN and infinity as they are."""
    return float(truncated(value, DIGITS)) if math.isfinite(value) else value


def interval(count: int, n: int) -> tuple[float, float]:
    """Clopper-Pearson interval of a share: ``count`` of ``n`` inputs drawn from many."""
    tail = (1 - LEVEL) / 2
    return float(lower_bound(count, n, tail)), float(upper_bound(count, n, tail))


def true_class(file: Results) -> list[float]:
    """Lower bounds of the true class's probability: p_A where it is certified, else 0.

    Empty where the file has no p_A.
    """
    return [r.p_a if r.correct else 0.0 for r in file.rows if not math.isnan(r.p_a)]


def radii(file: Results) -> list[float]:
    """Radii in which the true class is certified; 0 where it isn't, -1 where it isn't predicted."""
    return [row.radius if row.correct else -1.0 for row in file.rows]


def reach(files: Sequence[Results]) -> float:
    """Where the axis of radii ends."""
    finite = [row.radius for file in files for row in file.rows if math.isfinite(row.radius)]
    return min(1.05 * max(finite, default=0.0), 1e307) or 1.0


def curves(files: Sequence[Results], names: Sequence[str], end: float) -> list[Curve]:
    """Certified accuracy of each file, and the best of comparable files at each radius."""
    shown = [(name, [radii(file)]) for name, file in zip(names, files, strict=True) if file.rows]
    best = [(label, [radii(file) for file in group]) for label, group in comparable(files)]
    return _styled(shown, end) + _styled(best, end, ("#000000",), first=4)


def _styled(
    shown: Sequence[tuple[str, list[list[float]]]],
    end: float,
    colours: Sequence[str] = COLOURS,
    first: int = 0,
) -> list[Curve]:
    """Each is thinner than those below it and has gaps, so that curves that coincide are seen."""
    return [
        Curve(
            name,
            *_steps(values, end),
            colours[i % len(colours)],
            DASHES[(first + i) % len(DASHES)],
            max(3.0 - 0.4 * (first + i), 1.2),
        )
        for i, (name, values) in enumerate(shown)
    ]


def _steps(values: Sequence[Sequence[float]], end: float) -> tuple[Array, Array]:
    """Where the largest share of values that reach an edge steps, and its height there."""
    edges = np.unique([0.0, end, *(min(v, end) for own in values for v in own if v >= 0)])
    ordered = [np.sort(own) for own in values]
    held = [(len(own) - np.searchsorted(own, edges)) / len(own) for own in ordered]
    best = np.max(held, axis=0)
    falls = np.flatnonzero(np.diff(best))
    kept = np.unique([0, *falls, *falls + 1, len(edges) - 1])
    return edges[kept], best[kept]


def charts(files: Sequence[Results], names: Sequence[str]) -> dict[str, Chart]:
    """Name of a place in the page -> its traces and layout."""
    shown = [(escape(name), file) for file, name in zip(files, names, strict=True) if file.rows]
    end, bounds = reach(files), [(name, true_class(file)) for name, file in shown]
    drawn = curves(files, names, end)
    known = _styled([(name, [values]) for name, values in bounds if values], 1.0)
    return {
        "curves": _lines(drawn, "radius", "certified accuracy"),
        "p_a": _lines(known, "p_A", "share of the inputs"),
        "accuracy": _by_class(shown, "accuracy", lambda row: row.correct, [0, 1.02]),
        "abstention": _by_class(shown, "abstention", lambda row: row.predict == ABSTAIN, None),
    }


def _lines(drawn: Sequence[Curve], x: str, y: str) -> Chart:
    traces = []
    for curve in drawn:
        # between two steps it is as high as at the next: vertical first, then horizontal
        line = {"shape": "vh", "color": curve.colour, "dash": curve.dash, "width": curve.width}
        trace: Chart = {
            "type": "scatter",
            "mode": "lines",
            "name": escape(curve.name),
            "line": line,
        }
        trace["x"] = [cut(float(edge)) for edge in curve.edges]
        traces.append({**trace, "y": [round(float(share), DIGITS) for share in curve.heights]})
    end = max((float(curve.edges[-1]) for curve in drawn), default=1.0)
    layout = {
        "xaxis": {"title": {"text": x}, "range": [0, end], "hoverformat": f".{DIGITS}~f"},
        "yaxis": {"title": {"text": y}, "range": [0, 1.02]},
        "legend": {"orientation": "h", "y": 1.01, "yanchor": "bottom"},
        "showlegend": True,
    }
    return {"traces": traces, "layout": layout}


def _by_class(
    shown: Sequence[tuple[str, Results]], title: str, hit: Callable[[Row], bool], scale: Any
) -> Chart:
    """A share of each class for each file, with its interval."""
    traces, most = [], 1
    for i, (name, file) in enumerate(shown):
        parts = file.by_class()
        counts = [(sum(map(hit, part.rows)), len(part.rows)) for part in parts.values()]
        shares = [hits / size for hits, size in counts]
        lows, highs = zip(*(interval(*count) for count in counts), strict=True)
        error = {"type": "data", "symmetric": False, "thickness": 1, "width": 2}
        error["array"] = [high - share for high, share in zip(highs, shares, strict=True)]
        error["arrayminus"] = [share - low for low, share in zip(lows, shares, strict=True)]
        trace = {"type": "bar", "name": name, "x": list(parts), "y": shares, "error_y": error}
        trace |= {"text": [f"{hits} of {size}" for hits, size in counts], "textposition": "none"}
        traces.append({**trace, "marker": {"color": COLOURS[i % len(COLOURS)]}})
        most = max(most, len(parts))
    layout = {
        "xaxis": {"title": {"text": "class"}, "type": "category"},
        "yaxis": {"title": {"text": title}, "range": scale, "rangemode": "tozero"},
        "barmode": "group",
        "bargap": max(0.2, 1 - 0.08 * most),  # few classes need no bars as wide as the page
        "showlegend": True,
    }
    return {"traces": traces, "layout": layout}
