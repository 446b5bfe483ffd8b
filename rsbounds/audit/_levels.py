"""Noise levels against the bound of sigma(x) that the radii rest on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from rsbounds.audit._finding import Finding, Kind, Numbered
from rsbounds.certificate import ASSERTED_ENVELOPE, PROVEN, without_asserted_noise
from rsbounds.results import Manifest, Row
from rsbounds.schemes import METHODS
from rsbounds.schemes.internal import allowed_error

SINGLE_LEVEL = 1e-6  # relative: what levels computed in float32 may be off by
_WORK, _MOST = 5e9, 2000  # differences of numbers that are taken, and rows, at most
_SINGLE = 2.0**-23  # relative: inputs in float32, distances of them


class Placed(NamedTuple):
    """A row of a line, and its input as a vector."""

    line: int
    row: Row
    x: NDArray[Any]


def refuted(
    rows: Sequence[Numbered],
    manifest: Manifest,
    input_of: Callable[[int], Any] | None = None,
) -> Iterator[Finding]:
    """Rows whose levels are further above another's than the bound of sigma(x) allows.

    A bound that allows no difference needs no inputs, and is compared only without
    them. Of more than some two thousand rows those are compared whose levels are the
    least, the largest and evenly between in order.
    """
    domains = METHODS[manifest.method].domains
    bounds = {k: v for k, v in manifest.parameters.items() if k in domains}
    # levels are at most exp(rate d) or lip d apart
    name = "rate" if "rate" in domains else "lip"
    scope = without_asserted_noise(manifest.scope)
    if name not in bounds or scope not in (*PROVEN, ASSERTED_ENVELOPE):
        return
    if bounds.get("norm", 2.0) != 2:
        return  # in other norms the shape of a generator's noise is not known
    constant = bounds[name]
    if (constant == 0) != (input_of is None):
        return
    placed = _placed(rows, input_of or (lambda _: np.zeros(1)))
    if not placed:
        return
    # a generator's level is a function of x/shape, "inner" the least axis of the shape
    unit = bounds.get("inner", 1.0)
    points = np.stack([entry.x for entry in placed]).astype(np.float64) / unit
    norms = np.linalg.norm(points, axis=1)
    apart = cdist(points, points) + _SINGLE * (norms[:, None] + norms)
    levels = np.array([entry.row.sigma for entry in placed])
    with np.errstate(over="ignore"):
        step = constant * apart
        reach = levels * np.exp(step) if name == "rate" else levels + step
        # computed levels may be off by the slack, in logarithms
        room = math.exp(allowed_error(bounds)) * (1 + SINGLE_LEVEL)
        share = levels[:, None] / (reach * room)
    worst = share.argmax(axis=1)
    for i in np.flatnonzero(share.max(axis=1) > 1):
        row, other = placed[i].row, placed[worst[i]].row
        distance = apart[i, worst[i]] * unit
        away = f", {distance:.6g} away" if constant else ""
        text = (
            f"sigma is {row.sigma}, and {other.sigma} at input {other.idx}{away}: more "
            f"than {name} = {constant} allows"
        )
        yield Finding(Kind.LEVEL, row.idx, text, placed[i].line)


def _placed(rows: Sequence[Numbered], input_of: Callable[[int], Any]) -> list[Placed]:
    """The rows that are compared with each other, by their levels, with their inputs.

    All inputs have the size of the first one that is there.
    """
    ordered = sorted(
        (numbered for numbered in rows if numbered[1].sigma > 0),
        key=lambda numbered: numbered[1].sigma,
    )
    inputs = (input_of(row.idx) for _, row in ordered)
    size = next((np.size(x) for x in inputs if x is not None), 1)
    most = min(int(math.sqrt(_WORK / size)), _MOST, len(ordered))
    places = np.linspace(0, len(ordered) - 1, most).round().astype(int)
    chosen = []
    for line, row in (ordered[place] for place in places):
        x = np.ravel(input_of(row.idx))
        if x.size == size and x.dtype != object:
            chosen.append(Placed(line, row, x))
    return chosen
