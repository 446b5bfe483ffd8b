"""The charts of the HTML report as Plotly's traces and layouts: plain lists and numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

from rsbounds.certificate import ABSTAIN
from rsbounds.confidence import lower_bound, upper_bound
from rsbounds.results._plot import _COLOURS as COLOURS
from rsbounds.results._results import Results
from rsbounds.results._terms import comparable
from rsbounds.results._text import truncated

Trace = dict[str, Any]
LEVEL = 0.95  # of the intervals
DIGITS = 6  # of radii and p_A in the page


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
    known = [row for row in file.rows if not math.isnan(row.p_a)]
    return [row.p_a if row.correct else 0.0 for row in known]


def charts(files: Sequence[Results], names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Name of a place in the page -> its traces and layout."""
    shown = [(file, escape(name)) for file, name in zip(files, names, strict=True) if file.rows]
    finite = [row.radius for file, _ in shown for row in file.rows if math.isfinite(row.radius)]
    end = min(1.05 * max(finite, default=0.0), 1e307) or 1.0
    radii = [[min(r.radius, end) if r.correct else 0.0 for r in f.rows] for f, _ in shown]
    labels = [name for _, name in shown]
    return {
        "curves": _curves(shown, end),
        "outcomes": _outcomes(shown),
        "radius": _distribution(radii, labels, end, "radius"),
        "p_a": _distribution([true_class(f) for f, _ in shown], labels, 1.0, "p_A"),
        "accuracy": _by_class(shown, "accuracy", abstained=False),
        "abstention": _by_class(shown, "abstention", abstained=True),
    }


def _curves(shown: Sequence[tuple[Results, str]], end: float) -> dict[str, Any]:
    """A step curve for each file, and the best of comparable files at each radius."""
    traces = []
    for i, (file, name) in enumerate(shown):
        traces.append(_steps(*_curve([file], end), name, colour=_colour(i), dash="solid"))
    for i, (method, said, group) in enumerate(comparable([file for file, _ in shown])):
        parts = (f"best of {len(group)} runs", escape(method), escape(said))
        label = ", ".join(filter(None, parts))
        dash = ("dash", "dot", "dashdot")[i % 3]
        traces.append(_steps(*_curve(group, end), label, colour="#000000", dash=dash))
    layout = {
        "xaxis": {"title": {"text": "radius"}, "range": [0, end], "hoverformat": f".{DIGITS}~f"},
        "yaxis": {"title": {"text": "certified accuracy"}, "range": [0, 1.02]},
        "legend": {"orientation": "h", "y": -0.18},
        "showlegend": True,
    }
    return {"traces": traces, "layout": layout}


def _curve(group: Sequence[Results], end: float) -> tuple[list[float], list[float]]:
    """Where the best of the files steps, and how high it stands from there to the last step."""
    held = [min(r.radius, end) for file in group for r in file.rows if r.correct]
    edges = np.unique([0.0, *held, end])
    best = np.max([file.certified_accuracy(edges) for file in group], axis=0)
    inner = np.flatnonzero(np.diff(best)) + 1  # a step where it falls, and both ends
    kept = np.unique([0, *inner - 1, len(edges) - 1])
    return [cut(float(x)) for x in edges[kept]], [round(float(y), DIGITS) for y in best[kept]]


def _steps(x: list[float], y: list[float], name: str, *, colour: str, dash: str) -> Trace:
    # between two steps it is as high as at the next: vertical first, then horizontal
    line = {"shape": "vh", "color": colour, "dash": dash, "width": 2}
    return {"type": "scatter", "mode": "lines", "x": x, "y": y, "name": name, "line": line}


def _outcomes(shown: Sequence[tuple[Results, str]]) -> dict[str, Any]:
    """A bar for each file: certified rightly, wrong, abstained."""
    kinds = {"right": "#009E73", "wrong": "#D55E00", "abstains": "#BBBBBB"}
    counts = []
    for file, _ in shown:
        right = sum(row.correct for row in file.rows)
        abstains = sum(row.predict == ABSTAIN for row in file.rows)
        counts.append((right, len(file.rows) - right - abstains, abstains))
    traces = [
        {
            "type": "bar",
            "orientation": "h",
            "name": kind,
            "x": [count[i] / sum(count) for count in counts],
            "y": [name for _, name in shown],
            "text": [str(count[i]) for count in counts],
            "marker": {"color": colour},
        }
        for i, (kind, colour) in enumerate(kinds.items())
    ]
    axis = {"title": {"text": "share of the inputs"}, "range": [0, 1]}
    layout = {
        "barmode": "stack",
        "xaxis": axis,
        "yaxis": {"automargin": True, "type": "category", "autorange": "reversed"},
    }
    return {"traces": traces, "layout": layout}


def _distribution(
    values: Iterable[Sequence[float]], names: Sequence[str], end: float, title: str
) -> dict[str, Any]:
    """How many of the inputs lie in each of forty bins, as an outline for each file."""
    edges = np.linspace(0, end, 41)
    traces = []
    for i, (each, name) in enumerate(zip(values, names, strict=True)):
        if not each:
            continue
        share = np.histogram(each, edges)[0] / len(each)
        line = {"shape": "hv", "color": _colour(i)}
        x = [float(f"{e:.6g}") for e in edges]
        y = [round(float(s), DIGITS) for s in [*share, share[-1]]]
        trace = {"x": x, "y": y, "name": name, "line": line, "fill": "tozeroy", "opacity": 0.7}
        traces.append({"type": "scatter", "mode": "lines", **trace})
    layout = {
        "xaxis": {"title": {"text": title}, "range": [0, end]},
        "yaxis": {"title": {"text": "share of the inputs"}, "rangemode": "tozero"},
        "legend": {"orientation": "h", "y": -0.3},
        "showlegend": True,
    }
    return {"traces": traces, "layout": layout}


def _by_class(
    shown: Sequence[tuple[Results, str]], title: str, *, abstained: bool
) -> dict[str, Any]:
    """A share of each class for each file, with its interval."""
    traces = []
    for i, (file, name) in enumerate(shown):
        parts = file.by_class()
        hits = [
            sum(row.predict == ABSTAIN if abstained else row.correct for row in part.rows)
            for part in parts.values()
        ]
        sizes = [len(part.rows) for part in parts.values()]
        shares = [hit / size for hit, size in zip(hits, sizes, strict=True)]
        ends = [interval(hit, size) for hit, size in zip(hits, sizes, strict=True)]
        above = [high - share for (_, high), share in zip(ends, shares, strict=True)]
        below = [share - low for (low, _), share in zip(ends, shares, strict=True)]
        error = {"type": "data", "symmetric": False, "array": above, "arrayminus": below}
        trace = {
            "x": list(parts),
            "y": shares,
            "name": name,
            "text": [f"{hit} of {size}" for hit, size in zip(hits, sizes, strict=True)],
            "textposition": "none",
            "error_y": {**error, "thickness": 1, "width": 2},
            "marker": {"color": _colour(i)},
        }
        traces.append({"type": "bar", **trace})
    layout = {
        "xaxis": {"title": {"text": "class"}, "type": "category"},
        "yaxis": {"title": {"text": title}, "range": [0, 1.02]},
        "barmode": "group",
        "showlegend": True,
    }
    return {"traces": traces, "layout": layout}


def _colour(i: int) -> str:
    return COLOURS[i % len(COLOURS)]
