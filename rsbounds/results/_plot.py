"""Certified accuracy against radius: exact step curves of files, and their picture."""

import io
import os
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rsbounds._numerics.checks import Array
from rsbounds._numerics.decimals import truncated
from rsbounds._numerics.extras import need
from rsbounds._numerics.files import require_writable
from rsbounds.certificate import EDIT
from rsbounds.results._file import _replace
from rsbounds.results._results import Results
from rsbounds.results._table import as_files, with_accuracies
from rsbounds.results._terms import comparable, marked, setting
from rsbounds.results._text import as_path

PICTURE = b"Drawn by rsbounds report"  # in a picture that may be replaced
_ENTRIES = {"png": "Software", "pdf": "Creator", "svg": "Creator"}
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
#: Names of dashes, of plotly, and what matplotlib draws for them.
DASHES = {"solid": "-", "dash": "--", "dot": ":", "dashdot": "-."}


class Curve(NamedTuple):
    """A step curve: between two edges it is as high as at the later one."""

    name: str
    edges: Array
    heights: Array
    colour: str
    dash: str
    width: float


def curves(files: Sequence[Results], names: Sequence[str]) -> list[Curve]:
    """Certified accuracy of each file, and the best of comparable ones."""
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
    best = [
        (label, [own[id(file)] for file in group]) for label, group in comparable(files)
    ]
    return steps(shown, end) + steps(best, end, ("#000000",), first=4)


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


def plot(files: Sequence[Results], path: str | os.PathLike[str]) -> None:
    """Draw certified accuracy against radius, one exact step curve for each file.

    Where runs at several noise levels can be compared, their best at each radius too.
    The title has what all files share of norm, sigma, n and alpha.

    Parameters
    ----------
    files : list of Results
    path : path-like
        The picture; its ending chooses the format (png, pdf, svg).

    Raises
    ------
    ImportError, OSError
        Without matplotlib; if the picture can't be written.
    ValueError
        When no file has a row, for a format matplotlib does not know, or an argument
        that is no list of Results or no path.
    """
    matplotlib = need("matplotlib.figure", "a plot")
    files, place = as_files(files, rows=True), as_path("path", path)
    place = place if place.suffix else place.with_suffix(".png")
    require_writable(place, PICTURE)
    files = with_accuracies(files)
    figure = matplotlib.Figure(figsize=(7.0, 4.5), layout="constrained")
    axes = figure.add_subplot()
    names, footnotes = marked(files)
    labels = [
        f"{name} (average {truncated(file.average_radius(), 3)})"
        for file, name in zip(files, names, strict=True)
    ]
    drawn = curves(files, labels)
    for curve in drawn:
        style = {"color": curve.colour, "ls": DASHES[curve.dash], "lw": curve.width}
        steps = curve.heights[1:], curve.edges
        axes.stairs(*steps, baseline=None, label=curve.name, **style)
    common = setting(files)
    title = {
        "norm": "l{} norm",
        "sigma": "sigma = {}",
        "n": "n = {}",
        "alpha": "alpha = {}",
    }
    if common.get("norm") == EDIT:
        title["norm"] = "edits"
    parts = [
        text.format(common[name]) for name, text in title.items() if name in common
    ]
    end = drawn[0].edges[-1]
    axes.set(
        xlabel="radius", ylabel="certified accuracy", xlim=(0, end), ylim=(0, 1.02)
    )
    axes.set_title(", ".join(parts), fontsize="medium")
    axes.grid(color="0.9")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    if footnotes:
        figure.supxlabel("\n".join(footnotes), fontsize=8, x=0.02, ha="left")
    kind = place.suffix.removeprefix(".").lower()
    entry = _ENTRIES.get(kind)
    picture = io.BytesIO()
    figure.savefig(
        picture,
        format=kind,
        dpi=150,
        metadata={entry: PICTURE.decode()} if entry else None,
    )
    _replace(place, picture.getvalue())
