"""Radii of a Gaussian block beside discrete ones, proved in ball arithmetic.

Written from the theory page on mixed inputs alone. In region k of the discrete blocks,
of masses P_k at x and Q_k at x', the event that x' makes least likely has the points
z <= (t + ln(P_k/Q_k))/s + s/2 of the direction in which the numbers move by s of their
levels. Whatever t is, an event of probability p keeps at least Q + e^t (p - P), with P
and Q the probabilities of that one (Neyman and Pearson): t is looked for in doubles,
and the bound is evaluated in balls.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import erfc, inf, log, sqrt
from typing import Any, NamedTuple

from rsbounds.audit._balls import Arb, Event, arb, ctx, event
from rsbounds.audit._discrete import least_of_ways, proved_discrete, ways_of

Parameters = Mapping[str, Any]
_FAR_SCORE = 37.0
_MOST = 400  # changes of which more take minutes to prove
_STEPS = 120  # of the search for t


class _Region(NamedTuple):
    """Masses at x, above 0, and at x', and the logarithm of their ratio as a double."""

    mass: Fraction
    shifted_mass: Fraction
    log: float


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
    ways = _regions(discrete, changes)
    scores = [z_a, z_a if z_b is None else -z_b]
    if radius == inf:
        return inf in scores and all(_stays(regions, scores) for regions in ways)
    with ctx.workprec(_precision(scores)):
        shift = arb(radius) / arb(_level(parameters))
        return all(
            bool(sum(_least(regions, shift, z) for z in scores) > 1) for regions in ways
        )


def least_mixed(parameters: Parameters, radius: float, z: Arb) -> Event:
    """Bound an event of probability Phi(z) from below within a radius.

    For a method of ``TRANSPORTED``.
    """
    discrete, changes = _discrete(parameters), stated_changes(parameters)
    if radius == 0:
        return least_of_ways("blocks", discrete, float(changes), z)
    score = float(z.lower())
    with ctx.workprec(_precision([score])):
        shift = arb(radius) / arb(_level(parameters))
        bounds = [_least(way, shift, score) for way in _regions(discrete, changes)]
        least = bounds[0]
        for bound in bounds[1:]:
            least = least.min(bound)
        return Event(least, 1 - least)


def _precision(scores: Sequence[float]) -> int:
    """Bits that leave digits where probabilities are next to 1 and e^t is large."""
    sizes = (abs(z) if abs(z) < _FAR_SCORE else _FAR_SCORE for z in scores)
    return 192 + int(2 * max(sizes) ** 2)


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


def _regions(discrete: Parameters, changes: int) -> list[list[_Region]]:
    """The regions of every way to make so many changes."""
    ways = ways_of("blocks", discrete, float(changes))
    if ways is None:
        raise ValueError(f"{changes} changes are more than are proved here")
    return [
        [
            _Region(p, q, _log(p) - _log(q) if q else inf)
            for p, q in regions.masses.values()
        ]
        for regions in ways
    ]


def _log(share: Fraction) -> float:
    return log(share.numerator) - log(share.denominator)


def _stays(regions: Sequence[_Region], scores: Sequence[float]) -> bool:
    """Whether a sure event leads at any distance."""
    kept = sum((region.shifted_mass for region in regions), Fraction(0))
    return kept == 1 or (scores == [inf, inf] and 2 * kept > 1)


def _least(regions: Sequence[_Region], shift: Arb, score: float) -> Arb:
    """A lower bound of the least probability of an event of Phi(score)."""
    if score == inf:
        return sum((_ball(region.shifted_mass) for region in regions), arb(0))
    if not score > -_FAR_SCORE:
        return arb(0)
    z = arb(min(score, _FAR_SCORE))
    t = arb(_tilt(regions, float(shift), float(z)))
    bound = t.exp() * event(z).p
    for region in regions:
        mass = _ball(region.mass)
        if not region.shifted_mass:
            bound -= t.exp() * mass
            continue
        shifted_mass = _ball(region.shifted_mass)
        end = (t + (mass / shifted_mass).log()) / shift + shift / 2
        bound += shifted_mass * event(end - shift).p - t.exp() * mass * event(end).p
    return bound if bound > 0 else arb(0)


def _ball(share: Fraction) -> Arb:
    return arb(share.numerator) / share.denominator


def _tilt(regions: Sequence[_Region], shift: float, z: float) -> float:
    """The t at which the event has about Phi(z): of its smaller tail, by halving."""
    shared = [region for region in regions if region.shifted_mass]
    if not shared:
        return -700.0
    side = 1 if z < 0 else -1
    alone = sum(float(r.mass) for r in regions if not r.shifted_mass)
    target = erfc(-side * z / sqrt(2)) / 2 - (alone if side > 0 else 0.0)
    middle = shift * (z - shift / 2)
    low = middle - max(region.log for region in shared) - 40 * shift
    high = middle - min(region.log for region in shared) + 40 * shift
    for _ in range(_STEPS):
        t = (low + high) / 2
        held = 0.0
        for region in shared:
            end = (t + region.log) / shift + shift / 2
            held += float(region.mass) * erfc(-side * end / sqrt(2)) / 2
        if (held < target) == (side > 0):
            low = t
        else:
            high = t
    return min((low + high) / 2, 700.0)
