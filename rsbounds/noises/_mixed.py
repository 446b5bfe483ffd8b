"""Gaussian noise on some columns beside discrete noise on others: l_2 and changes.

The discrete part has regions k of masses P_k at x and Q_k at x'; the Gaussian part is
moved by s of its levels. Of all events of probability p the one that x' makes least
likely has in region k the points z <= c_k, with

    c_k = (t + ln(P_k/Q_k))/s + s/2,   p = sum P_k Phi(c_k),
    low(p) = sum Q_k Phi(c_k - s).

For any t at all, the root or not, an event of probability p has at x' at least

    sum Q_k Phi(c_k - s) + e^t (p - sum P_k Phi(c_k))

(Neyman and Pearson's lemma, in its dual form): the search for t need not be proved, and
its error counts in the second order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rsbounds import gaussian
from rsbounds._numerics.checks import Array, as_floats, broadcast, count
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
from rsbounds.noises._curve import FAR, Curve
from rsbounds.noises._exact import float_up
from rsbounds.noises._regions import Regions
from rsbounds.noises._scores import checked_scores, share_above, share_below
from rsbounds.special import log_ndtr

#: A shift, in levels, below which one of this size is taken: a larger one is worse.
_LEAST_SHIFT = 1e-9
#: Scores beyond which nothing finite is looked at; Phi(-37) is 6e-300.
_FAR_SCORE = 37.0
#: Beyond this distance from the middle the normal law has less than any double.
_SETTLED = 39.0
#: A sum of positive terms, pairwise as NumPy adds, and the rounding of each term.
_SUM_ERROR = 48 * EPS
#: What masses may lose that are smaller than any double.
_LOST = 1e-300


class _Way:
    """The regions of one way to make the changes, in doubles."""

    def __init__(self, regions: Regions) -> None:
        scale = regions.scale
        # a quotient of whole numbers is rounded once
        self.mass = np.array([p / scale for p in regions.mass])
        self.shifted_mass = np.array([q / scale for q in regions.shifted_mass])
        #: What x' produces and x doesn't, rounded up.
        self.outside = float_up(scale - sum(regions.shifted_mass), scale)
        logs = [_log_ratio(*pair) for pair in zip(
            regions.mass, regions.shifted_mass, strict=True)]  # fmt: skip
        self.log = np.array([value for value, _ in logs])
        self.log_error = np.array([error for _, error in logs])
        shared = np.isfinite(self.log)
        self.shared_mass = self.mass[shared]
        self.shared_log = self.log[shared]
        self.whole = float(self.shared_mass.sum())
        self.before = np.concatenate([[0.0], np.cumsum(self.shared_mass)])
        #: What x produces and x' doesn't: it is in the event first.
        self.alone = float(self.mass[~shared].sum())

    def ends(self, z: Array, p: Array, q: Array, shift: Array) -> tuple[Array, Array]:
        """A lower bound of what an event has at x', and an upper one of what it lacks.

        The event has at least ``p`` and lacks at most ``q`` at x; ``z`` is about its
        score, finite, and the shift is at least ``_LEAST_SHIFT``.
        """
        if not self.shared_mass.size:
            return np.zeros(np.shape(z)), np.ones(np.shape(z))
        t = self._tilt(z, p, q, shift)[:, None]
        s = shift[:, None]
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            c = (t + self.log) / s + s / 2
            x = c - s
            loss, unsure = self._loss(t, s, c, x)
            moved = _sum(self.shifted_mass * share_below(x) * (1 - loss))
            lacked = _sum(self.shifted_mass * share_above(-x) * (1 + loss))
            held = _sum(self.mass * share_above(c))
            left = _sum(self.mass * share_below(-c))
            slope = np.exp(t[:, 0])
            more = _times(slope, p - (round_up(held, _SUM_ERROR) + _LOST))
            lack = _times(slope, q - round_down(left, _SUM_ERROR))
            least = round_down(moved, _SUM_ERROR) + more
            least -= 4 * EPS * (moved + abs(more))
            most = round_up(lacked, _SUM_ERROR) + _LOST + self.outside + lack
            most += 4 * EPS * (most + 2 * abs(lack))
        least = np.where(unsure | ~(least > 0), 0.0, least)
        most = np.where(unsure | ~(most < 1), 1.0, most)
        return least, most

    def _loss(self, t: Array, s: Array, c: Array, x: Array) -> tuple[Array, Any]:
        """What the rounding of c takes, as a share of a region's mass.

        Where it is not small.

        The value of a region is least at the exact c*, and at c it is more by the
        integral of Q_k phi(u - s) (1 - e^(-s (u - c*))) between the two, which is at
        most Q_k phi(x) s d^2 for |c - c*| <= d <= .01. And phi(x) is at most
        (1 + |x|) Phi(-|x|).
        """
        near = abs(x) < _SETTLED
        size = abs(t) + np.where(near, abs(self.log), 0.0)
        d = (self.log_error + 2 * EPS * size) / s + 2 * EPS * (abs(c) + s)
        d = np.where(near, d, 0.0)
        away = np.where(near, abs(x), 0.0)
        loss = 2 * (1 + away) * s * d**2 + (1 + away) ** 2 * 2 * EPS
        return loss, (d > 0.01).any(axis=1)

    def _tilt(self, z: Array, p: Array, q: Array, shift: Array) -> Array:
        """The t at which the event has about the probability of z."""
        log = self.shared_log
        if self.alone > 0:
            with np.errstate(under="ignore"):
                upper = -ndtri(np.minimum(q / self.whole, 1.0))
                lower = ndtri(np.clip((p - self.alone) / self.whole, 0.0, 1.0))
            z = np.where(z > 0, upper, lower)
        z = np.clip(z, -_FAR_SCORE, _FAR_SCORE)
        middle = shift * (z - shift / 2)
        low, high = middle - log.max(), middle - log.min()
        t = self._start(z, shift, middle)
        going = np.arange(len(z))
        for _ in range(80):
            error, slope = self._error(t[going], z[going], shift[going])
            low[going] = np.where(error < 0, t[going], low[going])
            high[going] = np.where(error > 0, t[going], high[going])
            still = (abs(error) > 1e-8) & (low[going] < high[going])
            going, error, slope = going[still], error[still], slope[still]
            if not going.size:
                break
            with np.errstate(divide="ignore", over="ignore"):
                step = t[going] - error / slope
            inside = (low[going] < step) & (step < high[going])
            halved = (low[going] + high[going]) / 2
            t[going] = np.where(inside, step, halved)
        return t

    def _start(self, z: Array, shift: Array, middle: Array) -> Array:
        """Where the search begins, the better of two guesses.

        A large shift hardly sees the regions, and a small one is in one of them.
        """
        mass, log = self.shared_mass, self.shared_log
        wide = middle - float((mass * log).sum()) / self.whole
        with np.errstate(under="ignore"):
            share = np.exp(log_ndtr(z)) * self.whole
        place = np.searchsorted(self.before[1:-1], share, side="right")
        within = (share - self.before[place]) / mass[place]
        narrow = shift * ndtri(np.clip(within, 1e-9, 1 - 1e-9)) - log[place]
        narrow = np.clip(narrow, middle - log.max(), middle - log.min())
        errors = [abs(self._error(t, z, shift)[0]) for t in (wide, narrow)]
        return np.where(errors[0] <= errors[1], wide, narrow)

    def _error(self, t: Array, z: Array, shift: Array) -> tuple[Array, Array]:
        """The event's score at t less z, and how that rises with t."""
        mass, s = self.shared_mass, shift[:, None]
        with np.errstate(under="ignore", over="ignore"):
            c = (t[:, None] + self.shared_log) / s + s / 2
            below = (np.exp(log_ndtr(c)) @ mass) / self.whole
            above = (np.exp(log_ndtr(-c)) @ mass) / self.whole
            score = ndtri(np.minimum(np.where(below < 0.5, below, above), 0.5))
            score = np.where(below < 0.5, score, -score)
            density = np.exp((score[:, None] ** 2 - c**2) / 2) @ mass
        return score - z, density / (shift * self.whole)


