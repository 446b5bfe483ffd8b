"""The picture of certified accuracy against radius, with a legend and footnotes."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from textwrap import wrap
from typing import Any

from rsbounds._numerics.decimals import truncated
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.extras import need
from rsbounds.certificate import EDITS, Norm
from rsbounds.reports._curves import PlottedCurve, curves
from rsbounds.reports._draw import (
    draw_curves,
    dress,
    new_axes,
    picture_path,
    save_figure,
)
from rsbounds.reports._maps import are_maps, draw_maps
from rsbounds.reports._table import as_files, with_accuracies
from rsbounds.reports._terms import marked, noted_by_name, setting
from rsbounds.results import Results

ALONE = 0.775  # of a figure's width, by matplotlib's defaults: its only axes
NARROW = 4.5  # inches: a narrower figure is one for a column of a paper


def plot(
    files: Sequence[Results],
    path: str | os.PathLike[str] | None = None,
    *,
    ax: Any = None,
    figsize: tuple[float, float] | None = None,
    labels: Sequence[str] | None = None,
    best: bool = True,
    truth: Any = None,
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
    truth : sequence of arrays, optional
        Of a file of maps, whose picture shows where the first ones are certified and
        where they abstain: the true maps, one for each input of the data, by which
        positions are wrong.

    Returns
    -------
    matplotlib axes
        With the curves in it; of maps an array of axes.

    Raises
    ------
    ImportError, OSError
        Without matplotlib; if the picture can't be written.
    ValueError
        When no file has a row, for a format matplotlib does not know, or an argument
        that is no list of Results or no path; for labels that are not as many as the
        files, or a size beside axes.
    """
    need("matplotlib", "a plot")
    files = as_files(files, rows=True)
    place = None if path is None else picture_path(path)
    if are_maps(files):
        return draw_maps(files[0], place, truth)
    if truth is not None:
        raise ArgumentError("truth", "goes with one file of the answer maps")
    files = with_accuracies(files)
    if ax is not None and figsize is not None:
        raise ArgumentError("figsize", "goes with a figure of its own, not with ax")
    is_own = ax is None
    if is_own:
        size = (7.0, 4.5) if figsize is None else figsize
        ax = new_axes(size, is_shown=place is None)
    figure = ax.get_figure()
    small = _width(ax) < NARROW
    names, footnotes = marked(files)
    legend = _legend(files, names, labels)
    if labels is not None:
        footnotes = noted_by_name(names, footnotes, legend)
    _draw(ax, curves(files, legend, best=best), small)
    if not small:
        ax.set_title(_title(files), fontsize="medium")
    if footnotes and is_own:
        _write_below(figure, footnotes, points=6 if small else 8)
    elif footnotes:
        text = f"a figure of these files must say: {'; '.join(footnotes)}"
        warnings.warn(text, stacklevel=2)
    if place is not None:
        save_figure(figure, place)
    return ax


def _draw(axes: Any, drawn: Sequence[PlottedCurve], small: bool) -> None:
    """The curves with their legend, in the type of a page or of a column."""
    size = 8 if small else None
    draw_curves(axes, drawn, thin=0.6 if small else 1.0)
    dress(axes, "radius", "certified accuracy", size)
    axes.set(xlim=(0, drawn[0].edges[-1]), ylim=(0, 1.02))
    axes.legend(frameon=False, fontsize=size)


def _write_below(figure: Any, footnotes: Sequence[str], points: int) -> None:
    """Footnotes below a figure, in type of so many points."""
    # at most so many letters a line: their width is about half of their size
    letters = int(figure.get_size_inches()[0] * 72 / (0.56 * points))
    lines = [line for note in footnotes for line in wrap(note, letters)]
    figure.supxlabel("\n".join(lines), fontsize=points, x=0.02, ha="left")


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
    norm = Norm.named(common.get("norm"))
    if norm is not None:
        title["norm"] = "edits" if norm == EDITS else "{}"
    return ", ".join(
        text.format(common[name]) for name, text in title.items() if name in common
    )


def _width(ax: Any) -> float:
    """Inches of a figure in which these axes would stand alone."""
    figure = ax.get_figure()  # or a part of one, which has no size in inches
    width = float(figure.bbox.width) / float(figure.dpi)
    return width * float(ax.get_position().width) / ALONE
