"""Curves of certified accuracy against radius."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence

import numpy as np

from rsbounds.results._marks import marked
from rsbounds.results._results import Results
from rsbounds.results._terms import comparable
from rsbounds.results._text import naming, truncated

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_LINES = ("-", "--", ":", "-.")


def plot(files: Sequence[Results], path: str | os.PathLike[str]) -> None:
    """Draw certified accuracy against radius, one exact step curve for each file.

    Parameters
    ----------
    files : sequence of Results
    path : path-like
        The picture; its ending chooses the format (png, pdf, svg).

    Raises
    ------
    ModuleNotFoundError
        Without matplotlib (``pip install matplotlib``).
    ValueError
        When no file has a row, or for a format matplotlib does not know.
    OSError
        When the picture can't be written.
    """
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "a plot needs matplotlib; install it with: pip install matplotlib"
        ) from None
    if not any(f.rows for f in files):
        raise ValueError("files must have at least one row to plot; got none")
    figure = Figure(figsize=(7.0, 4.5), layout="constrained")
    axes = figure.add_subplot()
    names, footnotes = marked(files)
    finite = [r.radius for f in files for r in f.rows if math.isfinite(r.radius)]
    end = min(1.05 * max(finite, default=0.0), 1e307) or 1.0
    for i, (file, name) in enumerate(zip(files, names, strict=True)):
        if not file.rows:
            continue
        edges = np.unique([0.0, *(min(r.radius, end) for r in file.rows if r.correct), end])
        axes.stairs(
            file.certified_accuracy(edges[1:]),
            edges,
            baseline=None,
            label=f"{name} (average {truncated(file.average_radius(), 3)})",
            color=_COLOURS[i % len(_COLOURS)],
            linestyle=_LINES[i // len(_COLOURS) % len(_LINES)],
            linewidth=1.8,
        )
    for method, said, union in comparable(files):
        if method != "gaussian" or len({r.sigma for f in union for r in f.rows}) < 2:
            continue
        edges = np.unique([0.0, *(min(r.radius, end) for f in union for r in f.rows), end])
        best = np.max([file.certified_accuracy(edges[1:]) for file in union], axis=0)
        label = ", ".join(filter(None, ("best constant level at each radius", said)))
        axes.stairs(best, edges, baseline=None, label=label, color="0.4", linestyle=(0, (4, 3)))
    axes.set(xlabel="radius", ylabel="certified accuracy", xlim=(0, end), ylim=(0, 1.02))
    axes.grid(color="0.9")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    if footnotes:
        figure.supxlabel("\n".join(footnotes), fontsize=8, x=0.02, ha="left")
    with naming(path):
        figure.savefig(path, dpi=150)
