"""What every curve answers, from the regions of its kernel."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rsbounds._numerics.checks import Array, Floats, as_floats, broadcast, count
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.rationals import exact_probability
from rsbounds._numerics.rounding import EPS, round_down, round_up
from rsbounds._numerics.scores import LOG_NDTR_ERROR, NDTRI_ERROR, ndtri
from rsbounds.noises._exact import (
    float_above,
    float_down,
    float_up,
    score_above,
    upper_float,
)
from rsbounds.noises._regions import Regions
from rsbounds.noises._scores import checked_scores
from rsbounds.special import log_ndtr

NO_NOISE = "must not make the noise the same at every input; got"
#: Where the search of a radius or a frontier that may have no end stops.
FAR = 64
#: How many bits of regions are kept.
_KEPT = 2**30
#: An exponential of a logarithm, over 1 and that logarithm's size.
EXP_ERROR = 8 * EPS
#: The largest finite score that a search takes as it is: 1 - p is below 2e-33 there.
_SURE = 12.0


class Curve(ABC):
    """The least and the largest probability that an event can have within r changes.

    low(p, r) is convex and increasing in p, and falls with r; low(p, r) <= p <= high(p,
    r) = 1 - low(1 - p, r). What r counts is said by the function that makes the curve.
    A whole number r stands for that many changes whatever their kind: the least of low
    over all ways to split them.

    A Fraction is answered by a Fraction, exactly. A float is taken as the rational
    number that it is, and its answer is rounded to the safe side: low down, high and
    thresholds up.
    """

    def __init__(self) -> None:
        self._regions: dict[Hashable, Regions] = {}
        self._bits = 0  # of all regions that are kept
        # of 0, 1, ... changes, as many as arrays have asked for
        self._thresholds: list[float] = []
        self._score_thresholds: list[float] = []

    # what a kernel says ---------------------------------------------------------------

    @property
    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """The arguments that make the curve again."""

    @abstractmethod
    def _splits(self, changes: int) -> list[Hashable]:
        """Every way to split a number of changes by kinds, the worst of them too."""

    @abstractmethod
    def _counts(self, name: str, r: Any) -> Hashable:
        """Numbers of changes of each kind, checked."""

    @abstractmethod
    def _regions_of(self, counts: Any) -> Regions:
        """The regions at numbers of changes of each kind."""

    #: The largest number of changes there can be, None: any.
    limit: int | None = None

    # the public answers ---------------------------------------------------------------

    def low(self, p: Any, r: Any) -> Any:
        """The least probability within r changes of an event of probability p at x.

        Parameters
        ----------
        p : float, Fraction or array_like of float
            In [0, 1]; for a lower bound of the event's probability the result is one.
        r : int or tuple of int
            Changes, as the maker of the curve counts them.

        Returns
        -------
        float, Fraction or ndarray
            As p is. A float is the largest double that isn't above the exact value.

        Raises
        ------
        ValueError
            If an argument is out of its domain.
        """
        cases = self._cases("r", r)

        def rounded(value: Fraction) -> float:
            top, bottom = value.numerator, value.denominator
            return min(float_down(*regions.low_parts(top, bottom)) for regions in cases)

        def exact(value: Fraction) -> Fraction:
            return min(regions.low(value) for regions in cases)

        return _each(p, rounded, exact)

    def high(self, p: Any, r: Any) -> Any:
        """The largest probability within r changes, 1 - low(1 - p, r).

        Arguments and result as of :meth:`low`; a float is the least double that isn't
        below the exact value.
        """
        cases = self._cases("r", r)

        def exact(value: Fraction) -> Fraction:
            return 1 - min(regions.low(1 - value) for regions in cases)

        def rounded(value: Fraction) -> float:
            return float_up(*exact(value).as_integer_ratio())

        return _each(p, rounded, exact)

    def threshold(self, r: Any, *, exact: bool = False) -> Any:
        """The least double p_A that certifies the top class at r, alone.

        That is p_A with low(p_A, r) > 1/2, where every other class has at most 1 - p_A.

        Parameters
        ----------
        r : int or tuple of int
            As in :meth:`low`.
        exact : bool
            The number that p_A must exceed instead, as a Fraction.

        Returns
        -------
        float or Fraction
            inf where even p_A = 1 does not certify r.
        """
        infimum = self._infimum(self._key("r", r))
        if infimum is None:
            return math.inf
        if exact:
            return Fraction(*infimum)
        bound = float_above(*infimum)
        return bound if bound <= 1.0 else math.inf

    def score_threshold(self, r: Any) -> float:
        """A normal score that certifies the top class at r, alone; inf where none does.

        At most 1e-14 of it is rounding: probabilities next to 1 keep their precision.
        """
        infimum = self._infimum(self._key("r", r))
        # the number 1 is exceeded by no probability
        if infimum is None or infimum[0] == infimum[1]:
            return math.inf
        return score_above(*infimum)

    def certified(self, p_a: Any, r: Any, p_b: Any = None) -> bool:
        """Whether low(p_a, r) > high(p_b, r) for all ways to make r changes, exactly.

        ``p_a`` is a lower bound of the top class's probability, ``p_b`` an upper bound
        of every other class's, 1 - p_a by default; each a float or a Fraction.
        """
        top = exact_probability("p_a", p_a)
        rest = None if p_b is None else 1 - exact_probability("p_b", p_b)
        return self._holds(top, rest, self._key("r", r))

    def certified_by_scores(self, z_a: Any, r: Any, z_b: Any = None) -> bool:
        """The same for normal scores; probabilities next to 1 keep their precision."""
        top, rest = _bounds_of_scores(z_a, z_b)
        return self._holds(top, rest, self._key("r", r))

    def radius(self, p_a: Any, p_b: Any = None) -> Any:
        """The largest whole number r with every way to make r changes certified.

        Parameters
        ----------
        p_a : float, Fraction or array_like of float
            Lower bound of the top class's probability.
        p_b : the same, optional
            Upper bound of every other class's, 1 - p_a by default.

        Returns
        -------
        int, inf or ndarray of float64
            0 where p_a is not above p_b, too; inf where nothing can be reached (p_a =
            1). An array for arrays.

        Raises
        ------
        ValueError
            If an argument is out of its domain; NaN is.
        """
        if np.ndim(p_a) or np.ndim(p_b if p_b is not None else 0):
            return self._radius_of_arrays(p_a, p_b)
        top = exact_probability("p_a", p_a)
        rest = None if p_b is None else 1 - exact_probability("p_b", p_b)
        return self._largest(top, rest)

    def _radius_of_arrays(self, p_a: Any, p_b: Any) -> Any:
        a = as_floats("p_a", p_a, 0.0, 1.0, nan=False, towards=-math.inf)
        if p_b is None:
            thresholds = self._extended(self._thresholds, self.threshold, a, 1.0)
            self._thresholds = thresholds
            return self._radii(a, thresholds, 1.0)
        a, b = broadcast(
            p_a=a, p_b=as_floats("p_b", p_b, 0.0, 1.0, nan=False, towards=math.inf)
        )
        return _pairwise(self.radius, a, b)

    def radius_of_scores(self, z_a: ArrayLike, z_b: ArrayLike | None = None) -> Any:
        """:meth:`radius` of normal scores Phi^-1(p_a) and Phi^-1(p_b), -z_a by default.

        A float is taken as the score that it is; its probability is bounded to the safe
        side, in the tail that is the smaller. Finite scores above 12, which no number
        of samples shows, are taken as 12.
        """
        a = _not_above(as_floats("z_a", z_a, nan=False, towards=-math.inf))
        if z_b is None and np.ndim(a) == 0:
            return self._radius_of_score(float(a))
        if z_b is None:
            thresholds = self._extended(
                self._score_thresholds, self.score_threshold, a, math.inf
            )
            self._score_thresholds = thresholds
            return self._radii(a, thresholds, math.inf)
        a, b = broadcast(z_a=a, z_b=as_floats("z_b", z_b, nan=False, towards=math.inf))
        if np.ndim(a):
            return _pairwise(self._radius_of_pair, a, b)
        return self._radius_of_pair(float(a), float(b))

    def transport(self, z: ArrayLike, r: Any) -> tuple[Floats, Floats]:
        """How far an event's probability can move within r changes, in normal scores.

        Parameters
        ----------
        z : array_like
            Normal scores of the event's probability at x.
        r : int or tuple of int
            As in :meth:`low`.

        Returns
        -------
        low, high : float64 or ndarray
            Within r changes the event's score lies in [low, high]; rounded outward by
            4e-14 (l + s p) of the probability, l being what the event keeps, s the
            curve's slope there and p its probability, or the same of its complement:
            where s is large that may be many times l. -inf where the event may vanish.
        """
        scores = as_floats("z", z, nan=False)
        cases = self._cases("r", r)
        return self._lowered(scores, cases)[()], (-self._lowered(-scores, cases))[()]

    def frontier(self, p_a: Any, p_b: Any = None) -> list[tuple[Any, ...]]:
        """The largest numbers of changes that are certified, by kind.

        Returns
        -------
        list of tuple of int
            (r,) where there is one kind of changes; else the pairs (r_1, r_2) by rising
            r_1, each with the largest r_2 and without those that another contains.
            Empty where p_a is not above p_b.
        """
        top = exact_probability("p_a", p_a)
        rest = None if p_b is None else 1 - exact_probability("p_b", p_b)
        return self._frontier(top, rest)

    def frontier_of_scores(self, z_a: Any, z_b: Any = None) -> list[tuple[Any, ...]]:
        """:meth:`frontier` of normal scores, as in :meth:`radius_of_scores`."""
        return self._frontier(*_bounds_of_scores(z_a, z_b))

    def __repr__(self) -> str:
        arguments = ", ".join(f"{k}={v!r}" for k, v in self.parameters.items())
        return f"{type(self).__name__}({arguments})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Curve):
            return NotImplemented
        return type(self) is type(other) and self.parameters == other.parameters

    def __hash__(self) -> int:
        return hash((type(self), repr(self)))

    def __getstate__(self) -> dict[str, Any]:
        """All but what can be computed again."""
        computed = {
            "_regions": {},
            "_bits": 0,
            "_thresholds": [],
            "_score_thresholds": [],
        }
        return {**self.__dict__, **computed}

    # how they are found ---------------------------------------------------------------

    def _key(self, name: str, r: Any) -> Hashable:
        """One number of changes, or the numbers of each kind, checked."""
        # numbers of several kinds need not have one shape: ((1, 0), 2)
        if isinstance(r, Sequence) or np.ndim(r):
            return self._counts(name, r)
        return count(name, r)

    def _cases(self, name: str, r: Any) -> list[Regions]:
        return self._all_regions(self._key(name, r))

    def _all_regions(self, key: Hashable) -> list[Regions]:
        if isinstance(key, int):
            return [self._region(counts) for counts in self._splits(key)]
        return [self._region(key)]

    def _region(self, counts: Hashable) -> Regions:
        regions = self._regions.get(counts)
        if regions is None:
            regions = self._regions_of(counts)
            # a curve that hardly falls has regions of megabytes
            if len(self._regions) >= 1024 or self._bits + regions.bits > _KEPT:
                self._regions.clear()
                self._bits = 0
            self._regions[counts] = regions
            self._bits += regions.bits
        return regions

    def _infimum(self, key: Hashable) -> tuple[int, int] | None:
        """The number that p must exceed, as numerator and denominator; None: none."""
        largest = (0, 1)
        for regions in self._all_regions(key):
            parts = regions.infimum_parts()
            if parts is None:
                return None
            if parts[0] * largest[1] > largest[0] * parts[1]:
                largest = parts
        return largest

    def _holds(self, top: Fraction, rest: Fraction | None, key: Hashable) -> bool:
        """Whether low(top) + low(rest) > 1 for all ways; ``rest`` None: as ``top``."""
        for regions in self._all_regions(key):
            low = regions.low(top)
            if not low + (low if rest is None else regions.low(rest)) > 1:
                return False
        return True

    def _endless(self, top: Fraction, rest: Fraction | None) -> bool:
        """Whether every number of changes is certified."""
        sure = top == 1 or (rest == 1 if rest is not None else False)
        return (
            sure
            and self.limit is None
            and self._holds(top, rest, 0)
            and all(regions.covers for regions in self._all_regions(1))
        )

    def _largest(self, top: Fraction, rest: Fraction | None) -> Any:
        if self._endless(top, rest):
            return math.inf

        def holds(changes: int) -> bool:
            return self._holds(top, rest, changes)

        limit = self.limit
        if limit is None and 1 in (top, rest):
            limit = FAR  # some kinds of changes may have no end where others do
        return max(_last(holds, limit), 0)

    def _radius_of_pair(self, z_a: float, z_b: float | None) -> Any:
        return self._largest(*_bounds_of_scores(z_a, z_b))

    def _radius_of_score(self, z: float) -> Any:
        """The radius of one score: what many inputs ask is kept, the rest searched.

        Noise that hardly hides anything has radii of thousands of changes, and each
        threshold on the way there takes longer than the one before.
        """
        if z == math.inf:
            return self._largest(Fraction(1), None)

        def holds(changes: int) -> bool:
            return self.score_threshold(changes) <= z

        thresholds = self._extended(
            self._score_thresholds, self.score_threshold, np.asarray(z), math.inf, FAR
        )
        self._score_thresholds = thresholds
        place = bisect_right(thresholds, z) - 1
        if place == len(thresholds) - 1:
            return _last(holds, self.limit, start=place)
        return max(place, 0)

    def _extended(
        self,
        known: list[float],
        threshold: Callable[[int], float],
        values: Array,
        sure: float,
        most: int | None = None,
    ) -> list[float]:
        """Thresholds of 0, 1, ... changes, to one above all values below ``sure``, or
        to that of ``most`` changes.

        A new list: another thread may be reading the known one.
        """
        finite = np.asarray(values)[np.asarray(values) < sure]
        top = float(np.max(finite)) if finite.size else -math.inf
        thresholds = list(known)
        ends = [end for end in (self.limit, most) if end is not None]
        last = min(ends, default=math.inf)
        while len(thresholds) <= last and (not thresholds or thresholds[-1] <= top):
            thresholds.append(threshold(len(thresholds)))
        return thresholds

    def _radii(self, values: Array, thresholds: list[float], sure: float) -> Array:
        """The places of values among the thresholds of 0, 1, ... changes.

        ``sure`` is the value of p = 1, which may have no place.
        """
        places = np.searchsorted(thresholds, values, side="right") - 1.0
        radii = np.maximum(places, 0.0)
        is_sure = values == sure
        if np.any(is_sure):
            radii = np.where(is_sure, self._largest(Fraction(1), None), radii)
        return np.asarray(radii)

    def _lowered(self, z: Array, cases: Sequence[Regions]) -> Array:
        p, q = _tails(z)
        least: Array = np.full(np.shape(z), np.inf)
        for regions in cases:
            low = round_down(ndtri(regions.corners.low(p)), NDTRI_ERROR)
            high = -round_up(ndtri(regions.corners.high(q)), NDTRI_ERROR)
            least = np.minimum(least, np.maximum(low, high))
        return least

    def _frontier(self, top: Fraction, rest: Fraction | None) -> list[tuple[Any, ...]]:
        return [(self._largest(top, rest),)] if self._holds(top, rest, 0) else []


def pairs(curve: Curve, top: Fraction, rest: Fraction | None) -> list[tuple[Any, ...]]:
    """The frontier of two kinds of changes."""
    if curve._endless(top, rest):
        return [(math.inf, math.inf)]
    # a kind that has no end at p = 1 is searched no further than this
    limits = [FAR if 1 in (top, rest) else None] * 2

    def holds(first: int, second: int) -> bool:
        return curve._holds(top, rest, curve._counts("r", (first, second)))

    return list(_staircase(holds, limits))


def partly_common(at_x: Fraction, at_other: Fraction) -> Regions:
    """What x alone produces, and what both do, of these probabilities at each."""
    scale = math.lcm(at_x.denominator, at_other.denominator)
    common = at_x.numerator * (scale // at_x.denominator)
    shifted = at_other.numerator * (scale // at_other.denominator)
    return Regions([scale - common, common], [0, shifted], scale)


def numbers(name: str, r: Any, kinds: int) -> tuple[int, ...]:
    """Numbers of changes of so many kinds, or ArgumentError."""
    if not isinstance(r, Iterable) or len(given := list(r)) != kinds:
        raise ArgumentError(
            name, f"must be a whole number, or {kinds} of them; got {r!r}"
        )
    return tuple(count(name, number) for number in given)


def _staircase(
    holds: Callable[[int, int], bool], limits: Sequence[int | None]
) -> list[tuple[int, int]]:
    """The largest pairs that hold, where what holds for a pair holds below it."""
    if not holds(0, 0):
        return []
    second = _last(lambda n: holds(0, n), limits[1])
    result: list[tuple[int, int]] = []
    first = 0
    while second >= 0:
        stay = second

        def along(n: int, second: int = stay) -> bool:
            return holds(n, second)

        first = _last(along, limits[0], start=first)
        result.append((first, second))
        if limits[0] is not None and first >= limits[0]:
            break
        first += 1
        second -= 1
        while second >= 0 and not holds(first, second):
            second -= 1
    return result


def _last(holds: Callable[[int], bool], limit: int | None, start: int = 0) -> int:
    """The last number that holds, from ``start`` on; start - 1 where it doesn't."""
    if not holds(start):
        return start - 1
    good, step = start, 1
    while limit is None or good + step <= limit:
        if not holds(good + step):
            break
        good += step
        step *= 2
    else:
        step = limit - good + 1  # beyond the limit nothing need be asked
    bad = good + step
    while bad - good > 1:
        middle = (good + bad) // 2
        if holds(middle):
            good = middle
        else:
            bad = middle
    return good


