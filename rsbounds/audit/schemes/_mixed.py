"""Radii of a Gaussian block beside discrete ones, proved in ball arithmetic.

Written from the theory page on mixed inputs alone. In region k of the discrete blocks,
of masses P_k at x and Q_k at x', the event that x' makes least likely has the points
z <= (t + ln(P_k/Q_k))/s + s/2 of the direction in which the numbers move by s of their
levels. Whatever t is, an event of probability p keeps at least Q + e^t (p - P), with P
and Q the probabilities of that one (Neyman and Pearson): t is looked for in doubles,
and the bound is evaluated in balls.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import erfc, inf, sqrt
from typing import NamedTuple, Self

from rsbounds.audit._balls import Arb, Event, arb, ctx, event
from rsbounds.audit._laws import FAR_SCORE, BallLaw, Region, precision
from rsbounds.audit.schemes._discrete import Changes

_MOST = 400  # changes of which more take minutes to prove
_STEPS = 120  # of the search for t


class _Way(NamedTuple):
    """The regions of one way to make the changes, and the mass of what x alone has."""

    law: BallLaw
    regions: list[Region]
    alone: Arb

    @classmethod
    def of(cls, law: BallLaw) -> Self:
        return cls(law, list(law.regions()), 1 - law.mass)


class Mixed(NamedTuple):
    """Noise of one level on some numbers, beside what changes do to the others."""

    level: float
    others: Changes

    def too_many(self, changes: int) -> bool:
        """Whether so many changes are beyond what is proved here."""
        return not 0 <= changes <= _MOST

    def proved(
        self, radius: float, changes: int, z_a: float, z_b: float | None
    ) -> bool:
        """Whether scores certify an l_2 radius above 0 together with so many changes.

        They are z_a and z_b; None stands for -z_a.
        """
        scores = [z_a, z_a if z_b is None else -z_b]
        with ctx.workprec(precision(*scores)):
            ways = [_Way.of(law) for law in self.others.laws(changes)]
            if radius == inf:
                return inf in scores and all(_stays(way, scores) for way in ways)
            shift = arb(radius) / arb(self.level)
            return all(
                bool(sum(_least(way, shift, z) for z in scores) > 1) for way in ways
            )

    def least(self, radius: float, changes: int, z: Arb) -> Event:
        """Bound an event of probability Phi(z) from below within a radius above 0."""
        with ctx.workprec(precision(float(z))):
            shift = arb(radius) / arb(self.level)
            score = float(z.lower())
            ways = [_Way.of(law) for law in self.others.laws(changes)]
            bounds = [_least(way, shift, score) for way in ways]
            least = bounds[0]
            for bound in bounds[1:]:
                least = least.min(bound)
            return Event(least, 1 - least)


def _stays(way: _Way, scores: Sequence[float]) -> bool:
    """Whether a sure event leads at any distance."""
    mass = way.law.shifted_mass
    return bool(mass == 1) or (scores == [inf, inf] and bool(2 * mass > 1))


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
        probability = 0.0
        for mass, ratio in shared:
            end = (t + ratio) / shift + shift / 2
            probability += mass * erfc(-side * end / sqrt(2)) / 2
        if (probability < target) == (side > 0):
            low = t
        else:
            high = t
    return min((low + high) / 2, 700.0)
