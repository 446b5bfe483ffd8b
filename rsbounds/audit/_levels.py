"""Noise levels of rows that refute the bound of sigma(x).

Bounds and radii follow from a row's counts and its level, so a file whose levels and radii are
scaled alike is consistent with itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from rsbounds.audit._finding import Finding, Kind
from rsbounds.certificate import ASSERTED_ENVELOPE, PROVEN
from rsbounds.results import Manifest, Row
from rsbounds.schemes import METHODS

SAME = 1e-6  # relative: what levels computed in float32 may be off by
_WORK, _MOST = 5e9, 2000  # differences of numbers that are taken, and rows, at most
_SINGLE = 2.0**-23  # relative: inputs in float32, distances of them
Numbered = tuple[int, Row]  # line


def refuted(
    rows: Sequence[Numbered], manifest: Manifest, input_of: Callable[[int], Any] | None = None
) -> Iterator[Finding]:
    """Rows whose levels are further above another's than the bound of sigma(x) allows.

    A bound that allows no difference needs no inputs, and is compared only without them. Of more
    than some two thousand rows those are compared whose levels are the least, the largest and
    evenly between in order.
    """
    domains = METHODS[manifest.method].domains
    own = {k: v for k, v in manifest.parameters.items() if k in domains}
    name = "rate" if "rate" in domains else "lip"  # levels exp(rate d) or lip d apart, at most
    constant = own.get(name, 0)
    if name not in own or manifest.scope not in (*PROVEN, ASSERTED_ENVELOPE):
        return
    # in other norms the shape of a generator's noise is not known
    if own.get("norm", 2.0) != 2 or (constant == 0) != (input_of is None):
        return
    at = input_of or (lambda _: np.zeros(1))
    ordered = sorted((n for n in rows if n[1].sigma > 0), key=lambda n: n[1].sigma)
    inputs = (at(row.idx) for _, row in ordered)
    size = next((np.size(x) for x in inputs if x is not None), 1)
    most = min(int(math.sqrt(_WORK / size)), _MOST, len(ordered))
    places = np.linspace(0, len(ordered) - 1, most).round().astype(int)
    chosen = [(ordered[k], np.ravel(at(ordered[k][1].idx))) for k in places]
    kept = [(n, x) for n, x in chosen if x.size == size and x.dtype != object]
    if not kept:
        return
    # a generator's level is a function of x/shape, and "inner" is the least axis of the shape
    unit = own.get("inner", 1.0)
    points = np.stack([x for _, x in kept]).astype(np.float64) / unit
    norms = np.linalg.norm(points, axis=1)
    apart = cdist(points, points) + _SINGLE * (norms[:, None] + norms)
    levels = np.array([row.sigma for (_, row), _ in kept])
    with np.errstate(over="ignore"):
        step = constant * apart
        reach = levels * np.exp(step) if name == "rate" else levels + step
        # computed levels may be off by the slack, in logarithms
        share = levels[:, None] / (reach * (math.exp(own.get("slack", 0.0)) * (1 + SAME)))
    worst = share.argmax(axis=1)
    for i in np.flatnonzero(share.max(axis=1) > 1):
        (line, row), (_, other) = kept[i][0], kept[worst[i]][0]
        away = f", {apart[i, worst[i]] * unit:.6g} away" if constant else ""
        text = (
            f"sigma is {row.sigma}, and {other.sigma} at input {other.idx}{away}: more than "
            f"{name} = {constant} allows"
        )
        yield Finding(Kind.LEVEL, row.idx, text, line)
