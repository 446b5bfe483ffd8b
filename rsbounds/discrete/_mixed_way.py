"""The regions of one way to make changes, beside a shift of the Gaussian part.

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

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from rsbounds._numerics.checks import Array
from rsbounds._numerics.rounding import EPS, round_down, round_up
from rsbounds._numerics.scores import NDTRI_ERROR, ndtri
from rsbounds.discrete._regions import Regions, Shares
from rsbounds.noises.internal import share_above, share_below
from rsbounds.special import log_ndtr

#: A shift, in levels, below which one of this size is taken: a larger one is worse.
LEAST_SHIFT = 1e-9
#: Scores beyond which nothing finite is looked at; Phi(-37) is 6e-300.
FAR_SCORE = 37.0
#: Beyond this distance from the middle the normal law has less than any double.
_SETTLED = 39.0
#: A sum of positive terms, pairwise as NumPy adds, and the rounding of each term.
_SUM_ERROR = 48 * EPS
#: What masses may lose that are smaller than any double.
_LOST = 1e-300
#: Steps of a search, more than halving alone takes.
_STEPS = 120
#: Errors of an event's score at which its t is good enough to move the shift, to say
#: of a lead that is no smaller on which side of it the radius is, the same of any lead,
#: and to end the search.
_USEFUL, _ROUGH, _TELLING, _FOUND = 1e-2, 1e-3, 1e-6, 1e-8


class Events(NamedTuple):
    """Events at x: a score of each, finite, and bounds of what it has and lacks.

    An event has at least ``p`` and lacks at most ``q``; nothing is lacked by a sure one
    alone.
    """

    z: Array
    p: Array
    q: Array

    @classmethod
    def of_scores(cls, z: Array) -> Events:
        # a score of no sample is lowered to one that doubles still tell apart
        finite = np.clip(z, -FAR_SCORE, FAR_SCORE)
        with np.errstate(under="ignore"):
            p = np.where(z < -FAR_SCORE, 0.0, share_below(finite))
            q = np.where(z == np.inf, 0.0, share_above(-finite))
        return cls(finite, p, q)

    @classmethod
    def of_probabilities(cls, p: Array, q: Array) -> Events:
        z = np.where(q < 0.5, -ndtri(q), ndtri(p))
        return cls(np.clip(z, -FAR_SCORE, FAR_SCORE), p, q)

    def of(self, which: Any) -> Events:
        """The events at some places."""
        return Events(self.z[which], self.p[which], self.q[which])


class _EventAtShift(NamedTuple):
    """The event of one t at a shift: its score at x and how that rises with t."""

    error: Array  # its score less the wanted one
    slope: Array  # how that rises with t
    ends: Array  # c_k
    weight: Array  # of each region's end, in one unit for all


class _EventAtBothPoints(NamedTuple):
    """The event of one t at a shift: its scores at x and at x' and how they change."""

    error: Array
    slope: Array
    moved: Array  # the score at x' of the wanted one, to the second order of the error
    fall: Array  # how that falls with the shift
    turn: Array  # how t rises with the shift, for the wanted one


class _Found(NamedTuple):
    """Shifts at which leads end, about."""

    shift: Array
    t: Array  # of each event
    fall: Array  # of the scores together
    turn: Array


