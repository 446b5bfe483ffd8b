"""The one drawing of curves and bars: on axes of matplotlib, and as SVG for a page."""

from __future__ import annotations

import io
import math
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rsbounds._numerics.extras import need
from rsbounds._numerics.files import as_path, replace_file, require_writable
from rsbounds.reports._curves import DASHES, PlottedCurve

PICTURE = b"Drawn by rsbounds report"  # in a picture that may be replaced
_ENTRIES = {"png": "Software", "pdf": "Creator", "svg": "Creator"}
_MOST_LABELS = 20  # of classes below an axis
_MOST_BARS = 100  # of one run: intervals of more are not told apart


class Bars(NamedTuple):
    """A share of each class and the interval about it; NaN where a run has none."""

    name: str
    shares: Sequence[float]
    lows: Sequence[float]
    highs: Sequence[float]
    colour: str


class Chart(NamedTuple):
    """Step curves over a number, or bars over classes.

    Heights are shares, and differences of shares where ``is_difference``.
    """

    title: str
    across: str  # what the horizontal axis is
    up: str  # what the vertical axis is
    curves: Sequence[PlottedCurve] = ()
    bars: Sequence[Bars] = ()
    classes: Sequence[str] = ()
    is_difference: bool = False


def new_axes(size: tuple[float, float], *, is_shown: bool) -> Any:
    """Axes that fill a figure; one of pyplot if it ``is_shown``, as notebooks do."""
    matplotlib = need("matplotlib.figure", "a plot")
    make = need("matplotlib.pyplot", "a plot").figure if is_shown else matplotlib.Figure
    return make(figsize=size, layout="constrained").add_subplot()


def draw_curves(
    axes: Any, drawn: Sequence[PlottedCurve], *, thin: float = 1.0, place: str = ""
) -> None:
    """The curves, those of the runs above the best of them.

    What belongs to curve i has an id that begins with ``place-i-``.
    """
    for i, curve in enumerate(drawn):
        parts = []
        if curve.band is not None:
            low, high = curve.band
            look = {"color": curve.colour, "alpha": 0.15, "lw": 0, "zorder": 1}
            parts.append(axes.fill_between(curve.edges, low, high, step="pre", **look))
        stairs = axes.stairs(
            curve.heights[1:],
            curve.edges,
            baseline=None,
            label=curve.name,
            color=curve.colour,
            ls=DASHES[curve.dash],
            # a wide pale band below the runs that it consists of
            lw=(5.0 if curve.is_best else curve.width) * thin,
            alpha=0.25 if curve.is_best else 1.0,
            zorder=2 if curve.is_best else 3 + 0.01 * i,
        )
        parts.append(stairs)
        if not curve.is_best and curve.heights[0] != curve.heights[1]:
            # at exactly 0: where radii are whole numbers many are 0, and the step that
            # ends at 1 is lower
            look = {"color": curve.colour, "marker": "o", "markersize": 4 * thin}
            at_zero = curve.edges[0], curve.heights[0]
            parts += axes.plot(*at_zero, clip_on=False, zorder=4, **look)
        for k, part in enumerate(parts):
            part.set_gid(f"{place}-{i}-{k}" if place else None)


def dress(axes: Any, across: str, up: str, size: float | None = None) -> None:
    """The names of axes and their grid, in type of this size or the default one."""
    axes.set_xlabel(across, fontsize=size)
    axes.set_ylabel(up, fontsize=size)
    axes.tick_params(labelsize=size)
    axes.grid(color="0.9")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def svg_of(chart: Chart, place: str) -> str:
    """A chart as SVG for a page, whose type follows the page's.

    It holds no text of strangers: names stand in the page, beside it.
    """
    matplotlib = need("matplotlib", "a page")
    settings = {
        "svg.fonttype": "none",
        "svg.hashsalt": place,  # ids of two charts in a page differ
        "font.sans-serif": ["DejaVu Sans", "sans-serif"],
    }
    with matplotlib.rc_context(settings):
        axes = new_axes((4.4, 3.0), is_shown=False)
        dress(axes, chart.across, chart.up, 9)
        if chart.curves:
            draw_curves(axes, chart.curves, thin=0.6, place=place)
            axes.set_xlim(0, max(float(curve.edges[-1]) for curve in chart.curves))
        else:
            _draw_bars(axes, chart, place)
        if chart.is_difference:
            axes.axhline(0, color="0.3", lw=0.8)
        else:
            axes.set_ylim(0, 1.02)
        text = io.StringIO()
        entries = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        axes.get_figure().savefig(text, format="svg", metadata=entries)
    return _embedded(text.getvalue())


def _embedded(svg: str) -> str:
    """The SVG within HTML: as wide as its place, with the ids that something needs."""
    body = svg[svg.index("<svg") :]
    body = re.sub(r' (?:width|height)="[\d.]+pt"', "", body, count=2)
    needed = set(re.findall(r"#([\w-]+)", body))

    def id_if_needed(match: re.Match[str]) -> str:
        is_needed = match[1] in needed or re.search(r"-\d+-\d+$", match[1])
        return match[0] if is_needed else ""

    body = re.sub(r' id="([^"]*)"', id_if_needed, body)
    body = re.sub(r' transform="rotate\(-0 [^"]*"', "", body)
    body = re.sub(r"(\.\d\d\d)\d+", r"\1", body)  # of a point: finer than is seen
    return re.sub(r"\s*\n\s*", "\n", body)


def _draw_bars(axes: Any, chart: Chart, place: str) -> None:
    """Bars of each class, one for each run, with their intervals.

    Of many classes an outline alone.
    """
    count = len(chart.classes)
    for i, bars in enumerate(chart.bars):
        if count > _MOST_BARS:
            edges = np.arange(count + 1) - 0.5
            parts = [axes.stairs(bars.shares, edges, color=bars.colour, lw=0.6)]
        else:
            width = 0.8 / len(chart.bars)
            at = np.arange(count) - 0.4 + width * (i + 0.5)
            look = {"width": width, "color": bars.colour, "alpha": 0.75}
            parts = list(axes.bar(at, bars.shares, **look))
            parts.append(axes.vlines(at, bars.lows, bars.highs, color="0.13", lw=0.8))
        for k, part in enumerate(parts):
            part.set_gid(f"{place}-{i}-{k}")
    every = math.ceil(count / _MOST_LABELS)
    axes.set_xticks(range(0, count, every), chart.classes[::every])
    axes.set_xlim(-0.5, count - 0.5)


def picture_path(path: str | os.PathLike[str]) -> Path:
    """Where a picture is written; ValueError where another file lies."""
    place = as_path("path", path)
    place = place if place.suffix else place.with_suffix(".png")
    require_writable(place, PICTURE)
    return place


def save_figure(figure: Any, place: Path) -> None:
    """Write a figure, marked as one that may be replaced."""
    kind = place.suffix.removeprefix(".").lower()
    entry = _ENTRIES.get(kind)
    picture = io.BytesIO()
    figure.savefig(
        picture,
        format=kind,
        dpi=150,
        metadata={entry: PICTURE.decode()} if entry else None,
    )
    replace_file(place, picture.getvalue())
