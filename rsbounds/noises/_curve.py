"""What every curve answers, from the regions of its kernel."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rsbounds._numerics.checks import (
    Array,
    Floats,
    as_floats,
    broadcast,
    count,
    shape_of,
)
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.rationals import exact_probability
from rsbounds._numerics.rounding import round_down, round_up
from rsbounds._numerics.scores import NDTRI_ERROR, ndtri
from rsbounds.noises._estimates import DOUBLE, Kind, Part, bits, size
from rsbounds.noises._exact import float_above, float_up, leading_up
from rsbounds.noises._questions import (
    Question,
    Questions,
    ScoreQuestion,
    Shares,
    may_be_least,
    score_threshold,
)
from rsbounds.noises._regions import Regions, low_float
from rsbounds.noises._scores import bounds_of_scores, not_above, tails
from rsbounds.noises._search import by_pair, last, last_of_each, rising, staircase
from rsbounds.noises._values import Values
from rsbounds.noises._ways import (
    Answers,
    Cases,
    Counts,
    Places,
    Ways,
    least_of,
    numbers,
    worst,
)

NO_NOISE = "must not make the noise the same at every input; got"
#: Where the search of a radius or a frontier that may have no end stops.
FAR = 64
#: Changes of either kind beyond which a frontier isn't searched, by the kinds that
#: changes are split over.
WIDE = {2: 512, 3: 64, 4: 24}
#: How many bits of regions are kept.
_KEPT = 2**30
#: Bits of exact numbers that an answer may need: about a second's work.
_EXACT = 2**31
#: What estimates of ways may take together, about half a second, and those of one way,
#: in numbers of regions.
_LOOKS = 2**23
_LOOK = 4096


class Curve(ABC):
    """The least and the largest probability that an event can have within r changes.

    low(p, r) is convex and increasing in p, and falls with r; low(p, r) <= p <= high(p,
    r) = 1 - low(1 - p, r). What r counts is said by the function that makes the curve.
    A whole number r stands for that many changes whatever their kind: the least of low
    over all ways to split them.

    A Fraction is answered by a Fraction, exactly. A float is taken as the rational
    number that it is, and its answer is rounded to the safe side: low down, high and
    thresholds up.

    Exact numbers grow with the changes. Where they would take more than about a second
    :meth:`low`, :meth:`high` and the thresholds raise ValueError, :meth:`transport`
    promises nothing, and what is certified is decided in floating point: and what lies
    within 1e-9 of its edge is not certified. Noise with a chance below 1e-290 is
    answered by exact numbers alone. An array takes at most as long as calls for its
    different answers. No more than :attr:`far` changes are certified at all; frontiers
    end at 512 of either kind, those of blocks whose changes are of three, four or more
    kinds at 64, 24 or 16. A number there says that so many changes are certified, and
    not that more are not.
    """

    def __init__(self) -> None:
        self._regions: dict[Counts, Regions] = {}
        self._bits = 0  # of all regions that are kept

    # what a kernel says ---------------------------------------------------------------

    #: How many numbers say what changes were made.
    kinds: int = 1
    #: Whether each change of a kind does the same, however many there are.
    alike: bool = True
    #: The largest number of changes there can be, None: any.
    limit: int | None = None
    #: The largest number of changes that a search looks at.
    far: int = 4096
    #: Of how many values of an array radii are asked at first; of the others only where
    #: their neighbours' differ.
    asked_first: int = 16

    @property
    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """The arguments that make the curve again."""

    @abstractmethod
    def _regions_of(self, counts: Counts) -> Regions:
        """The regions at numbers of changes of each kind."""

    @abstractmethod
    def _parts(self, counts: Counts) -> list[Part] | None:
        """The same by independent coordinates; None: the numbers are too large."""

    @cached_property
    def _worst(self) -> Counts:
        """The kinds that changes of any kind need be split over."""
        return self._worst_of(range(self.kinds))

    def _worst_of(self, kinds: Sequence[int]) -> Counts:
        # where a change does less than the one before it, what one of each kind does
        # says nothing of several
        if len(kinds) == 1 or not self.alike:
            return tuple(kinds)
        single = [tuple(int(i == kind) for i in range(self.kinds)) for kind in kinds]
        places = worst([self._region(counts) for counts in single])
        return tuple(kinds[place] for place in places)

    def _ways(self, name: str, r: Any) -> Ways:
        """Every way to make one number of changes, or those of each kind; checked.

        Ways that were checked stand for themselves.
        """
        if isinstance(r, Ways):
            return r
        # numbers of several kinds need not have one shape: ((1, 0), 2)
        if isinstance(r, Sequence) or np.ndim(r):
            return self._ways_of_kinds(name, r)
        return Ways((0,) * self.kinds, ((count(name, r), self._worst),))

    def _ways_of_kinds(self, name: str, r: Any) -> Ways:
        return Ways(numbers(name, r, self.kinds))

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
            If an argument is out of its domain, or ``r`` more than can be exact.
        """
        ways = self._ways("r", r)
        values = Values.of(p)
        cases = self._least("r", ways, Shares.of(values.exact))

        def rounded(value: Fraction, own: Iterator[Regions]) -> Any:
            parts = value.numerator, value.denominator
            return least_of(low_float(regions, *parts) for regions in own)

        def exact(value: Fraction, own: Iterator[Regions]) -> Any:
            return least_of(regions.low(value) for regions in own)

        return values.answered(cases, rounded, exact)

    def high(self, p: Any, r: Any) -> Any:
        """The largest probability within r changes, 1 - low(1 - p, r).

        Arguments and result as of :meth:`low`; a float is the least double that isn't
        below the exact value.
        """
        ways = self._ways("r", r)
        values = Values.of(p)
        cases = self._least("r", ways, Shares.of(1 - value for value in values.exact))

        def exact(value: Fraction, own: Iterator[Regions]) -> Any:
            return 1 - least_of(regions.low(1 - value) for regions in own)

        def rounded(value: Fraction, own: Iterator[Regions]) -> Any:
            rest = (1 - value).as_integer_ratio()
            kept = (regions.low_parts(*rest) for regions in own)
            return -least_of((-float_up(w - part, w) for part, w in kept), end=-1)

        return values.answered(cases, rounded, exact)

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
        infimum = self._infimum(self._hardest("r", self._ways("r", r)))
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
        return max(
            score_threshold(regions)
            for regions in self._hardest("r", self._ways("r", r))
        )

    def certified(self, p_a: Any, r: Any, p_b: Any = None) -> bool:
        """Whether low(p_a, r) > high(p_b, r) for all ways to make r changes, exactly.

        ``p_a`` is a lower bound of the top class's probability, ``p_b`` an upper bound
        of every other class's, 1 - p_a by default; each a float or a Fraction.
        """
        return self._holds(_question(p_a, p_b), self._ways("r", r))

    def certified_by_scores(self, z_a: Any, r: Any, z_b: Any = None) -> bool:
        """The same for normal scores; probabilities next to 1 keep their precision."""
        question = _question_of_scores(z_a, z_b)
        return self._holds(question, self._ways("r", r))

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
            1). An array for arrays: each number of changes is looked at once for all
            values together.

        Raises
        ------
        ValueError
            If an argument is out of its domain; NaN is.
        """
        if not shape_of("p_a", p_a) and (p_b is None or not shape_of("p_b", p_b)):
            return self._largest(_question(p_a, p_b))
        a = as_floats("p_a", p_a, 0.0, 1.0, nan=False, towards=-math.inf)
        if p_b is None:
            ask = partial(self._rising, lambda p: _question(p, None))
            return rising(ask, a, self.asked_first)
        b = as_floats("p_b", p_b, 0.0, 1.0, nan=False, towards=math.inf)
        return by_pair(
            lambda pairs: self._radii([_question(*pair) for pair in pairs]),
            *broadcast(p_a=a, p_b=b),
        )

    def radius_of_scores(self, z_a: ArrayLike, z_b: ArrayLike | None = None) -> Any:
        """:meth:`radius` of normal scores Phi^-1(p_a) and Phi^-1(p_b), -z_a by default.

        A float is taken as the score that it is; its probability is bounded to the safe
        side, in the tail that is the smaller. Finite scores above 12, which no number
        of samples shows, are taken as 12.
        """
        a = not_above(as_floats("z_a", z_a, nan=False, towards=-math.inf))
        if z_b is None:
            if np.ndim(a) == 0:
                return self._largest(_score_question(float(a)))
            ask = partial(self._rising, _score_question)
            return rising(ask, a, self.asked_first)
        a, b = broadcast(z_a=a, z_b=as_floats("z_b", z_b, nan=False, towards=math.inf))
        if np.ndim(a):
            return by_pair(
                lambda pairs: self._radii([_question_of_scores(*z) for z in pairs]),
                a,
                b,
            )
        return self._largest(_question_of_scores(float(a), float(b)))

    @np.errstate(under="ignore")  # ends may be smaller than any double
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
            where s is large that may be many times l. -inf where the event may vanish,
            or r is more than can be exact.

        Raises
        ------
        ValueError
            If an argument is out of its domain; NaN is, and a score that float64
            doesn't hold.
        """
        scores = as_floats("z", z, exact=True, nan=False)
        ways = self._ways("r", r)
        try:
            # both ends together, as every way is looked at once
            low, high = self._lowered(np.stack([scores, -scores]), ways)
        except ArgumentError:
            nothing = np.full(scores.shape, math.inf)
            return -nothing[()], nothing[()]
        return low[()], -high[()]

    def frontier(self, p_a: Any, p_b: Any = None) -> list[tuple[Any, ...]]:
        """The largest numbers of changes that are certified, by kind.

        Returns
        -------
        list of tuple of int
            (r,) where there is one kind of changes; else the pairs (r_1, r_2) by rising
            r_1, each with the largest r_2 and without those that another contains.
            Empty where p_a is not above p_b.
        """
        return self._frontier(_question(p_a, p_b))

    def frontier_of_scores(self, z_a: Any, z_b: Any = None) -> list[tuple[Any, ...]]:
        """:meth:`frontier` of normal scores, as in :meth:`radius_of_scores`."""
        return self._frontier(_question_of_scores(z_a, z_b))

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
        return {**self.__dict__, "_regions": {}, "_bits": 0}

    # how they are found ---------------------------------------------------------------

    def _is_exact(self, ways: Ways) -> bool:
        """Whether exact numbers take about a second, or less."""
        # numbers are longest, or nearly, where all kinds have as many changes
        each = self._bits_of(ways.middle)
        return each is not None and ways.number * each <= _EXACT

    def _bits_of(self, counts: Counts) -> int | None:
        """About how many bits the exact masses at some changes have; None: too many."""
        parts = self._parts(counts)
        return None if parts is None else bits(parts)

    def _cases(self, name: str, r: Any) -> Cases:
        return self._every(name, self._ways(name, r))

    def _every(self, name: str, ways: Ways) -> Cases:
        """The regions of every way to make some changes."""
        if not self._is_exact(ways):
            raise self._too_many(name, ways)
        return Cases(self._region, list(ways.every()))

    def _least(self, name: str, ways: Ways, shares: Shares) -> Cases:
        """The regions of some ways, among which are those that keep least of events."""
        if shares.kind is None or not self._has_estimates(ways, len(shares.shares)):
            return self._every(name, ways)
        every = list(ways.every())
        kept = [shares.kept(self._parts(counts)) for counts in every]
        may = may_be_least(kept, len(shares.shares))
        some = np.flatnonzero(may.any(axis=1))
        return self._few(name, ways, [every[i] for i in some.tolist()], may[some])

    def _hardest(self, name: str, ways: Ways) -> Iterable[Regions]:
        """The same, among which are those of the largest threshold."""
        if not self._has_estimates(ways, 1):
            return self._every(name, ways)
        left = list(ways.every())
        chosen = [left.pop(len(left) // 2)]
        looks = 0
        while True:
            cases = self._few(name, ways, chosen)
            hard = self._region(chosen[-1])
            infimum = hard.infimum_parts()
            if infimum is None:
                return [hard]
            looks += len(left) * (_LOOK + size(self._parts(chosen[-1]) or ()))
            if looks > _LOOKS:
                raise self._too_many(name, ways)
            # ways that are certified below that threshold have a smaller one; next to
            # 1 the rest has digits
            numerator, denominator = infimum
            rest = leading_up(denominator - numerator, denominator)
            question = Question(1 - rest, None)
            answers = [question.estimated(self._parts(counts)) for counts in left]
            left = [
                counts
                for counts, answer in zip(left, answers, strict=True)
                if answer is not True
            ]
            if not left:
                return cases
            kept = [question.shares.kept(self._parts(counts)) for counts in left]
            least = [-1.0 if own is None else float(own.least[0]) for own in kept]
            chosen.append(left.pop(int(np.argmin(least))))

    def _has_estimates(self, ways: Ways, shares: int) -> bool:
        """Whether to look at all ways takes less than exact numbers, and a second."""
        parts = self._parts(ways.middle)
        if parts is None or ways.number == 1:
            return False
        return ways.number * (_LOOK + size(parts) + 8 * shares) <= _LOOKS

    def _few(
        self,
        name: str,
        ways: Ways,
        some: Sequence[Counts],
        may: Answers | None = None,
    ) -> Cases:
        """The regions of some of these ways, if exact numbers take about a second."""
        if sum(self._bits_of(counts) or 0 for counts in some) > _EXACT:
            raise self._too_many(name, ways)
        return Cases(self._region, some, may)

    def _too_many(self, name: str, ways: Ways) -> ArgumentError:
        return ArgumentError(
            name, f"must be few enough changes for exact numbers; got {ways.changes}"
        )

    def _region(self, counts: Counts) -> Regions:
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

    def _infimum(self, cases: Iterable[Regions]) -> tuple[int, int] | None:
        """The number that p must exceed, as numerator and denominator; None: none."""
        largest = (0, 1)
        for regions in cases:
            parts = regions.infimum_parts()
            if parts is None:
                return None
            if parts[0] * largest[1] > largest[0] * parts[1]:
                largest = parts
        return largest

    def _holds(self, question: Question, ways: Ways) -> bool:
        """Whether the answer is yes for all ways to make some changes."""
        return bool(self._hold(Questions.of([question]), np.zeros(1, int), ways)[0])

    def _hold(self, questions: Questions, places: Places, ways: Ways) -> Answers:
        """The same of the questions at some places."""
        # a search ends here; to say no is safe
        if ways.changes > self.far:
            return np.zeros(len(places), bool)

        def surely(counts: Counts, some: Places) -> Answers:
            return questions.estimated(self._parts(counts), places[some])[0]

        def decided(counts: Counts, some: Places) -> Answers:
            yes, no = questions.estimated(self._parts(counts), places[some])
            for i in np.flatnonzero(~(yes | no)):
                # what is still open with too long numbers is not certified
                if self._is_exact(Ways(counts)):
                    question = questions.every[places[some[i]]]
                    yes[i] = question.exact(self._region(counts))
            return yes

        # Boxes of ways are asked by estimates alone: the exact numbers of changes that
        # contain a whole box are the longest, and a no of the box decides nothing.
        return ways.hold(surely, decided, len(places))

    def _endless(self, question: Question) -> bool:
        """Whether every number of changes is certified."""
        return (
            question.is_sure
            and self.limit is None
            and self._holds(question, self._ways("r", 0))
            # an event of probability 1 keeps it under one change, and so under any
            and all(regions.covers for regions in self._cases("r", 1))
        )

    def _largest(self, question: Question) -> Any:
        """The radius."""
        return self._radii([question])[0]

    def _rising(
        self,
        question_of: Callable[[float], Question],
        values: Array,
        least: Array,
        most: Array,
    ) -> list[Any]:
        """The radii of what each value asks, and what they are between."""
        questions = [question_of(value) for value in values.tolist()]
        between = list(zip(least.tolist(), most.tolist(), strict=True))
        return self._radii(questions, between)

    def _radii(
        self,
        questions: Sequence[Question],
        between: Sequence[tuple[float, float]] | None = None,
    ) -> list[Any]:
        """The radius of each question; all with ``rest`` or all without.

        ``between`` says what they are not below and, if they end, not above.
        """
        radii: list[Any] = [math.inf] * len(questions)
        together: dict[tuple[Kind | None, int], list[int]] = {}
        for place, question in enumerate(questions):
            if self._endless(question):
                continue
            end = self._end(question)
            guess = self._guess(question.lead, end)
            if guess is None:
                key = question.shares.kind, end
                together.setdefault(key, []).append(place)
            else:
                least, most = between[place] if between else (0.0, math.inf)
                end = int(min(end, most))
                radii[place] = self._guessed(question, guess, int(least), end)
        for (_, end), places in together.items():
            own = [questions[place] for place in places]
            for place, radius in zip(places, self._searched(own, end), strict=True):
                radii[place] = radius
        return radii

    def _end(self, question: Question) -> int:
        """The largest number of changes that is looked at."""
        if self.limit is not None:
            return min(self.far, self.limit)
        # some kinds of changes may have no end where others do
        return min(self.far, FAR) if question.is_sure else self.far

    def _guessed(self, question: Question, guess: int, start: int, end: int) -> int:
        def holds(changes: int) -> bool:
            return self._holds(question, self._ways("r", changes))

        return max(last(holds, end, start=start, guess=guess), 0)

    def _searched(self, questions: Sequence[Question], end: int) -> list[int]:
        """The radii of questions of one kind: each number is asked of many of them."""
        every = Questions.of(questions)

        def hold(places: Places, changes: int) -> Answers:
            return self._hold(every, places, self._ways("r", changes))

        found: list[int] = np.maximum(
            last_of_each(hold, len(questions), end), 0
        ).tolist()
        return found

    def _guess(self, lead: Fraction, end: int) -> int | None:
        """About the radius, where a formula says it.

        ``lead`` is half of what both bounds are above 1 together.
        """
        return None

    def _lowered(self, z: Array, ways: Ways) -> Array:
        p, q = tails(z.ravel())
        least: Array = np.full(z.size, np.inf)
        left = np.ones(z.size, bool)
        cases = self._least("r", ways, Shares(p, q, DOUBLE))
        for regions, own in cases.mattering(left):
            # both are bounds; the better one is of the smaller tail, which has its
            # digits
            low = round_down(ndtri(regions.corners.low(p[own])), NDTRI_ERROR)
            high = -round_up(ndtri(regions.corners.high(q[own])), NDTRI_ERROR)
            least[own] = np.minimum(least[own], np.maximum(low, high))
            np.greater(least, -np.inf, out=left)
        return least.reshape(z.shape)

    def _frontier(self, question: Question) -> list[tuple[Any, ...]]:
        if not self._holds(question, self._ways("r", 0)):
            return []
        return [(self._largest(question),)]

    def _pairs(self, question: Question) -> list[tuple[Any, ...]]:
        """The frontier of two kinds of changes."""
        if self._endless(question):
            return [(math.inf, math.inf)]
        # a kind that has no end at p = 1 is searched no further than this
        wide = sum(len(kinds) for _, kinds in self._ways("r", (0, 0)).groups)
        # other kinds: each pair is asked for all ways to split both of its numbers
        limit = FAR if question.is_sure else WIDE.get(max(wide, 2), 16)

        def holds(first: int, second: int) -> bool:
            return self._holds(question, self._ways("r", (first, second)))

        return list(staircase(holds, [limit, limit]))


def _question(p_a: Any, p_b: Any) -> Question:
    """What two probabilities ask, each as the rational number that it is."""
    top = exact_probability("p_a", p_a)
    rest = None if p_b is None else 1 - exact_probability("p_b", p_b)
    return Question(top, rest)


def _question_of_scores(z_a: Any, z_b: Any) -> Question:
    """The same of two scores."""
    return Question(*bounds_of_scores(z_a, z_b))


def _score_question(z: float) -> ScoreQuestion:
    """What a score alone asks."""
    top, _ = bounds_of_scores(z, None)
    return ScoreQuestion(z, top)
