"""Charts of a page as SVG and HTML: small, without a library, readable at any width.

The drawing is stretched to the page; what is written stands beside it, in the page's
type. The script of the page reads values off the drawing where the pointer is.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from html import escape
from typing import NamedTuple

import numpy as np

from rsbounds._numerics.decimals import round_radii, short
from rsbounds._numerics.text import shown
from rsbounds.certificate import ABSTAIN
from rsbounds.results._card import share_of
from rsbounds.results._plot import COLOURS, Curve, curves, steps
from rsbounds.results._results import Results
from rsbounds.results._row import Row

SIZE = 1000  # of a drawing, in its own units
MOST_LABELS = 20  # of classes below an axis
_DASHES = {"solid": "none", "dash": "7 4", "dot": "2 3", "dashdot": "7 3 2 3"}


class Bars(NamedTuple):
    """A share of each class and the interval about it; NaN where a run has none."""

    name: str
    shares: Sequence[float]
    lows: Sequence[float]
    highs: Sequence[float]
    colour: str


class Chart(NamedTuple):
    """Step curves over a number, or bars over classes.

    Heights are shares; with ``reach`` they are differences, from -reach to reach.
    """

    title: str
    across: str  # what the horizontal axis is
    curves: Sequence[Curve] = ()
    bars: Sequence[Bars] = ()
    classes: Sequence[str] = ()
    reach: float | None = None


def charts(files: Sequence[Results], names: Sequence[str]) -> dict[str, Chart]:
    """Name of a place in the page -> the chart that stands there."""
    each = zip(names, files, strict=True)
    bounds = [(name, [p_a]) for name, own in each if (p_a := own.p_a())]
    drawn = {
        "curves": Chart(
            title="Certified accuracy over the radius",
            across="radius",
            curves=curves(files, names),
        ),
        "p_a": Chart(
            title="Share of inputs whose p_A is at least so large",
            across="p_A",
            curves=steps(bounds, 1.0),
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
    classes = sorted({label for own in parts for label in own})
    bars = []
    for i, (name, own) in enumerate(zip(names, parts, strict=True)):
        each = []
        for label in classes:
            rows = own[label].rows if label in own else ()
            held = sum(map(hit, rows))
            each.append(share_of(held, len(rows)) if rows else (math.nan,) * 3)
        shares, lows, highs = np.reshape(each, (-1, 3)).T.tolist()
        bars.append(Bars(name, shares, lows, highs, COLOURS[i % len(COLOURS)]))
    return Chart(
        title=f"{what} by class",
        across="class",
        bars=bars,
        classes=list(map(str, classes)),
    )


def drawing(place: str, chart: Chart) -> str:
    """Draw a chart as HTML; names of strangers are escaped."""
    if chart.curves:
        end = float(chart.curves[0].edges[-1])
        series = [_curve(_raised(curve, chart.reach), end) for curve in chart.curves]
        entries = [_entry(curve.name, _look(curve)) for curve in chart.curves]
        labels = [(radius / end, short(radius)) for radius in round_radii(end)]
        axis = f'data-end="{end!r}"'
        if chart.reach is not None:
            axis += f' data-reach="{chart.reach!r}"'
    else:
        series = [_bars(bars, i, len(chart.bars)) for i, bars in enumerate(chart.bars)]
        entries = [
            _entry(bars.name, f'stroke="{bars.colour}" stroke-width="9"')
            for bars in chart.bars
        ]
        labels = _class_labels(chart.classes)
        axis = f'data-classes="{" ".join(chart.classes)}"'
    numbered = [f'<g data-series="{i}">{own}</g>' for i, own in enumerate(series)]
    if chart.curves:
        # the best of runs lies below the runs that it consists of
        pale = [curve.is_best for curve in chart.curves]
        numbered = [
            numbered[i] for i in np.argsort(np.logical_not(pale), kind="stable")
        ]
    heights = _heights(chart.reach)
    shares = list(heights)
    grid = "".join(f"M0 {_number(SIZE * share)}H{SIZE}" for share in shares)
    written = [_label("y", "top", 1 - share, text) for share, text in heights.items()]
    written += [_label("x", "left", share, text) for share, text in labels]
    view = f'viewBox="0 0 {SIZE} {SIZE}" preserveAspectRatio="none"'
    lines = [
        f'<figure class="chart" id="{place}" {axis}>',
        f"<figcaption>{escape(chart.title)}</figcaption>",
        f'<div class="plot"><svg {view} role="img" aria-label="{escape(chart.title)}">',
        f'<path class="grid" d="{grid}"/>',
        *numbered,
        f"</svg><i></i>{''.join(written)}</div>",
        f"<p>{escape(chart.across)} <output></output></p>",
        f"<ul>{''.join(entries)}</ul></figure>",
    ]
    return "\n".join(lines)


def _heights(reach: float | None) -> dict[float, str]:
    """Where the vertical axis has labels, as shares of it, and what they say."""
    if reach is None:
        return {0.2 * k: f"{0.2 * k:.1f}" for k in range(6)}
    return {0.25 * k: f"{(0.5 * k - 1) * reach:.3g}" for k in range(5)}


def _raised(curve: Curve, reach: float | None) -> Curve:
    """A curve of differences with its heights as shares of the axis."""
    if reach is None:
        return curve
    low, high = curve.band or (curve.heights, curve.heights)
    heights, low, high = ((own / reach + 1) / 2 for own in (curve.heights, low, high))
    return curve._replace(heights=heights, band=(low, high))


def _number(value: float) -> str:
    """A coordinate in few digits."""
    return f"{value:.3f}".rstrip("0").rstrip(".")


def _across(share: float) -> str:
    """A place on the horizontal axis, cut off: a radius is never rounded up."""
    return _number(math.floor(share * SIZE * 1000) / 1000)


def _up(share: float) -> str:
    """A place on the vertical axis, on which drawings count downwards."""
    return _number(SIZE * (1 - share))


def _curve(curve: Curve, end: float) -> str:
    """A step curve: vertical first, then horizontal."""
    edges = (curve.edges / end).tolist()
    first, *rest = zip(edges, curve.heights.tolist(), strict=True)
    steps = "".join(f"V{_up(height)}H{_across(edge)}" for edge, height in rest)
    path = f"M{_across(first[0])} {_up(first[1])}{steps}"
    drawn = f'<path class="line" d="{path}" {_look(curve)}/>'
    if curve.band is None:
        return drawn
    low, high = (_outline(edges, ends.tolist()) for ends in curve.band)
    area = "L".join(f"{x} {y}" for x, y in [*high, *reversed(low)])
    return f'<path d="M{area}Z" fill="{curve.colour}" fill-opacity=".15"/>{drawn}'


def _outline(edges: Sequence[float], heights: Sequence[float]) -> list[tuple[int, int]]:
    """The corners of a step curve to the eye's precision, each once."""
    corners: dict[tuple[int, int], None] = {}
    before = edges[0]
    for edge, height in zip(edges, heights, strict=True):
        y = round(SIZE * (1 - height))
        for x in (before, edge):
            corners.setdefault((round(SIZE * x), y))
        before = edge
    return list(corners)