def _each(
    p: Any,
    rounded: Callable[[Fraction], float],
    exact: Callable[[Fraction], Fraction],
) -> Any:
    """A Fraction's answer exact, a number's rounded, an array's for each number."""
    if np.ndim(p) == 0 and not isinstance(p, np.ndarray):
        value = exact_probability("p", p)
        if isinstance(p, Fraction):
            return exact(value)
        return rounded(value)
    given = np.asarray(p)
    array = as_floats("p", given, 0.0, 1.0, nan=False)
    if given.dtype == np.longdouble:
        values, places = np.unique(given, return_inverse=True)
    else:
        # told apart by their bits: a processor may be set to take the smallest for 0
        bits, places = np.unique(array.view(np.int64), return_inverse=True)
        values = bits.view(np.float64)
    results = np.array([rounded(exact_probability("p", value)) for value in values])
    return results[places].reshape(array.shape)


def _pairwise(radius: Callable[[Any, Any], Any], a: Array, b: Array) -> Array:
    known: dict[tuple[float, float], float] = {}
    pairs = list(zip(a.ravel().tolist(), b.ravel().tolist(), strict=True))
    for pair in pairs:
        if pair not in known:
            known[pair] = float(radius(pair[0], pair[1]))
    return np.array([known[pair] for pair in pairs]).reshape(a.shape)


