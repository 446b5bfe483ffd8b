"""Curves of certified accuracy against radius."""

from __future__ import annotations

import os
from collections.abc import Sequence

from rsbounds._numerics.extras import need
from rsbounds.results._charts import COLOURS, curve, reach
from rsbounds.results._compare import comparable, marked
from rsbounds.results._results import Results
from rsbounds.results._text import naming, truncated

_LINES = ("-", "--", ":", "-.")


def plot(files: Sequence[Results], path: str | os.PathLike[str]) -> None:
    """Draw certified accuracy against radius, one exact step curve for each file.

    Where runs at several noise levels can be compared, their best at each radius too.

    Parameters
    ----------
    files : sequence of Results
    path : path-like
        The picture; its ending chooses the format (png, pdf, svg).

    Raises
    ------
    ImportError
        Without matplotlib.
    ValueError
        When no file has a row, or for a format matplotlib does not know.
    OSError
        When the picture can't be written.
    """
    matplotlib = need("matplotlib.figure", "a plot")
    if not any(file.rows for file in files):
        raise ValueError("files must have at least one row to plot; got none")
    figure = matplotlib.Figure(figsize=(7.0, 4.5), layout="constrained")
    axes = figure.add_subplot()
    names, footnotes = marked(files)
    end = reach(files)
    for i, (file, name) in enumerate(zip(files, names, strict=True)):
        if not file.rows:
            continue
        edges, heights = curve([file], end)
        label = f"{name} (average {truncated(file.average_radius(), 3)})"
        style = _LINES[i // len(COLOURS) % len(_LINES)]
        colour = COLOURS[i % len(COLOURS)]
        axes.stairs(heights[1:], edges, baseline=None, label=label, color=colour, ls=style, lw=1.8)
    for label, group in comparable(files):
        edges, heights = curve(group, end)
        axes.stairs(heights[1:], edges, baseline=None, label=label, color="0.4", ls=(0, (4, 3)))
    axes.set(xlabel="radius", ylabel="certified accuracy", xlim=(0, end), ylim=(0, 1.02))
    axes.grid(color="0.9")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    if footnotes:
        figure.supxlabel("\n".join(footnotes), fontsize=8, x=0.02, ha="left")
    with naming(path):
        figure.savefig(path, dpi=150)
