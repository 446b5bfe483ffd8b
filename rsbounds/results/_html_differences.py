"""The part of a page on runs that saw the same inputs: each less the first of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from rsbounds._numerics.decimals import rounded_up, truncated
from rsbounds._numerics.text import shown
from rsbounds.results._compare import Comparison
from rsbounds.results._difference import outward, stairs
from rsbounds.results._html_parts import DIGITS, cell, chart_of, noted, sortable
from rsbounds.results._paired import LEVEL, holm
from rsbounds.results._plot import COLOURS
from rsbounds.results._table import heading


def difference_table(
    names: Sequence[str], first: int, differences: Mapping[int, Comparison]
) -> list[str]:
    """A heading, a table and its notes: runs on the same inputs, less the first."""
    if not differences:
        return []
    radii = [at.radius for at in next(iter(differences.values())).at]
    lines = [list(map(cell, ["run", "inputs", "ACR", *map(heading, radii)]))]
    # for all pairs on the page: whoever reads it looks at all of them
    adjusted = iter(holm([at.p for own in differences.values() for at in own.at]))
    for place, own in differences.items():
        difference, low, high = outward(own.difference, *own.interval)
        cells = [cell(names[place]), cell(own.inputs)]
        cells.append(cell(difference, f"{low} to {high}"))
        for at in own.at:
            share = f"{at.accuracy_a - at.accuracy_b:+.3f}"
            p = f"p {rounded_up(next(adjusted), 2)}"
            cells.append(cell(share, f"{p}, {at.only_a}:{at.only_b}"))
        lines.append(cells)
    title = f"Differences from {names[first]}, on the inputs of both"
    own = next(iter(differences.values()))
    below = (
        f"ACR: difference of average radii, with its {LEVEL:.0%} interval for inputs "
        f"drawn at random from many (paired bootstrap-t, {own.draws} draws). At a "
        "radius: difference of certified accuracies; p of McNemar's exact two-sided "
        "test, by Holm's method for all in this table; inputs that this run alone "
        "certifies, and the other alone."
    )
    return [f"<h2>{escape(shown(title))}</h2>", sortable(lines), *noted([below])]


def difference_chart(
    names: Sequence[str], first: int, differences: Mapping[int, Comparison]
) -> dict[str, Any]:
    """Differences of certified accuracy over the radius, each with its band."""
    title = f"certified accuracy less that of {names[first]}, with 95 % bands"
    chart = chart_of([], escape(shown(title)), "radius")
    del chart["layout"]["yaxis"]["rangemode"]
    for place, own in differences.items():
        edges, heights, margin = stairs(own.band())
        colour, name = COLOURS[place % len(COLOURS)], escape(shown(names[place]))
        x = [float(truncated(float(edge), DIGITS)) for edge in edges]
        for end in (heights - margin, heights + margin, heights):
            # the second fills what lies between it and the first
            is_curve = end is heights
            trace = {
                "type": "scatter",
                "mode": "lines",
                "name": name,
                "legendgroup": name,
                "showlegend": is_curve,
                "x": x,
                "y": np.round(end, DIGITS).tolist(),
                "line": {"shape": "vh", "color": colour, "width": 2 * is_curve},
            }
            if not is_curve:
                trace["hoverinfo"] = "skip"
            chart["data"].append(trace)
        chart["data"][-2] |= {"fill": "tonexty", "fillcolor": f"{colour}22"}
    return chart
