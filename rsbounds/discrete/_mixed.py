"""Gaussian noise on some columns beside discrete noise on others: l_2 and changes.

What one way to make the changes does is :class:`Way`'s; a curve takes the worst.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from rsbounds import gaussian
from rsbounds._numerics.checks import Array, as_floats, broadcast, count, number
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.rounding import (
    EPS,
    positive_quotient,
    product,
    round_down,
    round_up,
)
from rsbounds._numerics.scores import NDTRI_ERROR, ndtri
from rsbounds._numerics.search import bisect
from rsbounds.discrete._curve import Curve
from rsbounds.discrete._mixed_way import FAR_SCORE, LEAST_SHIFT, Events, Way
from rsbounds.discrete._radii import FAR
from rsbounds.gaussian.internal import transport
from rsbounds.noises.internal import bounds, broadcast_bounds, score_pair

#: How many regions all ways to make some changes may have together: to look at more
#: takes longer than a second.
MOST_REGIONS = 2**12
#: Shares of 1 - p by which a threshold is raised until its radius is the distance.
_MORE = (0.0, *(16.0**k * EPS for k in range(14)))


class MixedCurve:
    """What an event keeps within an l_2 distance and changes.

    The distance is on some columns, the changes on the others.

    r is a pair: the distance in l_2, and the changes as the discrete curve counts them,
    a number for that many whatever their kind; they are so few that all ways to make
    them have at most 4,096 regions together. Answers are doubles, each rounded to the
    safe side: :meth:`low` down, :meth:`high` and thresholds up. What is lost is at most
    1e-13 (l + s p) and 1e-15, where an event of probability p keeps l and s is the
    curve's slope at p, or the same of its complement. A distance above 0 and below 1e-9
    levels counts as 1e-9 levels.

    Parameters
    ----------
    sigma : float
        Level of the Gaussian noise.
    discrete : Curve
        Of the noise on the other columns.
    changes : int
        Beside how many changes :meth:`radius` and :meth:`transport` measure.
    """

    def __init__(self, sigma: float, discrete: Curve, changes: int = 0) -> None:
        self.sigma = sigma
        self.discrete = discrete
        self.changes = changes
        self._known: dict[Any, list[Way]] = {}

    def __repr__(self) -> str:
        return f"MixedCurve({self.sigma!r}, {self.discrete!r}, {self.changes})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MixedCurve):
            return NotImplemented
        return repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __getstate__(self) -> dict[str, Any]:
        """All but what can be computed again."""
        return {**self.__dict__, "_known": {}}

    def low(self, p: Any, r: Any) -> Any:
        """The least probability within r of an event of probability p at x.

        Parameters
        ----------
        p : array_like
            In [0, 1]; for a lower bound of the event's probability the result is one.
        r : tuple
            The distance in l_2, >= 0, and the changes.
        """
        value = as_floats("p", p, 0.0, 1.0, nan=False, towards=-math.inf)
        # below 1/2 the complement is rounded
        rest = round_up(1 - value, np.where(value >= 0.5, 0.0, EPS))
        least, most = self._ends(value, np.minimum(rest, 1.0), *self._pair(r))
        return np.maximum(least, np.nextafter(1 - most, 0.0))[()]

    def high(self, p: Any, r: Any) -> Any:
        """The largest probability within r; arguments as of :meth:`low`."""
        value = as_floats("p", p, 0.0, 1.0, nan=False, towards=math.inf)
        rest = round_down(1 - value, np.where(value >= 0.5, 0.0, EPS))
        least, most = self._ends(rest, value, *self._pair(r))
        return np.minimum(most, np.nextafter(1 - least, 1.0))[()]

    def threshold(self, r: Any) -> float:
        """A p_a that certifies the top class at r, alone; inf where none does.

        It is at most some 1e-12 of 1 - p_a above the least such number, and has a
        radius of at least the distance beside these changes.
        """
        pair = self._pair(r)
        if not self.low(1.0, pair) > 0.5:
            return math.inf

        def accepted(rest: Array) -> Any:
            ends = self._ends(np.nextafter(1 - rest, 0.0), rest, *pair)
            return (ends[0] > 0.5) | (ends[1] < 0.5)

        # the search is for 1 - p, which has more digits
        rest = float(bisect(np.array(0.0), np.array(0.5), accepted, 80, within=1e-13))
        # the search of a radius stops a little below it
        for step in _MORE:
            threshold = float(np.nextafter(1 - rest * (1 - step), 1.0))
            if self.low(threshold, pair) > 0.5 and self._reaches(threshold, pair):
                return threshold
        return 1.0

    def _reaches(self, p_a: float, pair: tuple[float, Any]) -> bool:
        """Whether the radius of a probability beside some changes is a distance.

        Radii are beside a number of changes, of whatever kind.
        """
        distance, changes = pair
        if not isinstance(changes, int):
            return True
        z_a = np.asarray(round_down(ndtri(np.asarray(p_a)), NDTRI_ERROR))
        return bool(self._radius(z_a, z_a, changes) >= distance)

    def certified(
        self, p_a: Any, r: Any, p_b: Any = None, *, scores: bool = False
    ) -> bool:
        """Tell whether low(p_a, r) is proved to be above high(p_b, r).

        p_b is by default 1 - p_a; both are normal scores if ``scores`` is True. Both
        are of the same input within r: they are compared for each way to make the
        changes on its own.
        """
        if p_b is None and not scores:
            return bool(self.low(p_a, self._pair(r)) > 0.5)
        first, second = _score_pair(p_a, p_b, scores)
        distance, key = self._pair(r)
        both = np.array([first, first if second is None else -second])
        if isinstance(key, int) and key == 0:
            moved = np.asarray(transport(both, distance, self.sigma)[0])
            return bool(moved[0] > -moved[1])
        events = Events.of_scores(both)
        shift = self._shift(np.full(2, distance))
        for way in self._ways(key):
            ends = way.ends(events, shift) if distance else way.still(events)
            moved = way.scores(ends)
            if not moved[0] > -moved[1]:
                return False
        return True

    def radius(self, p_a: Any, p_b: Any = None, *, scores: bool = False) -> Any:
        """Compute the l_2 radius that is certified together with ``changes`` changes.

        The bounds are probabilities, or normal scores if ``scores`` is True. Never
        above the true value, and within 1e-10 of it, relative, where it is above a
        hundredth of the level; 0 where even the changes alone are not certified.
        """
        first, second = broadcast_bounds(p_a, p_b, scores)
        if not scores:
            first = round_down(ndtri(first), NDTRI_ERROR)
            if second is not None:
                second = round_up(ndtri(second), NDTRI_ERROR)
        rest = first if second is None else -second
        return self._radius(first, rest, self.changes)[()]

    def transport(self, z: Any, r: Any) -> tuple[Any, Any]:
        """Bound how far an event's probability can move, in normal scores.

        Within a distance beside ``changes``, or within a pair r; rounded outward.
        """
        key: Any = self.changes
        if isinstance(r, tuple):
            r, key = self._pair(r)
        scores = as_floats("z", z, exact=True)
        distance = as_floats("radius", r, 0.0, nan=False, towards=math.inf)
        scores, distance = broadcast(z=scores, radius=distance)
        low = self._moved(scores, distance, key)
        return low[()], (-self._moved(-scores, distance, key))[()]

    def frontier(
        self, p_a: Any, p_b: Any = None, *, scores: bool = False
    ) -> list[tuple[Any, ...]]:
        """For each number of changes that is certified the l_2 radius that is left.

        Pairs (radius, changes). Numbers up to 64 are looked at, while all ways to make
        these and fewer changes have no more than 4,096 regions together: 21 where zeros
        and ones may change.
        """
        first, second = _score_pair(p_a, p_b, scores)
        other = first if second is None else -second
        if not first > -other:
            return []
        result: list[tuple[Any, ...]] = []
        ends = np.array([first]), np.array([other])
        for changes in self._few():
            if not self.discrete.certified(first, changes, second, scores=True):
                break
            result.append((float(self._radius(*ends, changes)[0]), changes))
        return result

    def frontier_above(self, z: float, least: float) -> list[tuple[Any, ...]]:
        """For each number of changes the l_2 radius that leaves an event above a score.

        Arguments as of :meth:`Curve.frontier_above`, pairs as of :meth:`frontier`.
        """
        result: list[tuple[Any, ...]] = []
        if not z > least:
            return result
        score = np.array(z)
        # where nothing is changed beside it no distance beyond this leaves so much
        top = np.array(self.sigma * (z - least) * (1 + 1e-9))
        for changes in self._few():

            def stays(distance: Array, changes: int = changes) -> Any:
                return self._moved(score, distance, changes) > least

            if not stays(np.array(0.0)):
                break
            radius = bisect(np.array(0.0), top, stays, within=1e-12)
            result.append((float(radius), changes))
        return result

    def _few(self) -> Iterator[int]:
        """Numbers of changes that a frontier looks at."""
        limit = self.discrete.limit
        regions = 0.0
        for changes in range((FAR if limit is None else min(limit, FAR)) + 1):
            regions += self._size(changes)
            if regions > MOST_REGIONS:
                return
            yield changes

    # how they are found ---------------------------------------------------------------

    def _pair(self, r: Any) -> tuple[float, Any]:
        """The distance and the changes, checked."""
        if not isinstance(r, Sequence | np.ndarray) or len(r) != 2:
            raise ArgumentError(
                "r", f"must be a distance and a number of changes; got {r!r}"
            )
        distance = as_floats("r", r[0], 0.0, nan=False, towards=math.inf)
        if np.ndim(distance):
            raise ArgumentError("r", f"must begin with one distance; got {r!r}")
        changes = r[1]
        if isinstance(changes, Sequence):
            return float(distance), self.discrete.ways("r", changes)
        return float(distance), count("r", changes)

    def takes(self, changes: int) -> bool:
        """Whether so many changes are few enough for about a second's work."""
        return self._size(changes) <= MOST_REGIONS

    def _size(self, key: Any) -> int:
        """About how many regions all ways to make some changes have together."""
        ways = self.discrete.ways("r", key)
        return ways.number * self.discrete.size(ways.middle)

    def _ways(self, key: Any) -> list[Way]:
        ways = self._known.get(key)
        if ways is None:
            made = self.discrete.ways("r", key)
            if not self._size(made) <= MOST_REGIONS:
                raise ArgumentError(
                    "r",
                    f"must be so few changes that all ways to make them have "
                    f"{MOST_REGIONS} regions together; got {made.changes}",
                )
            ways = [Way(self.discrete.regions(counts)) for counts in made.every()]
            if len(self._known) >= FAR:
                self._known.clear()
            self._known[key] = ways
        return ways

    def _shift(self, distance: Array) -> Array:
        """A distance in levels, rounded up; far out, where nothing is left, less."""
        near = np.minimum(distance, 1e6 * self.sigma)
        levels = round_up(positive_quotient(near, self.sigma), 2 * EPS)
        return np.asarray(np.maximum(levels, LEAST_SHIFT))

    def _ends(self, p: Any, q: Any, distance: float, key: Any) -> tuple[Array, Array]:
        """The bounds of :meth:`Way.ends` for every way, at one distance."""
        shape = np.shape(p)
        events = Events.of_probabilities(np.ravel(p), np.ravel(q))
        shift = self._shift(np.full(events.p.shape, distance))
        least, most = np.ones(events.p.shape), np.zeros(events.p.shape)
        for way in self._ways(key):
            low, high = way.ends(events, shift) if distance else way.still(events)
            least, most = np.minimum(least, low), np.maximum(most, high)
        return least.reshape(shape)[()], most.reshape(shape)[()]

    def _moved(self, z: Array, distance: Array, key: Any) -> Array:
        """The least scores of events within distances and changes, rounded down."""
        if isinstance(key, int) and key == 0:
            return np.asarray(transport(z, distance, self.sigma)[0])
        shape = np.shape(z)
        z, distance = np.ravel(z), np.ravel(distance)
        result: Array = np.where(np.isnan(z), np.nan, -np.inf)
        still = (distance == 0) & ~np.isnan(z)
        if still.any():
            result[still] = self.discrete.transport(z[still], key)[0]
        known = (z >= -FAR_SCORE) & ~still & ((distance < np.inf) | (z == np.inf))
        if known.any():
            events = Events.of_scores(z[known])
            shift = self._shift(distance[known])
            moved = z[known]
            for way in self._ways(key):
                moved = np.minimum(moved, way.scores(way.ends(events, shift)))
            result[known] = moved
        return result.reshape(shape)

    def _radius(self, z_a: Array, rest: Array, changes: int) -> Array:
        """Radii of scores of A and of all that is not B, beside changes."""
        if changes == 0:
            value = gaussian.radius(z_a, self.sigma, -rest, scores=True)
            return np.asarray(value)
        shape = np.shape(z_a)
        z_a, rest = np.ravel(z_a), np.ravel(rest)
        result = np.where(z_a > -rest, np.inf, 0.0)
        # less than what is certified without changes, which Cohen's radius is
        pairs = [Events.of_scores(z_a)]
        if not np.array_equal(z_a, rest):
            pairs.append(Events.of_scores(rest))
        levels = np.mean([events.z for events in pairs], axis=0)
        sure = (z_a == np.inf) & (rest == np.inf)
        leads = [(way, way.lead(pairs)) for way in self._ways(changes)]
        # The way that is probably the worst comes first: the others hardly do more than
        # prove its radii. An order by these scores would make a radius depend on what
        # else is asked with it.
        leads.sort(key=lambda way_and_lead: way_and_lead[0].usual_lead)
        for way, lead in leads:
            # what is sure and leads does so at any distance
            searched = np.flatnonzero((result > 0) & ~(sure & (way.outside < 0.5)))
            to_search = [events.of(searched) for events in pairs]
            top = np.minimum(result, levels)[searched]
            result[searched] = way.radii(to_search, lead[searched], top)
        return np.asarray(round_down(product(result, self.sigma), 2 * EPS)).reshape(
            shape
        )


def _score_pair(p_a: Any, p_b: Any, scores: bool) -> tuple[float, float | None]:
    """Both bounds as scores, checked and rounded to the safe side."""
    if scores:
        return bounds(p_a, p_b, True, number)
    return score_pair(p_a, p_b)


def _total(scores: Array) -> float:
    """The sum of scores, of which some may be infinite or NaN."""
    return float(np.clip(np.nan_to_num(scores), -FAR_SCORE, FAR_SCORE).sum())