def _bars(bars: Bars, place: int, count: int) -> str:
    """Bars of one run among ``count``, with their intervals."""
    group = SIZE / len(bars.shares)
    width = 0.8 * group / count
    areas, lines, texts = [], [], []
    each = zip(bars.shares, bars.lows, bars.highs, strict=True)
    for i, (share, low, high) in enumerate(each):
        if math.isnan(share):
            texts.append("-")
            continue
        left = (i + 0.1) * group + place * width
        right, middle = _number(left + width), _number(left + width / 2)
        areas.append(f"M{_number(left)} {SIZE}V{_up(share)}H{right}V{SIZE}Z")
        lines.append(f"M{middle} {_up(low)}V{_up(high)}")
        texts.append(f"{share:.3f} ({low:.3f}\N{EN DASH}{high:.3f})")
    return (
        f'<path d="{"".join(areas)}" fill="{bars.colour}" fill-opacity=".75"/>'
        f'<path class="line" d="{"".join(lines)}" stroke="#222" '
        f'data-values="{";".join(texts)}"/>'
    )


def _look(curve: Curve) -> str:
    """The best of runs is a wide pale band."""
    colour = f'stroke="{curve.colour}"'
    if curve.is_best:
        return f'{colour} stroke-width="6" stroke-opacity=".25"'
    width, dash = _number(curve.width), _DASHES[curve.dash]
    return f'{colour} stroke-width="{width}" stroke-dasharray="{dash}"'


def _entry(name: str, look: str) -> str:
    """A line of the legend; its box shows and hides what it stands for."""
    line = f'<path d="M0 5H28" {look}/>'
    return (
        f'<li><label><input type="checkbox" checked><svg class="key" width="28" '
        f'height="10">{line}</svg> {escape(shown(name))}</label> <output></output></li>'
    )


def _class_labels(classes: Sequence[str]) -> list[tuple[float, str]]:
    """Where class labels stand, so many as are legible."""
    every = -(-len(classes) // MOST_LABELS)
    places = range(0, len(classes), every)
    return [((i + 0.5) / len(classes), classes[i]) for i in places]


def _label(kind: str, side: str, share: float, text: str) -> str:
    place = _number(100 * share)
    return f'<span class="{kind}" style="{side}:{place}%">{escape(text)}</span>'
