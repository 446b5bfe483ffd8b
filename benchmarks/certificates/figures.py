"""Whether the figures of a card fit together, whoever wrote it."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from entries import POINTS
from groups import Group

from rsbounds.confidence import BOUNDS
from rsbounds.reports._card import share_of

#: What is left of a share, or of a sum, when figures are the same.
_CLOSE = 1e-9
#: An average radius is cut to so much.
_CUT = 2e-6


def problems(group: Group, made: Mapping[str, Any]) -> Iterator[str]:
    """What the curve, its intervals, the average and the procedure contradict."""
    if made["report"] is not None:
        yield "the card has no certified accuracies: the table is of classes"
        return
    points: Sequence[Mapping[str, float]] = made["accuracy"]
    radii = [at["radius"] for at in points]
    if missing := [radius for radius in group.radii if radius not in radii]:
        yield f"the card lacks the radii {missing}: make it with enter.py"
        return
    if any(first >= second for first, second in pairwise(radii)):
        yield "the card's radii must rise"
        return
    if len(points) > POINTS + len(group.radii) + 1:
        yield f"the card has {len(points)} radii, at most {POINTS} steps"
    shares = [at["accuracy"] for at in points]
    if any(first < second for first, second in pairwise(shares)):
        yield "the card's certified accuracy rises with the radius"
    yield from _of_shares(made)
    yield from _of_average(made, radii, shares)
    yield from _of_procedure(made["procedure"])


def _of_shares(made: Mapping[str, Any]) -> Iterator[str]:
    """Shares that are not of so many inputs, intervals that are not theirs."""
    inputs, points = made["inputs"], made["accuracy"]
    for at in points:
        held = at["accuracy"] * inputs
        where = f"at radius {at['radius']:g}"
        if abs(held - round(held)) > 1e-6:
            yield f"the accuracy {where} is not that of {inputs} inputs"
            return
        _, low, high = share_of(round(held), inputs)
        if max(abs(low - at["low"]), abs(high - at["high"])) > _CLOSE:
            yield f"the interval {where} is not that of its accuracy"
            return
    abstain = made["abstain"]
    if abstain is not None and points[0]["accuracy"] + abstain > 1 + _CLOSE:
        yield "more inputs abstain than are not right"


def _of_average(
    made: Mapping[str, Any], radii: Sequence[float], shares: Sequence[float]
) -> Iterator[str]:
    """An average radius that the curve doesn't have: it is the area below it."""
    acr = made["acr"]
    if acr is None:
        yield "the card has no average radius"
        return
    average = float(acr)
    steps = [after - before for before, after in pairwise(radii)]
    below = sum(share * step for share, step in zip(shares[1:], steps, strict=True))
    above = sum(share * step for share, step in zip(shares, steps, strict=False))
    if shares[-1]:  # the curve goes on
        above = math.inf
        if len(radii) < POINTS and average < math.inf:
            yield "the card's curve ends before its largest radius"
    if not below - _CUT <= average <= above + _CUT:
        text = f"the average radius is {average:g}, by the curve from {below:.6f}"
        yield f"{text} to {above:.6f}"


def _of_procedure(procedure: Mapping[str, Any]) -> Iterator[str]:
    for name, low, high in (("n", 1, 10**15), ("alpha", 0, 1)):
        value = procedure.get(name)
        if not isinstance(value, int | float) or not low <= value <= high:
            yield f"the card's {name} must be in [{low}, {high}]; got {value!r:.40}"
    if (bound := procedure.get("bound")) not in BOUNDS:
        yield f"the card's bound is none of rsbounds: {bound!r:.40}"