def _log_ratio(mass: int, shifted_mass: int) -> tuple[float, float]:
    """ln(P/Q) and a bound of its error; inf where x' lacks the region."""
    if not shifted_mass:
        return math.inf, 0.0
    try:
        ratio = mass / shifted_mass
    except OverflowError:
        ratio = math.inf
    if 1e-300 < ratio < 1e300:
        value = math.log(ratio)
        return value, 2 * EPS * (1 + abs(value))
    first, second = math.log(mass), math.log(shifted_mass)
    return first - second, 4 * EPS * (first + second)


def _sum(terms: Array) -> Array:
    result: Array = np.sum(terms, axis=1)
    return result


def _times(slope: Array, gap: Array) -> Array:
    """A product in which an infinite slope makes nothing of nothing."""
    return np.where(gap == 0, 0.0, slope * gap)


class MixedCurve:
    """What an event keeps within an l_2 distance and changes.

    The distance is on some columns, the changes on the others.

    r is a pair: the distance in l_2, and the changes as the discrete curve counts them,
    a number for that many whatever their kind. Answers are doubles, each rounded to the
    safe side: :meth:`low` down, :meth:`high` and thresholds up, by some 1e-14 of
    themselves and 1e-16.

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
        self._known: dict[Any, list[_Way]] = {}

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

        It is at most 1e-12 of 1 - p_a above the least such number.
        """
        pair = self._pair(r)
        if not self.low(1.0, pair) > 0.5:
            return math.inf

        def accepted(rest: Array) -> Any:
            ends = self._ends(np.nextafter(1 - rest, 0.0), rest, *pair)
            return (ends[0] > 0.5) | (ends[1] < 0.5)

        # the search is for 1 - p, which has more digits
        rest = float(bisect(np.array(0.0), np.array(0.5), accepted, 80, within=1e-13))
        threshold = np.nextafter(1 - rest, 1.0)
        return float(threshold) if self.low(threshold, pair) > 0.5 else 1.0

    def certified(self, p_a: Any, r: Any, p_b: Any = None) -> bool:
        """Tell whether low(p_a, r) is proved to be above high(p_b, r).

        p_b is by default 1 - p_a.
        """
        pair = self._pair(r)
        low = self.low(p_a, pair)
        if p_b is None:
            return bool(low > 0.5)
        return bool(low > self.high(p_b, pair))

    def certified_by_scores(self, z_a: Any, r: Any, z_b: Any = None) -> bool:
        """The same for normal scores."""
        first, second = checked_scores(z_a, z_b, nan=False)
        distance, key = self._pair(r)
        ends = np.array([first, first if second is None else -second])
        moved = self._moved(ends, np.full(2, distance), key)
        return bool(moved[0] > -moved[1])

    def radius(self, p_a: Any, p_b: Any = None) -> Any:
        """Compute the l_2 radius of probabilities, beside ``changes``.

        See :meth:`radius_of_scores`.
        """
        first = as_floats("p_a", p_a, 0.0, 1.0, nan=False, towards=-math.inf)
        z_a = round_down(ndtri(first), NDTRI_ERROR)
        if p_b is None:
            return self.radius_of_scores(z_a)
        second = as_floats("p_b", p_b, 0.0, 1.0, nan=False, towards=math.inf)
        return self.radius_of_scores(z_a, round_up(ndtri(second), NDTRI_ERROR))

    def radius_of_scores(self, z_a: Any, z_b: Any = None) -> Any:
        """The l_2 radius that is certified together with any ``changes`` changes.

        Never above the true value, and within 1e-11 of it, relative, where it is above
        a hundredth of the level; 0 where even the changes alone are not certified.
        """
        first = as_floats("z_a", z_a, nan=False, towards=-math.inf)
        second = first if z_b is None else -as_floats("z_b", z_b, nan=False,
                                                      towards=math.inf)  # fmt: skip
        first, second = broadcast(z_a=first, z_b=second)
        return self._radius(first, second, self.changes)[()]

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

    def frontier(self, p_a: Any, p_b: Any = None) -> list[tuple[Any, ...]]:
        """For each number of changes that is certified the l_2 radius that is left."""
        first = as_floats("p_a", p_a, 0.0, 1.0, nan=False, towards=-math.inf)
        z_a = float(round_down(ndtri(first), NDTRI_ERROR))
        if p_b is None:
            return self.frontier_of_scores(z_a)
        second = as_floats("p_b", p_b, 0.0, 1.0, nan=False, towards=math.inf)
        return self.frontier_of_scores(z_a, float(round_up(ndtri(second), NDTRI_ERROR)))

    def frontier_of_scores(self, z_a: Any, z_b: Any = None) -> list[tuple[Any, ...]]:
        """:meth:`frontier` of normal scores: pairs (radius, changes)."""
        first, second = checked_scores(z_a, z_b, nan=False)
        other = first if second is None else -second
        if not first > -other:
            return []
        limit = self.discrete.limit
        most = FAR if limit is None else limit
        result: list[tuple[Any, ...]] = []
        ends = np.array([first]), np.array([other])
        for changes in range(most + 1):
            if not self.discrete.certified_by_scores(first, changes, second):
                break
            result.append((float(self._radius(*ends, changes)[0]), changes))
        return result

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
            return float(distance), self.discrete._ways("r", changes)
        return float(distance), count("r", changes)

    def _ways(self, key: Any) -> list[_Way]:
        ways = self._known.get(key)
        if ways is None:
            made = self.discrete._ways("r", key) if isinstance(key, int) else key
            ways = [_Way(regions) for regions in self.discrete._every("r", made)]
            if len(self._known) >= FAR:
                self._known.clear()
            self._known[key] = ways
        return ways

    def _shift(self, distance: Array) -> Array:
        """A distance in levels, rounded up."""
        return np.asarray(round_up(positive_quotient(distance, self.sigma), 2 * EPS))

    def _ends(self, p: Any, q: Any, distance: float, key: Any) -> tuple[Array, Array]:
        """The bounds of :meth:`_Way.ends` for every way, at one distance."""
        shape = np.shape(p)
        p, q = np.ravel(p), np.ravel(q)
        shift = np.maximum(self._shift(np.full(p.shape, distance)), _LEAST_SHIFT)
        z = np.where(q < 0.5, -ndtri(q), ndtri(p))
        z = np.clip(z, -_FAR_SCORE, _FAR_SCORE)
        least, most = np.ones(p.shape), np.zeros(p.shape)
        for way in self._ways(key):
            if distance == math.inf:
                low, high = np.zeros(p.shape), np.where(q > 0, 1.0, way.outside)
            else:
                low, high = way.ends(z, p, q, shift)
            least, most = np.minimum(least, low), np.maximum(most, high)
        return least.reshape(shape)[()], most.reshape(shape)[()]

    def _moved(self, z: Array, distance: Array, key: Any) -> Array:
        """The least scores of events within distances and changes, rounded down."""
        if isinstance(key, int) and key == 0:
            return np.asarray(gaussian.transport(z, distance, self.sigma)[0])
        shape = np.shape(z)
        z, distance = np.ravel(z), np.ravel(distance)
        result: Array = np.where(np.isnan(z), np.nan, -np.inf)
        still = (distance == 0) & ~np.isnan(z)
        if still.any():
            result[still] = self.discrete.transport(z[still], key)[0]
        known = (z >= -_FAR_SCORE) & ~still & ((distance < np.inf) | (z == np.inf))
        if known.any():
            result[known] = self._moved_far(z[known], distance[known], key)
        return result.reshape(shape)

    def _moved_far(self, z: Array, distance: Array, key: Any) -> Array:
        # a score of no sample is lowered to one that doubles still tell apart
        finite = np.minimum(z, _FAR_SCORE)
        with np.errstate(under="ignore"):
            p = share_below(finite)
            q = np.where(z == np.inf, 0.0, share_above(-finite))
        far = np.minimum(distance, 1e6 * self.sigma)  # there nothing is left
        shift = np.maximum(self._shift(far), _LEAST_SHIFT)
        moved = np.asarray(z)
        for way in self._ways(key):
            least, most = way.ends(finite, p, q, shift)
            low = round_down(ndtri(least), NDTRI_ERROR)
            low = np.maximum(low, -round_up(ndtri(most), NDTRI_ERROR))
            sure = -round_up(ndtri(np.array(way.outside)), NDTRI_ERROR)
            moved = np.minimum(moved, np.where(z == np.inf, sure, low))
        return np.asarray(moved)

    def _radius(self, z_a: Array, rest: Array, changes: int) -> Array:
        """Radii of scores of A and of all that is not B, beside changes."""
        if changes == 0:
            value = gaussian.radius(z_a, self.sigma, -rest, scores=True)
            return np.asarray(value)
        shape = np.shape(z_a)
        z_a, rest = np.ravel(z_a), np.ravel(rest)
        twice = bool(np.array_equal(z_a, rest))

        def lead(shift: Array, which: Any) -> Array:
            distance = product(shift, self.sigma)
            first = self._moved(z_a[which], distance, changes)
            if twice:
                return 2 * first
            return first + self._moved(rest[which], distance, changes)

        everywhere = np.arange(len(z_a))
        result = np.zeros(z_a.shape)
        with np.errstate(invalid="ignore"):  # one event may be sure, and one vanish
            first = lead(result, everywhere)
            last = lead(np.full(z_a.shape, np.inf), everywhere)
        result[(z_a > -rest) & (last > 0)] = np.inf
        searched = np.flatnonzero((z_a > -rest) & (first > 0) & ~(last > 0))
        if searched.size:
            ends = [np.minimum(z[searched], _FAR_SCORE) for z in (z_a, rest)]
            shift = _last_above(
                lambda s, which: lead(s, searched[which]),
                np.minimum(first[searched], 2 * _FAR_SCORE),
                (ends[0] + ends[1]) / 2,
            )
            result[searched] = round_down(product(shift, self.sigma), 2 * EPS)
        return result.reshape(shape)


