"""Runs of models that differ in the seed of their training: mean and spread."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from rsbounds._numerics.decimals import truncated
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.text import shown
from rsbounds.reports._terms import NAMES, terms
from rsbounds.results import Results

_SEED = re.compile(r"[-_. ]?seed[-_= ]?\d+", re.IGNORECASE)
#: What the table of such groups says below itself.
NOTE = "mean ± standard deviation over the files whose names differ in seedN alone"


def by_seed(files: Sequence[Results]) -> dict[str, list[Results]]:
    """The files by their names without a seed.

    ArgumentError for a name without one, and for files of a group that can't be
    averaged: of other inputs, noise or procedure.
    """
    groups: dict[str, list[Results]] = {}
    for file in files:
        name = _SEED.sub("", file.name)
        if name == file.name:
            raise ArgumentError(
                "seeds",
                f"groups files by seedN in their names, as in run-seed0.tsv; got "
                f"{shown(file.name)}",
            )
        groups.setdefault(name, []).append(file)
    for name, group in groups.items():
        _require_alike(name, group)
    return groups


def _require_alike(name: str, group: Sequence[Results]) -> None:
    """ArgumentError for files that rest on different terms."""
    first, *others = map(terms, group)
    for other in others:
        for term in ("sigma", "inputs", *NAMES):
            if first[term] != other[term]:
                raise ArgumentError(
                    "seeds",
                    f"must group files that differ in training alone; those of "
                    f"{shown(name)} have {term} {first[term]} and {other[term]}",
                )


def spread_cells(measures: Sequence[Sequence[float]]) -> list[str]:
    """Means and standard deviations of the columns of measures, a row for each seed.

    The third is the average radius, which is truncated.
    """
    values = np.asarray(measures, dtype=np.float64)
    with np.errstate(invalid="ignore"):  # an infinite radius has no spread
        means = values.mean(axis=0)
        spreads = values.std(axis=0, ddof=1) if len(values) > 1 else 0 * means
    cells = []
    for place, (mean, spread) in enumerate(zip(means, spreads, strict=True)):
        text = truncated(float(mean), 4) if place == 2 else f"{mean:.3f}"
        cells.append(f"{text} ± {spread:.3f}" if len(values) > 1 else text)
    return cells
