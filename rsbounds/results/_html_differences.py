"""The part of a page on runs that saw the same inputs: each less the first of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rsbounds._numerics.decimals import rounded_up
from rsbounds.results._charts import Chart
from rsbounds.results._compare import Comparison
from rsbounds.results._difference import outward, stairs
from rsbounds.results._paired import LEVEL, holm
from rsbounds.results._plot import COLOURS, Curve
from rsbounds.results._table import heading


def difference_table(
    names: Sequence[str], differences: Mapping[int, Comparison]
) -> list[list[tuple[str, ...]]]:
    """Cells of a table that compares runs on the same inputs.

    Each is a text and a smaller one: runs less the first of them.
    """
    radii = [at.radius for at in next(iter(differences.values())).at]
    head = ["run", "inputs", "ACR", *map(heading, radii)]
    lines: list[list[tuple[str, ...]]] = [[(name,) for name in head]]
    # for all pairs on the page: whoever reads it looks at all of them
    adjusted = iter(holm([at.p for own in differences.values() for at in own.at]))
    for place, own in differences.items():
        difference, low, high = outward(own.difference, *own.interval)
        cells = [(names[place],), (str(own.inputs),), (difference, _ends(low, high))]
        for at in own.at:
            share = f"{at.accuracy_a - at.accuracy_b:+.3f}"
            p = f"p {rounded_up(next(adjusted), 2)}"
            cells.append((share, f"{p}, {at.only_a}:{at.only_b}"))
        lines.append(cells)
    return lines


def _ends(low: str, high: str) -> str:
    return "no interval" if low == "-" else f"{low} to {high}"


def difference_note(differences: Mapping[int, Comparison]) -> str:
    """What the numbers of the table are."""
    draws = next(iter(differences.values())).draws
    return (
        f"Differences of ACR: with their {LEVEL:.0%} intervals for inputs drawn at "
        f"random from many (paired bootstrap-t, {draws} draws). At a radius: "
        "difference of certified accuracies; p of McNemar's exact two-sided test, by "
        "Holm's method for all in this table; inputs that this run alone certifies, "
        "and the other alone."
    )


def difference_chart(
    names: Sequence[str], first: int, differences: Mapping[int, Comparison]
) -> Chart:
    """Differences of certified accuracy over the radius, each with its band."""
    bands = {place: stairs(own.band()) for place, own in differences.items()}
    end = max(float(band.edges[-1]) for band in bands.values())
    drawn = []
    for place, (edges, heights, half_width) in bands.items():
        curve = Curve(
            name=names[place],
            edges=np.append(edges[:-1], end),  # one axis for all
            heights=heights,
            colour=COLOURS[place % len(COLOURS)],
            dash="solid",
            width=2.0,
            band=(heights - half_width, heights + half_width),
        )
        drawn.append(curve)
    highest = max(float(np.abs(ends).max()) for own in drawn for ends in own.band or ())
    return Chart(
        title=f"Certified accuracy less that of {names[first]}, with 95 % bands",
        across="radius",
        curves=drawn,
        reach=float(rounded_up(highest, 1)) or 1.0,
    )
