"""A comparison of two runs as a table and as a picture."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from rsbounds._numerics import checks
from rsbounds._numerics.decimals import rounded_up, truncated
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.extras import need
from rsbounds._numerics.json_files import as_json
from rsbounds._numerics.text import quoted
from rsbounds.reports._compare import At, Comparison
from rsbounds.reports._curves import COLOURS, PlottedCurve
from rsbounds.reports._draw import (
    draw_curves,
    dress,
    new_axes,
    picture_path,
    save_figure,
)
from rsbounds.reports._paired import LEVEL, Band
from rsbounds.reports._table import STYLES, below, heading, styled

_HEAD = ("measure", "A", "B", "A - B", "low", "high", "only A", "only B", "p", "Holm")


def compared(comparison: Comparison, *, style: str = "text") -> str:
    """A comparison as a table, with what its numbers are and its notes.

    Parameters
    ----------
    comparison : Comparison
        As :func:`compare` returns it.
    style : {"text", "markdown", "csv", "latex"}
        As of :func:`table`: ``csv`` has all digits, and the table alone.

    Raises
    ------
    ValueError
        For an unknown style, or what is no comparison.
    """
    style = checks.choice("style", style, STYLES)
    comparison = _checked(comparison)
    lines = [list(_HEAD), *_lines(comparison, full=style == "csv")]
    text = styled(lines, style, texts=1)
    if style == "csv":
        return text
    a, b = comparison.names
    title = f"A: {a}; B: {b}; {comparison.inputs} inputs of both"
    notes = [*explained(comparison), *comparison.notes]
    return "\n\n".join([*below([title], style), text, *below(notes, style)])


def explained(comparison: Comparison) -> Iterator[str]:
    """What the numbers of the table are."""
    yield (
        "only A, only B: inputs that one of the two certifies; p: McNemar's exact "
        "two-sided test of these; Holm: p for all of these radii together"
    )
    if math.isnan(comparison.interval.low):
        yield no_interval(comparison)
        return
    most = " and ".join(truncated(radius, 4) for radius in comparison.most)
    yield (
        f"low, high: {LEVEL:.0%} interval of the difference of average radii, for "
        "inputs drawn at random from many (bets on the mean; the radii could be at "
        f"most {most})"
    )


def no_interval(comparison: Comparison) -> str:
    """Why there is no interval, and what to do about it."""
    if any(map(math.isnan, comparison.most)):
        return (
            "no interval: the largest radius that both runs could certify is not "
            "known; give it as most (--most)"
        )
    return "no interval: the radii could be infinite, or none above 0"


def _lines(comparison: Comparison, *, full: bool) -> Iterator[list[str]]:
    """The lines below the head; ``full``: with all digits."""
    averages = comparison.average_a, comparison.average_b
    ends = comparison.difference, *comparison.interval
    if full:
        texts = [str(as_json(value)) for value in (*averages, *ends)]
    else:
        texts = [*(truncated(value, 4) for value in averages), *outward(*ends)]
    yield ["average radius", *texts, "-", "-", "-", "-"]
    for at in comparison.at:
        yield _line(at, full=full)


def outward(difference: float, low: float, high: float) -> list[str]:
    """A difference to four decimals, and the ends of its interval, rounded outward."""
    texts = ["-" if math.isnan(difference) else f"{difference:+.4f}", "-", "-"]
    if math.isfinite(low) and math.isfinite(high):
        ends = math.floor(low * 1e4), math.ceil(high * 1e4)
        texts[1:] = [f"{end / 1e4:+.4f}" for end in ends]
    return texts


def _line(at: At, *, full: bool) -> list[str]:
    shares = at.accuracy_a, at.accuracy_b, at.accuracy_a - at.accuracy_b
    if full:
        texts = [repr(share) for share in shares]
        values = [repr(at.p), repr(at.p_holm)]
    else:
        texts = [f"{shares[0]:.3f}", f"{shares[1]:.3f}", f"{shares[2]:+.3f}"]
        values = [rounded_up(at.p, 3), rounded_up(at.p_holm, 3)]
    counts = str(at.only_a), str(at.only_b)
    return [heading(at.radius), *texts, "-", "-", *counts, *values]


def plot_difference(
    comparison: Comparison,
    path: str | os.PathLike[str] | None = None,
    *,
    ax: Any = None,
) -> Any:
    """Draw the difference of certified accuracies over the radius, with its band.

    The band is a 95 % band for all radii at once: where it leaves 0 out, the runs
    differ, also where nobody had asked before looking. There is none where the largest
    radius that the runs could certify is not known.

    Parameters
    ----------
    comparison : Comparison
        As :func:`compare` returns it.
    path : path-like, optional
        The picture; its ending chooses the format (png, pdf, svg).
    ax : matplotlib axes, optional
        Where to draw; by default in a figure of its own.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    ImportError, OSError, ValueError
        As :func:`plot`.
    """
    need("matplotlib", "a plot")
    comparison = _checked(comparison)
    place = None if path is None else picture_path(path)
    if ax is None:
        ax = new_axes((7.0, 4.5), is_shown=place is None)
    curve = difference_curve(comparison, "A - B")
    if curve.band is not None:
        name = f"{curve.name}, and {LEVEL:.0%} for all radii at once"
        curve = curve._replace(name=name)
    draw_curves(ax, [curve])
    ax.axhline(0, color="0.3", lw=0.8)
    dress(ax, "radius", "difference of certified accuracy")
    ax.set_xlim(0, curve.edges[-1])
    a, b = comparison.names
    title = f"A: {a}\nB: {b}\n{comparison.inputs} inputs of both"
    ax.set_title(title, fontsize="small", loc="left", parse_math=False)
    ax.legend(frameon=False)
    if place is not None:
        save_figure(ax.get_figure(), place)
    return ax


def difference_curve(
    comparison: Comparison, name: str, colour: str = COLOURS[0]
) -> PlottedCurve:
    """The difference of certified accuracies over the radius, with its band."""
    edges, heights, low, high = stairs(comparison.band())
    band = None if np.isnan(low).any() else (low, high)
    return PlottedCurve(name, edges, heights, colour, "solid", 2.0, band=band)


def stairs(band: Band) -> Band:
    """A band's steps from radius 0 to a little beyond the last finite radius."""
    inside = np.isfinite(band.edges)
    edges = band.edges[inside]
    # beyond the last edge only infinite radii are left
    rest = band.heights[~inside]
    beyond = float(rest[0]) if rest.size else 0.0
    end = min(1.05 * float(edges[-1]), 1e307) if edges.size else 0.0
    drawn = [values[inside] for values in band[1:]]
    first = [float(values[0]) if values.size else beyond for values in drawn]
    # no radius of a run that has a band is beyond its last edge
    last = [beyond if np.isfinite(values).all() else math.nan for values in drawn]
    heights, low, high = (
        np.concatenate([[before], values, [after]])
        for before, values, after in zip(first, drawn, last, strict=True)
    )
    return Band(np.concatenate([[0.0], edges, [end or 1.0]]), heights, low, high)


def _checked(comparison: object) -> Comparison:
    if not isinstance(comparison, Comparison):
        text = f"must be a Comparison, as compare returns; got {quoted(comparison)}"
        raise ArgumentError("comparison", text)
    return comparison
