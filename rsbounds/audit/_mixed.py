"""Radii of a Gaussian block beside discrete ones, proved in ball arithmetic.

Written from the theory page on mixed inputs alone. In region k of the discrete blocks,
of masses P_k at x and Q_k at x', the event that x' makes least likely has the points
z <= (t + ln(P_k/Q_k))/s + s/2 of the direction in which the numbers move by s of their
levels. Whatever t is, an event of probability p keeps at least Q + e^t (p - P), with P
and Q the probabilities of that one (Neyman and Pearson): t is looked for in doubles,
and the bound is evaluated in balls.
"""

from collections.abc import Mapping, Sequence
from math import erfc, inf, sqrt
from typing import Any, NamedTuple, Self

from rsbounds.audit._balls import Arb, Event, arb, ctx, event
from rsbounds.audit._discrete import laws_of, least_discrete, proved_discrete
from rsbounds.audit._laws import FAR_SCORE, Law, Region, precision

Parameters = Mapping[str, Any]
_MOST = 400  # changes of which more take minutes to prove
_STEPS = 120  # of the search for t


class _Way(NamedTuple):
    """The regions of one way to make the changes, and the mass of what x alone has."""

    law: Law
    regions: list[Region]
    alone: Arb

    @classmethod
    def of(cls, law: Law) -> Self:
        return cls(law, list(law.regions()), 1 - law.mass)


def is_mixed(method: str, parameters: Parameters) -> bool:
    """Whether a method's noise has a Gaussian block."""
    return method == "blocks" and any(
        block["method"] == "gaussian" for block in parameters["blocks"]
    )


def stated_changes(parameters: Parameters) -> int:
    """Beside how many changes the radii of rows are stated."""
    return int(parameters.get("changes", 0))


def too_many_beside(changes: int) -> bool:
    """Whether so many changes are beyond what is proved here."""
    return not 0 <= changes <= _MOST


def proved_mixed(
    parameters: Parameters, radius: float, changes: int, z_a: float, z_b: float | None
) -> bool:
    """Tell whether scores certify an l_2 radius together with so many changes.

    They are z_a and z_b; None stands for -z_a.
    """
    if too_many_beside(changes) or not radius >= 0:
        return False
    if not z_a > (-z_a if z_b is None else z_b):
        return False
    discrete = _discrete(parameters)
    if radius == 0:
        return proved_discrete("blocks", discrete, float(changes), z_a, z_b)
    scores = [z_a, z_a if z_b is None else -z_b]
    with ctx.workprec(precision(*scores)):
        ways = [_Way.of(law) for law in laws_of("blocks", discrete, changes)]
        if radius == inf:
            return inf in scores and all(_stays(way, scores) for way in ways)
        shift = arb(radius) / arb(_level(parameters))
        return all(bool(sum(_least(way, shift, z) for z in scores) > 1) for way in ways)


def least_mixed(parameters: Parameters, radius: float, z: Arb) -> Event:
    """Bound an event of probability Phi(z) from below within a radius.

    For a method of ``TRANSPORTED``.
    """
    discrete, changes = _discrete(parameters), stated_changes(parameters)
    if radius == 0:
        return least_discrete("blocks", discrete, float(changes), z)
    with ctx.workprec(precision(float(z))):
        shift = arb(radius) / arb(_level(parameters))
        score = float(z.lower())
        ways = [_Way.of(law) for law in laws_of("blocks", discrete, changes)]
        bounds = [_least(way, shift, score) for way in ways]
        least = bounds[0]
        for bound in bounds[1:]:
            least = least.min(bound)
        return Event(least, 1 - least)


def _discrete(parameters: Parameters) -> Parameters:
    """The parameters of the discrete blocks alone."""
    kept = [b for b in parameters["blocks"] if b["method"] != "gaussian"]
    return {"blocks": kept}


def _level(parameters: Parameters) -> float:
    (level,) = (
        block["sigma"]
        for block in parameters["blocks"]
        if block["method"] == "gaussian"
    )
    return float(level)


def _stays(way: _Way, scores: Sequence[float]) -> bool:
    """Whether a sure event leads at any distance."""
    kept = way.law.shifted_mass
    return bool(kept == 1) or (scores == [inf, inf] and bool(2 * kept > 1))


def _least(way: _Way, shift: Arb, score: float) -> Arb:
    """A lower bound of the least probability of an event of Phi(score)."""
    if score == inf:
        return way.law.shifted_mass
    if not score > -FAR_SCORE:
        return arb(0)
    z = arb(min(score, FAR_SCORE))
    t = arb(_tilt(way, float(shift), float(z)))
    bound = t.exp() * (event(z).p - way.alone)
    for mass, shifted_mass, ratio in way.regions:
        end = (t - ratio) / shift + shift / 2
        bound += shifted_mass * event(end - shift).p - t.exp() * mass * event(end).p
    return bound if bound > 0 else arb(0)


def _tilt(way: _Way, shift: float, z: float) -> float:
    """The t at which the event has about Phi(z): of its smaller tail, by halving."""
    if not way.regions:
        return -700.0
    shared = [(float(region.mass), -float(region.log)) for region in way.regions]
    side = 1 if z < 0 else -1
    target = erfc(-side * z / sqrt(2)) / 2 - (float(way.alone) if side > 0 else 0.0)
    middle = shift * (z - shift / 2)
    logs = [ratio for _, ratio in shared]
    low = middle - max(logs) - 40 * shift
    high = middle - min(logs) + 40 * shift
    for _ in range(_STEPS):
        t = (low + high) / 2
        held = 0.0
        for mass, ratio in shared:
            end = (t + ratio) / shift + shift / 2
            held += mass * erfc(-side * end / sqrt(2)) / 2
        if (held < target) == (side > 0):
            low = t
        else:
            high = t
    return min((low + high) / 2, 700.0)
