"""The charts of the HTML report as Plotly's traces and layouts: plain lists and numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from rsbounds._numerics.checks import Array
from rsbounds.certificate import ABSTAIN
from rsbounds.confidence import lower_bound, upper_bound
from rsbounds.results._compare import comparable
from rsbounds.results._results import Results
from rsbounds.results._text import truncated

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
LEVEL = 0.95  # of the intervals
DIGITS = 6  # of radii and p_A in the page

Chart = dict[str, Any]  # traces and layout
Named = Sequence[tuple[str, Results]]


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


def reach(files: Sequence[Results]) -> float:
    """Where the axis of radii ends."""
    finite = [row.radius for file in files for row in file.rows if math.isfinite(row.radius)]
    return min(1.05 * max(finite, default=0.0), 1e307) or 1.0


def curve(group: Sequence[Results], end: float) -> tuple[Array, Array]:
    """Radii where the best of the files steps, and its height from each to the one before."""
    held = [min(row.radius, end) for file in group for row in file.rows if row.correct]
    edges = np.unique([0.0, *held, end])
    best = np.max([file.certified_accuracy(edges) for file in group], axis=0)
    falls = np.flatnonzero(np.diff(best))
    kept = np.unique([0, *falls, *falls + 1, len(edges) - 1])
    return edges[kept], best[kept]


def charts(files: Sequence[Results], names: Sequence[str]) -> dict[str, Chart]:
    """Name of a place in the page -> its traces and layout."""
    shown = [(escape(name), file) for file, name in zip(files, names, strict=True) if file.rows]
    end = reach(files)
    radii = [(k, [min(r.radius, end) if r.correct else 0.0 for r in f.rows]) for k, f in shown]
    bounds = [(name, true_class(file)) for name, file in shown]
    return {
        "curves": _curves(shown, end),
        "outcomes": _outcomes(shown),
        "radius": _distribution(radii, end, "radius"),
        "p_a": _distribution(bounds, 1.0, "p_A"),
        "accuracy": _by_class(shown, "accuracy", lambda row: row.correct),
        "abstention": _by_class(shown, "abstention", lambda row: row.predict == ABSTAIN),
    }


def _curves(shown: Named, end: float) -> Chart:
    """A step curve for each file, and the best of comparable files at each radius."""
    drawn = [(name, [file], _colour(i), "solid") for i, (name, file) in enumerate(shown)]
    for i, (label, group) in enumerate(comparable([file for _, file in shown])):
        drawn.append((escape(label), group, "#000000", ("dash", "dot", "dashdot")[i % 3]))
    traces = []
    for name, group, colour, dash in drawn:
        x, y = curve(group, end)
        # between two steps it is as high as at the next: vertical first, then horizontal
        line = {"shape": "vh", "color": colour, "dash": dash, "width": 2}
        traces.append(_line([cut(float(r)) for r in x], _rounded(y), name, line))
    axis = {"title": {"text": "radius"}, "range": [0, end], "hoverformat": f".{DIGITS}~f"}
    layout = {"xaxis": axis, "yaxis": _share("certified accuracy"), **_legend(-0.18)}
    return {"traces": traces, "layout": layout}


def _outcomes(shown: Named) -> Chart:
    """A bar for each file: certified rightly, wrong, abstained."""
    counts = []
    for _, file in shown:
        right = sum(row.correct for row in file.rows)
        abstains = sum(row.predict == ABSTAIN for row in file.rows)
        counts.append((right, len(file.rows) - right - abstains, abstains))
    kinds = {"right": "#009E73", "wrong": "#D55E00", "abstains": "#BBBBBB"}
    traces = [
        {
            "type": "bar",
            "orientation": "h",
            "name": kind,
            "x": [count[i] / sum(count) for count in counts],
            "y": [name for name, _ in shown],
            "text": [str(count[i]) for count in counts],
            "marker": {"color": colour},
        }
        for i, (kind, colour) in enumerate(kinds.items())
    ]
    layout = {
        "barmode": "stack",
        "xaxis": {"title": {"text": "share of the inputs"}, "range": [0, 1]},
        "yaxis": {"automargin": True, "type": "category", "autorange": "reversed"},
    }
    return {"traces": traces, "layout": layout}


def _distribution(values: Sequence[tuple[str, list[float]]], end: float, title: str) -> Chart:
    """How many of the inputs lie in each of forty bins, as an outline for each file."""
    edges = np.linspace(0, end, 41)
    traces = []
    for i, (name, each) in enumerate(values):
        if each:
            share = np.histogram(each, edges)[0] / len(each)
            x, y = [float(f"{e:.6g}") for e in edges], _rounded([*share, share[-1]])
            trace = _line(x, y, name, {"shape": "hv", "color": _colour(i)})
            traces.append({**trace, "fill": "tozeroy", "opacity": 0.7})
    layout = {
        "xaxis": {"title": {"text": title}, "range": [0, end]},
        "yaxis": {"title": {"text": "share of the inputs"}, "rangemode": "tozero"},
        **_legend(-0.3),
    }
    return {"traces": traces, "layout": layout}


def _by_class(shown: Named, title: str, hit: Any) -> Chart:
    """A share of each class for each file, with its interval."""
    traces = []
    for i, (name, file) in enumerate(shown):
        parts = file.by_class()
        counts = [(sum(map(hit, part.rows)), len(part.rows)) for part in parts.values()]
        shares = [hits / size for hits, size in counts]
        ends = [interval(*count) for count in counts]
        error = {
            "type": "data",
            "symmetric": False,
            "array": [high - share for (_, high), share in zip(ends, shares, strict=True)],
            "arrayminus": [share - low for (low, _), share in zip(ends, shares, strict=True)],
        }
        error |= {"thickness": 1, "width": 2}
        trace = {"type": "bar", "name": name, "x": list(parts), "y": shares, "error_y": error}
        trace |= {"text": [f"{hits} of {size}" for hits, size in counts], "textposition": "none"}
        traces.append({**trace, "marker": {"color": _colour(i)}})
    axis = {"title": {"text": "class"}, "type": "category"}
    layout = {"xaxis": axis, "yaxis": _share(title), "barmode": "group", "showlegend": True}
    return {"traces": traces, "layout": layout}


def _line(x: list[float], y: list[float], name: str, line: dict[str, Any]) -> dict[str, Any]:
    return {"type": "scatter", "mode": "lines", "x": x, "y": y, "name": name, "line": line}


def _rounded(shares: Any) -> list[float]:
    return [round(float(share), DIGITS) for share in shares]


def _share(title: str) -> dict[str, Any]:
    return {"title": {"text": title}, "range": [0, 1.02]}


def _legend(y: float) -> dict[str, Any]:
    return {"legend": {"orientation": "h", "y": y}, "showlegend": True}


def _colour(i: int) -> str:
    return COLOURS[i % len(COLOURS)]