class Way:
    """The regions of one way to make the changes, in doubles."""

    def __init__(self, regions: Regions) -> None:
        self.mass = regions.mass
        self.shifted_mass = regions.shifted_mass
        #: What x' produces and x doesn't, rounded up.
        self.outside = regions.outside
        self._regions = regions
        self._share_error = _SUM_ERROR + 2 * regions.error
        self._lost = _LOST + regions.lost
        # of a quotient of two masses, and of its logarithm beside its size
        self._log_error = 2.1 * regions.error + 2 * EPS
        with np.errstate(divide="ignore"):
            self.log = -np.log(self.shifted_mass / self.mass)
        shared = np.isfinite(self.log)
        self._mass = self.mass[shared]
        self._shifted_mass = self.shifted_mass[shared]
        self._log = self.log[shared]
        self._whole = float(self._mass.sum())
        self._before = np.concatenate([[0.0], np.cumsum(self._mass)])
        #: What x produces and x' doesn't: it is in the event first.
        self._alone = float(self.mass[~shared].sum())

    # bounds, proved -------------------------------------------------------------------

    def still(self, events: Events) -> tuple[Array, Array]:
        """The bounds of :meth:`ends` without a shift."""
        least, most = self._regions.ends(Shares(events.p, events.q))
        return least, most

    def ends(
        self, events: Events, shift: Array, t: Array | None = None
    ) -> tuple[Array, Array]:
        """A lower bound of what an event has at x', and an upper one of what it lacks.

        The shift is at least ``LEAST_SHIFT``. The bounds hold for any t; without one it
        is looked for.
        """
        z, p, q = events
        if not self._mass.size:
            return np.zeros(np.shape(z)), np.ones(np.shape(z))
        if t is None:
            t = self._tilt(self._shared_score(events), shift)
        t, s = t[:, None], shift[:, None]
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            c = (t + self.log) / s + s / 2
            x = c - s
            loss, unsure = self._loss(t, s, c, x)
            moved = _sum(self.shifted_mass * share_below(x) * (1 - loss))
            lacked = _sum(self.shifted_mass * share_above(-x) * (1 + loss))
            inside = _sum(self.mass * share_above(c))
            left = _sum(self.mass * share_below(-c))
            slope = np.exp(t[:, 0])
            more = _times(slope, p - (round_up(inside, self._share_error) + self._lost))
            lack = _times(slope, q - round_down(left, self._share_error))
            least = round_down(moved, self._share_error) - self._lost + more
            least -= 4 * EPS * (moved + abs(more))
            most = round_up(lacked, self._share_error) + self._lost
            most += self._regions.absent + lack
            most += 4 * EPS * (most + 2 * abs(lack))
        least = np.where(unsure | ~(least > 0), 0.0, least)
        most = np.where(unsure | ~(most < 1), 1.0, most)
        # a sure event has all that x produces, however far
        return least, np.where(q == 0, self.outside, most)

    def scores(self, ends: tuple[Array, Array]) -> Array:
        """The least score at x' by such bounds, rounded down."""
        least, most = ends
        low = round_down(ndtri(least), NDTRI_ERROR)
        return np.maximum(low, -round_up(ndtri(most), NDTRI_ERROR))

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
        d = (self._log_error + 2 * EPS * size) / s + 2 * EPS * (abs(c) + s)
        d = np.where(near, d, 0.0)
        away = np.where(near, abs(x), 0.0)
        loss = 2 * (1 + away) * s * d**2 + (1 + away) ** 2 * 2 * EPS
        return loss, (d > 0.01).any(axis=1)

    # radii: looked for in floating point, then proved --------------------------------

    def lead(self, pairs: Sequence[Events]) -> Array:
        """The mean score at x' of what is A and what is not B, without a shift.

        ``pairs`` has one of the two where they are alike.
        """
        still = [self.scores(self.still(events)) for events in pairs]
        with np.errstate(invalid="ignore"):  # one event may be sure, and one vanish
            mean: Array = np.mean(still, axis=0)
        return mean

    @cached_property
    def usual_lead(self) -> float:
        """What a score of 2, which many inputs have, is moved to without a shift."""
        lead = float(self.lead([Events.of_scores(np.array([2.0]))])[0])
        return max(lead, -FAR_SCORE)

    def radii(self, pairs: Sequence[Events], first: Array, top: Array) -> Array:
        """The largest shifts, none above ``top``, at which events lead together.

        They lead while their scores at x' have a sum above 0; ``first`` is their lead
        without a shift. Never above the true shift; 0 where they don't lead without
        one.
        """
        result = np.zeros(top.shape)
        which = np.flatnonzero((first > 0) & (top > 0))
        if which.size and self._mass.size:
            pairs = [events.of(which) for events in pairs]
            found = self._found(pairs, first[which], top[which])
            result[which] = self._proved(pairs, found, top[which])
        return result

    @np.errstate(all="ignore")  # what overflows far from the end is halved instead
    def _found(self, pairs: Sequence[Events], first: Array, top: Array) -> _Found:
        """Where the lead ends, about: Newton's steps in a bracket, of all t together.

        ``first`` is the mean score without a shift; each falls by about the shift.
        """
        z = np.stack([self._shared_score(events) for events in pairs])
        shift = np.clip(first, np.minimum(LEAST_SHIFT, top), top)
        t = np.stack([self._start(scores, shift) for scores in z])
        least, most = self._span(z, shift)
        low, high = np.zeros(top.shape), np.full(top.shape, np.inf)
        fall, turn = np.ones(top.shape), np.zeros(t.shape)
        going = np.arange(len(top))
        for _ in range(_STEPS):
            s, at = shift[going], t[:, going]
            near = self._event_at_both(z[:, going], at, s)
            error = abs(near.error).max(axis=0)
            lead, falls = near.moved.sum(axis=0), near.fall.sum(axis=0)
            fall[going], turn[:, going] = falls, near.turn
            # the lead is known to about the square of the error
            telling = (error < _TELLING) | ((error < _ROUGH) & (abs(lead) > error))
            low[going] = np.where(telling & (lead > 0), s, low[going])
            high[going] = np.where(telling & ~(lead > 0), s, high[going])
            step = _shift_stepped(s, lead / falls, low[going], high[going], top[going])
            # with a t that is far off the lead says nothing: t alone moves
            step = np.where(error < _USEFUL, step, s)
            below, above = _narrowed(near.error, at, least[:, going], most[:, going])
            at = _stepped(at, near.error, near.slope, below, above)
            span = self._span(z[:, going], step)
            least[:, going] = np.where(step == s, below, span[0])
            most[:, going] = np.where(step == s, above, span[1])
            at = at + near.turn * (step - s)
            t[:, going] = np.clip(at, least[:, going], most[:, going])
            shift[going] = step
            done = (error < _FOUND) & (abs(step - s) <= 1e-9 * s)
            going = going[~(done | (low[going] >= top[going]))]
            if not going.size:
                break
        return _Found(shift, t, fall, turn)

    @np.errstate(invalid="ignore")  # one event may be sure, and one vanish
    def _proved(self, pairs: Sequence[Events], found: _Found, top: Array) -> Array:
        """Shifts next to those found at which the bounds lead; 0 without one."""
        # a top is tried as it is: it may be the radius of another way
        margin = np.where(found.shift < top, 1e-13 * found.shift, 0.0)
        result = np.zeros(top.shape)
        going = np.arange(len(top))
        while going.size:
            tried = found.shift[going] - margin[going]
            taken = np.maximum(tried, LEAST_SHIFT)
            lead = np.zeros(going.shape)
            for events, t, turn in zip(pairs, found.t, found.turn, strict=True):
                near = t[going] + turn[going] * (taken - found.shift[going])
                lead = lead + self.scores(self.ends(events.of(going), taken, near))
            result[going] = np.where(lead > 0, tried, 0.0)
            # a little more than Newton's step says, and twice the last one
            more = np.minimum(-1.1 * lead / found.fall[going], found.shift[going])
            last = 2 * margin[going] + 1e-15 * found.shift[going]
            margin[going] = np.fmax(last, more)
            going = going[~(lead > 0) & (margin[going] < found.shift[going])]
        return result

    # searches, not proved -------------------------------------------------------------

    def _shared_score(self, events: Events) -> Array:
        """An event's score among what x' produces too."""
        z, p, q = events
        if self._alone > 0:
            with np.errstate(under="ignore"):
                upper = -ndtri(np.minimum(q / self._whole, 1.0))
                lower = ndtri(np.clip((p - self._alone) / self._whole, 0.0, 1.0))
            z = np.where(z > 0, upper, lower)
        return np.clip(z, -FAR_SCORE, FAR_SCORE)

    def _tilt(self, z: Array, shift: Array) -> Array:
        """The t at which events have about these scores, by Newton's steps."""
        least, most = self._span(z, shift)
        t = self._start(z, shift)
        going = np.arange(len(z))
        for _ in range(_STEPS):
            error, slope, *_ = self._event_at(z[going], t[going], shift[going])
            ends = _narrowed(error, t[going], least[going], most[going])
            still = (abs(error) > _FOUND) & (ends[0] < ends[1])
            least[going], most[going] = ends
            stepped = _stepped(t[going], error, slope, *ends)
            t[going] = np.where(still, stepped, t[going])
            going = going[still]
            if not going.size:
                break
        return t

    def _span(self, z: Array, shift: Array) -> tuple[Array, Array]:
        """Between which numbers t is: the end of each region were z if it was alone."""
        middle = shift * (z - shift / 2)
        return middle - self._log.max(), middle - self._log.min()

    def _start(self, z: Array, shift: Array) -> Array:
        """Where the search begins, the better of two guesses.

        A large shift hardly sees the regions, and a small one is in one of them.
        """
        mass, log = self._mass, self._log
        wide = shift * (z - shift / 2) - float((mass * log).sum()) / self._whole
        with np.errstate(under="ignore"):
            share = np.exp(log_ndtr(z)) * self._whole
        place = np.searchsorted(self._before[1:-1], share, side="right")
        within = (share - self._before[place]) / mass[place]
        narrow = shift * ndtri(np.clip(within, 1e-9, 1 - 1e-9)) - log[place]
        narrow = np.clip(narrow, *self._span(z, shift))
        with np.errstate(all="ignore"):
            found = [self._score(z, t, shift[..., None])[0] for t in (wide, narrow)]
        errors = [abs(score - z) for score in found]
        return np.where(errors[0] <= errors[1], wide, narrow)

    def _event_at(self, z: Array, t: Array, shift: Array) -> _EventAtShift:
        """What the event of t has at x."""
        s = shift[..., None]
        with np.errstate(all="ignore"):
            score, ends = self._score(z, t, s)
            weight = np.exp((score[..., None] ** 2 - ends**2) / 2) * self._mass
            slope = weight.sum(axis=-1) / (shift * self._whole)
        return _EventAtShift(score - z, slope, ends, weight)

    def _score(self, z: Array, t: Array, s: Array) -> tuple[Array, Array]:
        """The score at x of the event of t, and its ends; z is about that score."""
        ends = (t[..., None] + self._log) / s + s / 2
        # of its smaller tail: the other one has no digits left
        side = np.where(z < 0, 1.0, -1.0)
        tail = _weighed(np.exp(log_ndtr(side[..., None] * ends)), self._mass)
        tail = tail / self._whole
        return side * ndtri(np.minimum(tail, 1.0)), ends

    def _event_at_both(self, z: Array, t: Array, shift: Array) -> _EventAtBothPoints:
        """The event of t at x and at x'."""
        error, slope, ends, weight = self._event_at(z, t, shift)
        with np.errstate(all="ignore"):
            turn = (ends * weight).sum(axis=-1) / weight.sum(axis=-1) - shift
            x = ends - shift[..., None]
            side = np.where(_weighed(x, self._shifted_mass) < 0, 1.0, -1.0)
            tail = _weighed(np.exp(log_ndtr(side[..., None] * x)), self._shifted_mass)
            tail = np.where(side < 0, tail + self.outside, tail)
            score = side * ndtri(np.minimum(tail, 1.0))
            ratios = np.exp((score[..., None] ** 2 - x**2) / 2)
            fall = _weighed(ratios, self._shifted_mass)
            moved = score - error * fall / (shift * slope)
        return _EventAtBothPoints(error, slope, moved, fall, turn)