def _last_above(lead: Callable[[Array, Any], Array], first: Array, top: Array) -> Array:
    """Shifts at which a falling lead is above 0, next to where it ends.

    ``lead(shift, which)`` is asked for some of them, ``first`` is that of 0, above 0,
    and that of ``top`` is at most 0. The false position in a bracket (Illinois): of
    what it finds only points that were tried and are above 0 are returned.
    """
    low, high = np.zeros(top.shape), np.array(top)
    at_low, at_high = np.array(first), -first
    kept = np.zeros(top.shape)  # 1 where the upper end stayed last, -1 the lower one
    safe = np.zeros(top.shape)
    going = np.arange(len(top))
    for _ in range(60):
        if not going.size:
            break
        a, b, at_a, at_b = low[going], high[going], at_low[going], at_high[going]
        with np.errstate(invalid="ignore"):  # an end may have lost everything
            middle = a - at_a * (b - a) / (at_b - at_a)
        middle = np.where((a < middle) & (middle < b), middle, (a + b) / 2)
        value = lead(middle, going)
        good = value > 0
        # the end that stays twice is believed half as far: else it stays for ever
        at_b = np.where(kept[going] > 0, at_b / 2, at_b)
        at_a = np.where(kept[going] < 0, at_a / 2, at_a)
        at_high[going] = np.where(good, at_b, value)
        at_low[going] = np.where(good, value, at_a)
        kept[going] = np.where(good, 1.0, -1.0)
        low[going], high[going] = np.where(good, middle, a), np.where(good, b, middle)
        safe[going] = np.where(good, middle, safe[going])
        narrow = high[going] - low[going] <= 1e-13 * high[going]
        going = going[~(narrow | (abs(value) < 1e-12))]
    for share in (1e-13, 1e-12, 1e-11):
        tried = high * (1 - share)
        better = np.flatnonzero(tried > safe)
        if better.size:
            accepted = lead(tried[better], better) > 0
            safe[better] = np.where(accepted, tried[better], safe[better])
    return safe
