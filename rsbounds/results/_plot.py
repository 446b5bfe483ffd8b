"""Curves of certified accuracy against radius."""

from __future__ import annotations

import os
from collections.abc import Sequence

from rsbounds._numerics.extras import need
from rsbounds.results._charts import DASHES, curves, reach
from rsbounds.results._compare import as_files, marked, setting
from rsbounds.results._results import Results
from rsbounds.results._text import as_path, naming, truncated

_GAPS = ((), (4, 2), (1, 1.4), (5, 1.5, 1, 1.5), (9, 3), (9, 2, 1, 2))
_LINES = dict(zip(DASHES, ("-", *((0, gaps) for gaps in _GAPS[1:])), strict=True))


def plot(files: Sequence[Results], path: str | os.PathLike[str]) -> None:
    """Draw certified accuracy against radius, one exact step curve for each file.

    Where runs at several noise levels can be compared, their best at each radius too. The title
    has what all files share of norm, sigma, n and alpha.

    Parameters
    ----------
    files : list of Results
    path : path-like
        The picture; its ending chooses the format (png, pdf, svg).

    Raises
    ------
    ImportError
        Without matplotlib.
    ValueError
        When no file has a row, for a format matplotlib does not know, or an argument that is no
        list of Results or no path.
    OSError
        When the picture can't be written.
    """
    matplotlib = need("matplotlib.figure", "a plot")
    files, place = as_files(files, rows=True), as_path("path", path)
    figure = matplotlib.Figure(figsize=(7.0, 4.5), layout="constrained")
    axes = figure.add_subplot()
    names, footnotes = marked(files)
    end = reach(files)
    labels = [
        f"{name} (average {truncated(file.average_radius(), 3)})" if file.rows else name
        for file, name in zip(files, names, strict=True)
    ]
    for curve in curves(files, labels, end):
        style = {"color": curve.colour, "ls": _LINES[curve.dash], "lw": curve.width}
        steps = curve.heights[1:], curve.edges
        axes.stairs(*steps, baseline=None, label=curve.name, **style)
    shared = setting(files)
    title = {"norm": "l{} norm", "sigma": "sigma = {}", "n": "n = {}", "alpha": "alpha = {}"}
    parts = [text.format(shared[name]) for name, text in title.items() if name in shared]
    axes.set(xlabel="radius", ylabel="certified accuracy", xlim=(0, end), ylim=(0, 1.02))
    axes.set_title(", ".join(parts), fontsize="medium")
    axes.grid(color="0.9")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    if footnotes:
        figure.supxlabel("\n".join(footnotes), fontsize=8, x=0.02, ha="left")
    with naming(place):
        figure.savefig(place, dpi=150)
