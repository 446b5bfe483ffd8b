"""The picture of flags: detections and false alarms over the threshold."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from rsbounds._numerics.checks import instance
from rsbounds._numerics.decimals import round_radii, short
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.extras import need
from rsbounds.answers import Flag
from rsbounds.reports._curves import COLOURS
from rsbounds.reports._draw import dress, new_axes, picture_path, save_figure
from rsbounds.results import Results
from rsbounds.schemes import METHODS

#: Thresholds that are drawn beside the file's own.
THRESHOLDS = (
    *(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1),
    *(0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
)


def plot_flags(
    file: Results,
    path: str | os.PathLike[str] | None = None,
    *,
    radius: float | None = None,
    ax: Any = None,
) -> Any:
    """Draw certified detections and false alarms over the threshold of a flag.

    The counts of the file are certified again at each threshold; bands are the exact
    intervals of 95 % over inputs. Of each input the bounds from both sides hold
    together with probability 1 - 2 alpha, so that a threshold may be chosen by the
    picture at that level.

    Parameters
    ----------
    file : Results
        Of the answer "flag", with its manifest.
    path : path-like, optional
        The picture; its ending chooses the format (png, pdf, svg).
    radius : float, optional
        Within which detections are to hold; by default about half of the largest radius
        in the file.
    ax : matplotlib axes, optional
        Where to draw; by default in a figure of its own.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    ImportError, OSError
        Without matplotlib; if the picture can't be written.
    ValueError
        For a file of another answer, or of samples whose number was not fixed in
        advance.
    """
    need("matplotlib", "a plot")
    instance("file", file, Results, "what rsbounds.results.read returns")
    if file.manifest is None or file.answer != Flag.name or not file.rows:
        raise ArgumentError(
            "file",
            f"must be of the answer {Flag.name!r}, with rows and a manifest; got "
            f"{file.name}, of {file.answer!r}",
        )
    place = None if path is None else picture_path(path)
    scheme = METHODS[file.manifest.method].from_parameters(file.manifest.parameters)
    answer = Flag.from_parameters(file.manifest.answer, scheme)
    if radius is None:
        counted = file.counted
        radii = round_radii(counted.largest, whole=counted.whole)
        radius = radii[len(radii) // 2]
    taus = sorted({*THRESHOLDS, answer.threshold})
    procedure = file.manifest.procedure
    near, far = (
        answer.curve(file.rows, procedure, taus, distance) for distance in (0.0, radius)
    )
    if ax is None:
        ax = new_axes((7.0, 4.5), is_shown=place is None)
    drawn = {
        "detected": near["detected"],
        f"detected within {short(radius)}": far["detected"],
        "false alarms": near["false_alarms"],
    }
    for (name, shares), colour in zip(drawn.items(), COLOURS, strict=False):
        _draw(ax, taus, shares, name, colour)
    ax.axvline(answer.threshold, color="0.6", lw=0.8)
    ax.set(xscale="log", ylim=(0, 1.02))
    dress(ax, "threshold", "certified share of inputs")
    level = short(near["level"])
    ax.set_title(
        f"{file.name}: bounds of an input fail with probability {level} at most",
        fontsize="small",
        parse_math=False,
    )
    ax.legend(frameon=False)
    if place is not None:
        save_figure(ax.get_figure(), place)
    return ax


def _draw(ax: Any, taus: list[float], shares: Any, name: str, colour: str) -> None:
    """One share over the thresholds with its interval, nothing if it is of no input."""
    if shares[0] is None:
        return
    height, low, high = np.asarray(shares).T
    ax.plot(taus, height, color=colour, label=name)
    ax.fill_between(taus, low, high, color=colour, alpha=0.15, lw=0)
