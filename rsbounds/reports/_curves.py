"""Exact step curves of certified accuracy over the radius, as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rsbounds._numerics.checks import Array
from rsbounds.confidence import lower_bound, upper_bound
from rsbounds.reports._terms import comparable
from rsbounds.results import Results

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
#: Names of dashes, and what matplotlib draws for them.
DASHES = {"solid": "-", "dashed": "--", "dotted": ":", "dashdot": "-."}
_PLACES = 600  # of a curve with more steps than a page shows


class PlottedCurve(NamedTuple):
    """A step curve: between two edges it is as high as at the later one."""

    name: str
    edges: Array
    heights: Array
    colour: str
    dash: str
    width: float
    is_best: bool = False  # of several runs, drawn below them, wide and pale
    band: tuple[Array, Array] | None = None  # ends of the interval about each height


class Sample(NamedTuple):
    """Values of some of the rows in increasing order, and how many rows there are."""

    values: Array
    rows: int

    def reaching(self, edges: Array) -> Array:
        """The share of rows whose value is at least as large, for each edge."""
        below = np.searchsorted(self.values, edges)
        shares: Array = (len(self.values) - below) / self.rows
        return shares


def curves(
    files: Sequence[Results], names: Sequence[str], *, best: bool = True
) -> list[PlottedCurve]:
    """Certified accuracy of each file, and the best of comparable ones.

    A run alone has its interval of 95 % at each radius (Clopper and Pearson's).
    """
    largest = max((file.counted.largest for file in files), default=0.0)
    end = min(1.05 * largest, 1e307) or 1.0
    # a row that is not correct holds nowhere
    samples = [
        (name, [_radii_of(file)])
        for name, file in zip(names, files, strict=True)
        if file.counted.rows
    ]
    drawn = steps(samples, end)
    if len(drawn) == 1:
        drawn = [_with_band(drawn[0], samples[0][1][0].rows)]
    if not best:
        return drawn
    groups = [
        (label, [_radii_of(file) for file in group])
        for label, group in comparable(files)
    ]
    bests = steps(groups, end, ("#000000",), first=4)
    return drawn + [curve._replace(is_best=True) for curve in bests]


def _radii_of(file: Results) -> Sample:
    """The radii within which rows of a file are right."""
    return Sample(file.counted.radii, file.counted.rows)


def _with_band(curve: PlottedCurve, n: int) -> PlottedCurve:
    """A curve of ``n`` inputs with the interval about each of its heights."""
    counts = np.rint(curve.heights * n)
    tail = 0.025
    band = lower_bound(counts, n, tail), upper_bound(counts, n, tail)
    return curve._replace(band=band)


def steps(
    groups: Sequence[tuple[str, Sequence[Sample]]],
    end: float,
    colours: Sequence[str] = COLOURS,
    first: int = 0,
) -> list[PlottedCurve]:
    """The largest share of samples that reach an edge, wherever that share steps.

    Each curve is thinner than those below it and has gaps, so that curves that coincide
    are seen.
    """
    drawn = []
    for i, (name, samples) in enumerate(groups, start=first):
        values = [np.minimum(sample.values, end) for sample in samples]
        edges = np.unique(np.concatenate([[0.0, end], *values]))
        best = np.max([sample.reaching(edges) for sample in samples], axis=0)
        falls = np.flatnonzero(np.diff(best))
        steps = np.unique([0, *falls, *falls + 1, len(edges) - 1])
        colour, dash = colours[i % len(colours)], list(DASHES)[i % len(DASHES)]
        width = max(3.0 - 0.4 * i, 1.2)
        drawn.append(PlottedCurve(name, edges[steps], best[steps], colour, dash, width))
    return drawn


def coarse(curve: PlottedCurve) -> PlottedCurve:
    """A curve with no more steps than a page shows.

    Between two places it is as high as at the later one: a curve that falls is drawn
    no higher than it is.
    """
    if len(curve.edges) <= 2 * _PLACES:
        return curve
    edges = curve.edges[-1] * (np.arange(_PLACES + 1) / _PLACES)
    at = np.minimum(np.searchsorted(curve.edges, edges), len(curve.edges) - 1)
    band = curve.band and (curve.band[0][at], curve.band[1][at])
    return curve._replace(edges=edges, heights=curve.heights[at], band=band)