def _shift_stepped(
    shift: Array, ahead: Array, low: Array, high: Array, top: Array
) -> Array:
    """Newton's step ``ahead``, or the middle of the bracket that it would leave.

    A top that was not tried is no end of the bracket: the step may end there.
    """
    step = np.minimum(shift + ahead, top)
    inside = (low < step) & (step < high) | (step == shift)
    return np.where(inside, step, (low + np.minimum(high, top)) / 2)


def _narrowed(error: Array, t: Array, least: Array, most: Array) -> tuple[Array, Array]:
    """A bracket of t, with the sign of the error of an event at t."""
    return np.where(error < 0, t, least), np.where(error > 0, t, most)


def _stepped(t: Array, error: Array, slope: Array, least: Array, most: Array) -> Array:
    """Newton's step from t, or the middle of the bracket that it would leave."""
    with np.errstate(all="ignore"):
        step = t - error / slope
    # t is an end of the bracket itself: a step of nothing stays there
    inside = (least < step) & (step < most) | (step == t)
    return np.where(inside, step, (least + most) / 2)


def _sum(terms: Array) -> Array:
    result: Array = np.sum(terms, axis=1)
    return result


def _weighed(values: Array, mass: Array) -> Array:
    """Sums of the last axis, weighed by masses.

    A product of matrices rounds otherwise than one of vectors: an answer would depend
    on what else is asked with it.
    """
    result: Array = (values * mass).sum(axis=-1)
    return result


def _times(slope: Array, gap: Array) -> Array:
    """A product in which an infinite slope makes nothing of nothing."""
    return np.where(gap == 0, 0.0, slope * gap)
