"""Certified accuracy against radius: exact step curves of files, and their picture."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any, NamedTuple

import numpy as np

from rsbounds._numerics.checks import Array
from rsbounds._numerics.decimals import truncated
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.extras import need
from rsbounds._numerics.files import as_path, replace_file, require_writable
from rsbounds.certificate import EDIT, is_named_norm
from rsbounds.confidence import lower_bound, upper_bound
from rsbounds.results._results import Results
from rsbounds.results._table import as_files, with_accuracies
from rsbounds.results._terms import comparable, marked, noted_by_name, setting

PICTURE = b"Drawn by rsbounds report"  # in a picture that may be replaced
_ENTRIES = {"png": "Software", "pdf": "Creator", "svg": "Creator"}
ALONE = 0.775  # of a figure's width, by matplotlib's defaults: its only axes
NARROW = 4.5  # inches: a narrower figure is one for a column of a paper
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
#: Names of dashes, and what matplotlib draws for them.
DASHES = {"solid": "-", "dash": "--", "dot": ":", "dashdot": "-."}


class Curve(NamedTuple):
    """A step curve: between two edges it is as high as at the later one."""

    name: str
    edges: Array
    heights: Array
    colour: str
    dash: str
    width: float
    is_best: bool = False  # of several runs, drawn below them, wide and pale
    band: tuple[Array, Array] | None = None  # ends of the interval about each height


def curves(
    files: Sequence[Results], names: Sequence[str], *, best: bool = True
) -> list[Curve]:
    """Certified accuracy of each file, and the best of comparable ones.

    A run alone has its interval of 95 % at each radius (Clopper and Pearson's).
    """
    largest = max((file.counted.largest for file in files), default=0.0)
    end = min(1.05 * largest, 1e307) or 1.0
    # a row that is not correct holds nowhere
    radii = [
        [
            *file.counted.radii.tolist(),
            *[-1.0] * (len(file.rows) - len(file.counted.radii)),
        ]
        for file in files
    ]
    own = {id(file): values for file, values in zip(files, radii, strict=True)}
    shown = [
        (name, [values]) for name, values in zip(names, radii, strict=True) if values
    ]
    drawn = steps(shown, end)
    if len(drawn) == 1:
        drawn = [_with_band(drawn[0], len(shown[0][1][0]))]
    if not best:
        return drawn
    groups = [
        (label, [own[id(file)] for file in group]) for label, group in comparable(files)
    ]
    bests = steps(groups, end, ("#000000",), first=4)
    return drawn + [curve._replace(is_best=True) for curve in bests]


def _with_band(curve: Curve, n: int) -> Curve:
    """A curve of ``n`` inputs with the interval about each of its heights."""
    held = np.rint(curve.heights * n)
    tail = 0.025
    band = lower_bound(held, n, tail), upper_bound(held, n, tail)
    return curve._replace(band=band)


def steps(
    shown: Sequence[tuple[str, Sequence[Sequence[float]]]],
    end: float,
    colours: Sequence[str] = COLOURS,
    first: int = 0,
) -> list[Curve]:
    """The largest share of some values that reach an edge, wherever that share steps.

    Each curve is thinner than those below it and has gaps, so that curves that coincide
    are seen.
    """
    drawn = []
    for i, (name, values) in enumerate(shown, start=first):
        edges = np.unique(
            [0.0, end, *(min(v, end) for own in values for v in own if v >= 0)]
        )
        held = [
            (len(own) - np.searchsorted(np.sort(own), edges)) / len(own)
            for own in values
        ]
        best = np.max(held, axis=0)
        falls = np.flatnonzero(np.diff(best))
        kept = np.unique([0, *falls, *falls + 1, len(edges) - 1])
        colour, dash = colours[i % len(colours)], list(DASHES)[i % len(DASHES)]
        drawn.append(
            Curve(name, edges[kept], best[kept], colour, dash, max(3.0 - 0.4 * i, 1.2))
        )
    return drawn


def plot(
    files: Sequence[Results],
    path: str | os.PathLike[str] | None = None,
    *,
    ax: Any = None,
    figsize: tuple[float, float] | None = None,
    labels: Sequence[str] | None = None,
    best: bool = True,
) -> Any:
    """Draw certified accuracy against radius, one exact step curve for each file.

    Where runs at several noise levels can be compared, their best at each radius too,
    drawn below the runs; about a run alone the interval of 95 % of each height
    (Clopper and Pearson's, for inputs drawn at random from many). The title has what
    all files share of norm, sigma, n and alpha.

    Parameters
    ----------
    files : list of Results
    path : path-like, optional
        The picture; its ending chooses the format (png, pdf, svg).
    ax : matplotlib axes, optional
        Where to draw; by default in a figure of its own, below which footnotes
        stand: on axes that are given they are a warning. Without a path it is a figure
        of pyplot, which a notebook shows. Axes of a column's width are
        drawn as such a figure.
    figsize : (float, float), optional
        Width and height of that figure in inches, (7, 4.5) by default. Below 4.5 in
        width it is one for a column of a paper: smaller type, no title.
    labels : sequence of str, optional
        What the legend calls the files; by default their names with their average
        radii. Footnotes then begin with the labels that they are about.
    best : bool
        Whether the best of comparable runs is drawn.

    Returns
    -------
    matplotlib axes
        With the curves in it.

    Raises
    ------
    ImportError, OSError
        Without matplotlib; if the picture can't be written.
    ValueError
        When no file has a row, for a format matplotlib does not know, or an argument
        that is no list of Results or no path; for labels that are not as many as the
        files, or a size beside axes.
    """
    matplotlib = need("matplotlib.figure", "a plot")
    files = as_files(files, rows=True)
    place = None if path is None else picture_path(path)
    files = with_accuracies(files)
    if ax is not None and figsize is not None:
        raise ArgumentError("figsize", "goes with a figure of its own, not with ax")
    is_own = ax is None
    if is_own:
        size = (7.0, 4.5) if figsize is None else figsize
        make = matplotlib.Figure
        if place is None:  # nobody would see it: notebooks show those of pyplot
            make = need("matplotlib.pyplot", "a plot").figure
        figure = make(figsize=size, layout="constrained")
        ax = figure.add_subplot()
    figure = ax.get_figure()
    small = _width(ax) < NARROW
    names, footnotes = marked(files)
    legend = _legend(files, names, labels)
    if labels is not None:
        footnotes = noted_by_name(names, footnotes, legend)
    drawn = curves(files, legend, best=best)
    _draw(ax, drawn, small)
    if not small:
        ax.set_title(_title(files), fontsize="medium")
    if footnotes and is_own:
        points = 6 if small else 8
        # at most so many letters a line: their width is about half of their size
        letters = int(figure.get_size_inches()[0] * 72 / (0.56 * points))
        lines = [line for note in footnotes for line in wrap(note, letters)]
        figure.supxlabel("\n".join(lines), fontsize=points, x=0.02, ha="left")
    elif footnotes:
        text = f"a figure of these files must say: {'; '.join(footnotes)}"
        warnings.warn(text, stacklevel=2)
    if place is not None:
        save_figure(figure, place)
    return ax


def picture_path(path: str | os.PathLike[str]) -> Path:
    place = as_path("path", path)
    place = place if place.suffix else place.with_suffix(".png")
    require_writable(place, PICTURE)
    return place


def _legend(
    files: Sequence[Results], names: Sequence[str], labels: Sequence[str] | None
) -> list[str]:
    """What the legend calls the files."""
    if labels is None:
        return [
            f"{name} (average {truncated(file.average_radius(), 3)})"
            for file, name in zip(files, names, strict=True)
        ]
    several = isinstance(labels, list | tuple)
    if not several or len(labels) != len(files):
        raise ArgumentError(
            "labels", f"must be a list of {len(files)}, one for each file; got {labels}"
        )
    return list(map(str, labels))


def _title(files: Sequence[Results]) -> str:
    """What all files share of norm, sigma, n and alpha."""
    common = setting(files)
    title = {
        "norm": "l{} norm",
        "sigma": "sigma = {}",
        "n": "n = {}",
        "alpha": "alpha = {}",
    }
    if common.get("norm") == EDIT:
        title["norm"] = "edits"
    elif is_named_norm(common.get("norm")):
        title["norm"] = "{}"
    return ", ".join(
        text.format(common[name]) for name, text in title.items() if name in common
    )


def _width(ax: Any) -> float:
    """Inches of a figure in which these axes would stand alone."""
    figure = ax.get_figure()  # or a part of one, which has no size in inches
    width = float(figure.bbox.width) / float(figure.dpi)
    return width * float(ax.get_position().width) / ALONE


def _draw(axes: Any, drawn: Sequence[Curve], small: bool) -> None:
    """The curves, those of the runs above the best of them."""
    thin = 0.6 if small else 1.0
    for place, curve in enumerate(drawn):
        if curve.band is not None:
            low, high = curve.band
            axes.fill_between(
                curve.edges,
                low,
                high,
                step="pre",
                color=curve.colour,
                alpha=0.15,
                lw=0,
                zorder=1,
            )
        axes.stairs(
            curve.heights[1:],
            curve.edges,
            baseline=None,
            label=curve.name,
            color=curve.colour,
            ls=DASHES[curve.dash],
            # a wide pale band below the runs that it consists of
            lw=(5.0 if curve.is_best else curve.width) * thin,
            alpha=0.25 if curve.is_best else 1.0,
            zorder=2 if curve.is_best else 3 + 0.01 * place,
        )
        if not curve.is_best and curve.heights[0] > curve.heights[1]:
            # at exactly 0: where radii are whole numbers many are 0, and the step that
            # ends at 1 is lower
            axes.plot(
                curve.edges[0],
                curve.heights[0],
                marker="o",
                markersize=4 * thin,
                color=curve.colour,
                clip_on=False,
                zorder=4,
            )
    axes.set(
        xlabel="radius",
        ylabel="certified accuracy",
        xlim=(0, drawn[0].edges[-1]),
        ylim=(0, 1.02),
    )
    size = 8 if small else None
    axes.xaxis.label.set_fontsize(size)
    axes.yaxis.label.set_fontsize(size)
    axes.tick_params(labelsize=size)
    axes.grid(color="0.9")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=size)


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
