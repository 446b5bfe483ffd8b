"""The charts of a page: certified accuracy, p_A, and shares of each class."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from rsbounds.certificate import ABSTAIN
from rsbounds.reports._card import share_of
from rsbounds.reports._curves import COLOURS, Sample, coarse, curves, steps
from rsbounds.reports._draw import Bars, Chart
from rsbounds.results import Results, Row


def charts(files: Sequence[Results], names: Sequence[str]) -> dict[str, Chart]:
    """Name of a place in the page -> the chart that stands there."""
    known = zip(names, (file.p_a() for file in files), strict=True)
    bounds = [(name, [Sample(np.sort(p_a), len(p_a))]) for name, p_a in known if p_a]
    drawn = {
        "curves": Chart(
            title="Certified accuracy over the radius",
            across="radius",
            up="certified accuracy",
            curves=list(map(coarse, curves(files, names))),
        ),
        "p_a": Chart(
            title="Share of inputs whose p_A is at least so large",
            across="p_A",
            up="share of inputs",
            curves=list(map(coarse, steps(bounds, 1.0))),
        ),
        "accuracy": _by_class(files, names, "Accuracy", lambda row: row.correct),
        "abstention": _by_class(
            [_sampled(file) for file in files],
            names,
            "Abstention",
            lambda row: row.predict == ABSTAIN,
        ),
    }
    return {
        place: chart for place, chart in drawn.items() if chart.curves or chart.classes
    }


def _sampled(file: Results) -> Results:
    """The rows whose inputs were sampled, whatever class was selected."""
    rows = tuple(row for row in file.rows if not row.is_left_out)
    return replace(file, rows=rows)


def _by_class(
    files: Sequence[Results],
    names: Sequence[str],
    what: str,
    hit: Callable[[Row], bool],
) -> Chart:
    """A share of each class for each file, with its interval."""
    parts = [file.by_class() for file in files]
    classes = sorted({label for by_label in parts for label in by_label})
    bars = []
    for i, (name, by_label) in enumerate(zip(names, parts, strict=True)):
        intervals = []
        for label in classes:
            rows = by_label[label].rows if label in by_label else ()
            hits = sum(map(hit, rows))
            intervals.append(share_of(hits, len(rows)) if rows else (math.nan,) * 3)
        shares, lows, highs = np.reshape(intervals, (-1, 3)).T.tolist()
        bars.append(Bars(name, shares, lows, highs, COLOURS[i % len(COLOURS)]))
    return Chart(
        title=f"{what} by class",
        across="class",
        up="share of the class",
        bars=bars,
        classes=list(map(str, classes)),
    )