def _tails(z: Array) -> tuple[Array, Array]:
    """A lower bound of Phi(z) and an upper bound of Phi(-z), in doubles."""
    # the tails of an infinite score, set below, are inf - inf until then
    with np.errstate(under="ignore", invalid="ignore"):
        # a finite logarithm for every finite score: -inf less a share of it is NaN
        log_p, log_q = log_ndtr(z), np.maximum(log_ndtr(-z), -1e300)
        low = np.exp(log_p + log_p * LOG_NDTR_ERROR)
        high = np.exp(log_q - log_q * LOG_NDTR_ERROR)
        low = np.where(low < 1e-300, 0.0, round_down(low, EXP_ERROR * (1.0 - log_p)))
        high = round_up(high, EXP_ERROR * (1.0 - log_q))
        high = np.minimum(upper_float(high), 1.0)
    low = np.where(z == np.inf, 1.0, np.where(z == -np.inf, 0.0, low))
    high = np.where(z == np.inf, 0.0, np.where(z == -np.inf, 1.0, high))
    return low, high


def _not_above(scores: Array) -> Array:
    """Finite scores, none above ``_SURE``: a search for changes has an end there."""
    lowered: Array = np.where(np.isfinite(scores), np.minimum(scores, _SURE), scores)
    return lowered


def _bounds_of_scores(z_a: Any, z_b: Any) -> tuple[Fraction, Fraction | None]:
    """Rational lower bounds of p_a and of 1 - p_b, each from its smaller tail."""
    first, second = checked_scores(z_a, z_b, nan=False)
    scores = _not_above(np.array([first, 0.0 if second is None else -second]))
    low, high = _tails(scores)
    top, rest = (
        Fraction(float(p)) if z <= 0 else 1 - Fraction(float(q))
        for z, p, q in zip(scores, low, high, strict=True)
    )
    return top, None if second is None else rest
