"""The part of a page on runs that saw the same inputs: each less the first of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rsbounds._numerics.decimals import rounded_up
from rsbounds.reports._compare import Comparison
from rsbounds.reports._curves import COLOURS, PlottedCurve, coarse
from rsbounds.reports._difference import difference_curve, outward
from rsbounds.reports._draw import Chart
from rsbounds.reports._paired import LEVEL, holm
from rsbounds.reports._table import heading


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
    adjusted = iter(
        holm([at.p for comparison in differences.values() for at in comparison.at])
    )
    for place, comparison in differences.items():
        difference, low, high = outward(comparison.difference, *comparison.interval)
        cells = [
            (names[place],),
            (str(comparison.inputs),),
            (difference, _ends(low, high)),
        ]
        for at in comparison.at:
            share = f"{at.accuracy_a - at.accuracy_b:+.3f}"
            p = f"p {rounded_up(next(adjusted), 2)}"
            cells.append((share, f"{p}, {at.only_a}:{at.only_b}"))
        lines.append(cells)
    return lines


def _ends(low: str, high: str) -> str:
    return "no interval" if low == "-" else f"{low} to {high}"


def difference_note() -> str:
    """What the numbers of the table are."""
    return (
        f"Differences of ACR: with their {LEVEL:.0%} intervals for inputs drawn at "
        "random from many (bets on the mean), where the largest radius that the runs "
        "could certify is known. At a radius: "
        "difference of certified accuracies; p of McNemar's exact two-sided test, by "
        "Holm's method for all in this table; inputs that this run alone certifies, "
        "and the other alone."
    )


def difference_chart(
    names: Sequence[str], first: int, differences: Mapping[int, Comparison]
) -> Chart:
    """Differences of certified accuracy over the radius, each with its band."""
    drawn = [
        difference_curve(comparison, names[place], COLOURS[place % len(COLOURS)])
        for place, comparison in differences.items()
    ]
    end = max(float(curve.edges[-1]) for curve in drawn)
    return Chart(
        title=f"Certified accuracy less that of {names[first]}; bands: 95 %",
        across="radius",
        up="difference",
        # one axis for all
        curves=[_up_to(end, curve) for curve in drawn],
        is_difference=True,
    )


def _up_to(end: float, curve: PlottedCurve) -> PlottedCurve:
    """A curve with another last edge, to the width that a page shows."""
    return coarse(curve._replace(edges=np.append(curve.edges[:-1], end)))
