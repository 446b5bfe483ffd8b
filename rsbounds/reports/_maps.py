"""The picture of certified maps: where they are certified, abstain, or are wrong."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.extras import need
from rsbounds.answers import Maps
from rsbounds.answers.internal import certified_labels
from rsbounds.certificate import ABSTAIN
from rsbounds.reports._curves import COLOURS
from rsbounds.reports._draw import save_figure
from rsbounds.results import Results

#: What a position is, and its colour.
STATES = {"certified": COLOURS[0], "abstained": "0.85", "wrong": COLOURS[1]}
_MOST = 8  # maps in a picture
_ROW = 4  # of them side by side


def are_maps(files: Sequence[Results]) -> bool:
    """Whether a picture is of the maps of one file."""
    return len(files) == 1 and files[0].answer == Maps.name


def map_states(file: Results, truth: Any = None) -> NDArray[np.int64]:
    """The state of each position of the first maps of a file, in their shape.

    Places in ``STATES``; without true maps, one for each input of the data, none is
    wrong.
    """
    if file.manifest is None or not file.rows:
        raise ArgumentError(
            "files", f"must have a manifest and rows to draw maps; {file.name} has none"
        )
    rows = file.rows[:_MOST]
    answer, procedure = file.manifest.answer, file.manifest.procedure
    labels = certified_labels(rows, answer["tau"], procedure.alpha)
    shape = _shape(file, labels.shape[1], truth)
    states = np.where(labels == ABSTAIN, 1, 0)
    if truth is not None:
        true = np.stack([np.ravel(truth[row.idx]) for row in rows])
        states = np.where((labels != ABSTAIN) & (labels != true), 2, states)
    return states.reshape(len(rows), *shape)


def draw_maps(file: Results, path: Path | None, truth: Any) -> Any:
    """The figure of the first maps of a file; written where a path is given."""
    states = map_states(file, truth)
    colors = need("matplotlib.colors", "a plot")
    module = "matplotlib.figure" if path else "matplotlib.pyplot"
    make = need(module, "a plot")
    columns = min(len(states), _ROW)
    lines = math.ceil(len(states) / _ROW)
    size = (1.0 + 1.5 * columns, 0.6 + 1.6 * lines)
    figure = (make.Figure if path else make.figure)(figsize=size, layout="constrained")
    axes = figure.subplots(lines, columns, squeeze=False)
    shown = list(STATES)[: 2 if truth is None else 3]
    colours = colors.ListedColormap(list(STATES.values()))
    for place, ax in enumerate(axes.flat):
        ax.axis("off")
        if place < len(states):
            picture = np.atleast_2d(states[place])
            ax.imshow(picture, cmap=colours, vmin=-0.5, vmax=2.5)
            ax.set_title(f"input {file.rows[place].idx}", fontsize=8)
    patches = need("matplotlib.patches", "a plot")
    handles = [patches.Patch(color=STATES[name], label=name) for name in shown]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    if path is not None:
        save_figure(figure, path)
    return axes


def _shape(file: Results, positions: int, truth: Any) -> tuple[int, ...]:
    """The shape of a map: of the true ones, or of the sides of an input."""
    if truth is not None:
        shape: tuple[int, ...] = np.shape(truth[file.rows[0].idx])
        if math.prod(shape) == positions and len(shape) <= 2:
            return shape
        raise ArgumentError(
            "truth",
            f"must be maps of {positions} positions in one or two dimensions; got "
            f"shape {shape}",
        )
    manifest = file.manifest
    sides = () if manifest is None else tuple(manifest.data.get("shape", ()))
    for start in range(len(sides) - 1):
        pair = sides[start : start + 2]
        if math.prod(pair) == positions:
            return pair
    return (positions,)
