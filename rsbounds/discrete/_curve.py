"""What every curve answers, from the regions of its kernel."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rsbounds._numerics.checks import (
    Array,
    Floats,
    as_floats,
    count,
    flag,
    number,
)
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.rounding import round_down, round_up
from rsbounds._numerics.scores import NDTRI_ERROR, ndtri
from rsbounds.discrete._cells import Cells, worst
from rsbounds.discrete._laws import PairedLaw
from rsbounds.discrete._questions import (
    Questions,
    shares_beside,
    shares_of,
    shares_of_scores,
)
from rsbounds.discrete._radii import FAR, pairs, pairs_kept, radii
from rsbounds.discrete._regions import Ends, Regions, Shares
from rsbounds.discrete._rows import UNSURE, YES, KindRows, decided
from rsbounds.discrete._search import distinct, last, least_accepted
from rsbounds.discrete._ways import Answers, Counts, Places, Ways, numbers
from rsbounds.noises.internal import bounds, broadcast_bounds

NO_NOISE = "must not make the noise the same at every input; got"
#: How many numbers of regions are kept.
_MOST_NUMBERS = 2**24
#: What all ways to make some changes may take together, about a second, and what one
#: way takes besides its regions, in numbers of regions.
_WORK = 2**23
_WAY = 4096
#: How many regions a search looks at for one way.
_WIDEST = 2**21
#: Ways are looked at by rows where they take more than this, in numbers of regions, and
#: what the regions of one way take besides.
_FEW = 4096
_REGIONS_ALONE = 512
#: The largest score that a threshold is looked for at.
_FAR_SCORE = 38.0


class Curve(ABC):
    """The least and the largest probability that an event can have within r changes.

    low(p, r) is convex and increasing in p, and falls with r; low(p, r) <= p <= high(p,
    r) = 1 - low(1 - p, r). What r counts is said by the function that makes the curve.
    A whole number r stands for that many changes whatever their kind: the least of low
    over all ways to split them.

    Answers are doubles, each on the safe side of the exact number: low is rounded down,
    high and thresholds up. With e some 1e-15 for each change (at most 2e-11 within
    ``far`` changes) and s the curve's slope, what is rounded is below 4e (l + s min(p,
    1 - p)), l being the bound itself or, if that is less, its complement. What lies so
    near to its edge is not certified.

    So many changes that all ways to make them would take more than about a second are
    refused by :meth:`low`, :meth:`high` and :meth:`threshold` with a ValueError;
    :meth:`transport` promises nothing there. No more than :attr:`far` changes are
    certified at all; frontiers end at 512 of either kind, those of blocks whose changes
    are of three, four or more kinds at 64, 24 or 16. A number there says that so many
    changes are certified, and not that more are not.
    """

    def __init__(self) -> None:
        self._regions: dict[Counts, Regions] = {}
        self._numbers = 0  # numbers of all regions that are kept

    # what a kernel says ---------------------------------------------------------------

    #: How many numbers say what changes were made.
    kinds: int = 1
    #: Whether each change of a kind does the same, however many there are.
    alike: bool = True
    #: The largest number of changes there can be, None: any.
    limit: int | None = None
    #: The largest number of changes that a search looks at.
    far: int = 4096
    #: The largest number of changes whose law is made.
    most: int = 2**13
    #: Whether a frontier has pairs of numbers.
    in_pairs: bool = False

    @property
    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """The arguments that make the curve again."""

    @abstractmethod
    def cells(self, kind: int) -> Cells:
        """What one change of a kind does, if each does the same."""

    @abstractmethod
    def law(self, counts: Counts) -> PairedLaw:
        """What numbers of changes of each kind do together."""

    @abstractmethod
    def size(self, counts: Counts) -> int:
        """About how many regions that law has."""

    @cached_property
    def worst(self) -> Counts:
        """The kinds that changes of any kind need be split over."""
        kinds = range(self.kinds)
        # where a change does less than the one before it, what one of each kind does
        # says nothing of several
        if self.kinds == 1 or not self.alike:
            return tuple(kinds)
        return worst([self.cells(kind) for kind in kinds])

    def ways(self, name: str, r: Any) -> Ways:
        """Every way to make one number of changes, or those of each kind; checked.

        Ways that were checked stand for themselves.
        """
        if isinstance(r, Ways):
            return r
        # numbers of several kinds need not have one shape: ((1, 0), 2)
        if type(r) is not int and (isinstance(r, Sequence) or np.ndim(r)):
            return self._ways_of_kinds(name, r)
        return Ways((0,) * self.kinds, ((count(name, r), self.worst),))

    def _ways_of_kinds(self, name: str, r: Any) -> Ways:
        return Ways(numbers(name, r, self.kinds))

    # the public answers ---------------------------------------------------------------

    def low(self, p: ArrayLike, r: Any) -> Any:
        """The least probability within r changes of an event of probability p at x.

        Parameters
        ----------
        p : float or array_like of float
            In [0, 1]; for a lower bound of the event's probability the result is one.
        r : int or tuple of int
            Changes, as the maker of the curve counts them.

        Returns
        -------
        float or ndarray
            At most the exact value.

        Raises
        ------
        ValueError
            If an argument is out of its domain, or ``r`` are too many changes.
        """
        lowest = as_floats("p", p, 0.0, 1.0, nan=False, towards=-math.inf)
        return self._ends(shares_of(lowest), self.ways("r", r)).low[()]

    def high(self, p: ArrayLike, r: Any) -> Any:
        """The largest probability within r changes, 1 - low(1 - p, r).

        Arguments and result as of :meth:`low`; at least the exact value.
        """
        highest = as_floats("p", p, 0.0, 1.0, nan=False, towards=math.inf)
        return self._ends(shares_beside(highest), self.ways("r", r)).high[()]

    def threshold(self, r: Any, *, scores: bool = False) -> float:
        """The least double p_A that certifies the top class at r, alone.

        That is p_A with low(p_A, r) > 1/2, where every other class has at most 1 - p_A.

        Parameters
        ----------
        r : int or tuple of int
            As in :meth:`low`.
        scores : bool
            A normal score instead: probabilities next to 1 keep their precision.

        Returns
        -------
        float
            inf where even p_A = 1 does not certify r, and no score up to 38. Scores
            near 0 are at most 1e-13 above the infimum (measured: 4.3e-14).
        """
        ends = (0.0, _FAR_SCORE) if flag("scores", scores) else (0.5, 1.0)
        threshold, end = ends
        ways = self._taken("r", self.ways("r", r))
        # the ways in the middle are mostly the worst: the others are only looked at
        every = sorted(ways.every(), key=lambda way: max(way) - min(way))
        for counts in every:
            threshold = _threshold(self.regions(counts), threshold, end, scores)
            if threshold == math.inf:
                break
        return threshold

    def certified(
        self, p_a: Any, r: Any, p_b: Any = None, *, scores: bool = False
    ) -> bool:
        """Whether low(p_a, r) is proved to be above high(p_b, r), however r are made.

        ``p_a`` is a lower bound of the top class's probability, ``p_b`` an upper bound
        of every other class's, 1 - p_a by default; normal scores if ``scores`` is True.
        """
        questions = Questions.of(*bounds(p_a, p_b, scores, number), scores=scores)
        return bool(self.hold(questions, self.ways("r", r))[0])

    def radius(self, p_a: Any, p_b: Any = None, *, scores: bool = False) -> Any:
        """The largest whole number r with every way to make r changes certified.

        Parameters
        ----------
        p_a : float or array_like of float
            Lower bound of the top class's probability.
        p_b : the same, optional
            Upper bound of every other class's, 1 - p_a by default.
        scores : bool
            Both are normal scores. Finite ones above 12, which no number of samples
            shows, are taken as 12.

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
        a, b = broadcast_bounds(p_a, p_b, scores)

        def found(a: Array, b: Array | None = None) -> list[Any]:
            return radii(self, Questions.of(a, b, scores=scores))

        if np.ndim(a) == 0:
            return found(a, b)[0]
        return distinct(found, *([a] if b is None else [a, b]))

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
            Within r changes the event's score lies in [low, high]; rounded outward as
            the class says, and by 4e-14 of the probability or of its complement. -inf
            where the event may vanish, or r are too many changes.

        Raises
        ------
        ValueError
            If an argument is out of its domain; NaN is, and a score that float64
            doesn't hold.
        """
        scores = as_floats("z", z, exact=True, nan=False)
        ways = self.ways("r", r)
        try:
            # both ends together, as every way is looked at once
            ends = self._ends(shares_of_scores(np.stack([scores, -scores])), ways)
        except ArgumentError:
            nothing = np.full(scores.shape, math.inf)
            return -nothing[()], nothing[()]
        # both are bounds; the better one is of the smaller tail, which has its digits
        least = round_down(ndtri(ends.least), NDTRI_ERROR)
        low, high = np.maximum(least, -round_up(ndtri(ends.most), NDTRI_ERROR))
        return low[()], -high[()]

    def frontier(
        self, p_a: Any, p_b: Any = None, *, scores: bool = False
    ) -> list[tuple[Any, ...]]:
        """The largest numbers of changes that are certified, by kind.

        Arguments as of :meth:`radius`, numbers.

        Returns
        -------
        list of tuple of int
            (r,) where there is one kind of changes; else the pairs (r_1, r_2) by rising
            r_1, each with the largest r_2 and without those that another contains.
            Empty where p_a is not above p_b.
        """
        question = Questions.of(*bounds(p_a, p_b, scores, number), scores=scores)
        if not self.hold(question, self.ways("r", 0))[0]:
            return []
        return (
            pairs(self, question) if self.in_pairs else [tuple(radii(self, question))]
        )

    def frontier_above(self, z: float, least: float) -> list[tuple[Any, ...]]:
        """The largest numbers of changes, by kind, that leave an event above a score.

        Parameters
        ----------
        z : float
            The normal score of a lower bound of the event's probability.
        least : float
            What its score is to stay above, however the changes are made.

        Returns
        -------
        list of tuple
            As of :meth:`frontier`; numbers up to 64 are looked at.
        """

        def stays(r: Any) -> bool:
            return bool(self.transport(z, r)[0] > least)

        if not z > least:
            return []
        if self.in_pairs:
            return list(pairs_kept(self, stays))
        return [(last(stays, FAR if self.limit is None else min(FAR, self.limit)),)]

    def __repr__(self) -> str:
        arguments = ", ".join(f"{k}={v!r}" for k, v in self.parameters.items())
        return f"{type(self).__name__}({arguments})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Curve):
            return NotImplemented
        return type(self) is type(other) and self.parameters == other.parameters

    def __hash__(self) -> int:
        return hash((type(self), self._named))

    @cached_property
    def _named(self) -> str:
        """What the curve is called, made once: each look into a cache asks."""
        return repr(self)

    def __getstate__(self) -> dict[str, Any]:
        """All but what can be computed again."""
        return {**self.__dict__, "_regions": {}, "_numbers": 0}

    # how they are found ---------------------------------------------------------------

    def regions(self, counts: Counts) -> Regions:
        """The regions at numbers of changes of each kind."""
        regions = self._regions.get(counts)
        if regions is None:
            regions = Regions(self.law(counts))
            # a curve that hardly falls has regions of megabytes
            if (
                len(self._regions) >= 1024
                or self._numbers + regions.mass.size > _MOST_NUMBERS
            ):
                self._regions.clear()
                self._numbers = 0
            self._regions[counts] = regions
            self._numbers += regions.mass.size
        return regions

    def _taken(self, name: str, ways: Ways) -> Ways:
        """Ways that take about a second, or less."""
        few = ways.changes <= self.most
        if not (few and ways.number * (_WAY + self.size(ways.middle)) <= _WORK):
            raise ArgumentError(name, f"must be few enough changes; got {ways.changes}")
        return ways

    def _ends(self, shares: Shares, ways: Ways) -> Ends:
        """What events have at least, and lack at most, whichever way is taken."""
        shape = np.shape(shares.p)
        flat = Shares(np.ravel(shares.p), np.ravel(shares.q))
        least, most = np.ones(flat.p.shape), np.zeros(flat.p.shape)
        for counts in self._taken("r", ways).every():
            ends = self.regions(counts).ends(flat)
            least, most = np.minimum(least, ends.least), np.maximum(most, ends.most)
        return Ends(least.reshape(shape), most.reshape(shape))

    def hold(self, questions: Questions, ways: Ways) -> Answers:
        """Whether the answer to each question is yes for all of these ways."""
        # a search ends here; to say no is safe
        if ways.changes > self.far:
            return np.zeros(questions.size, bool)

        def for_way(counts: Counts, places: Places) -> Answers:
            if self.size(counts) > _WIDEST:
                return np.zeros(len(places), bool)
            return questions.at(places).hold_in(self.regions(counts))

        if not self._is_quicker_by_rows(ways):
            return ways.hold(for_way, questions.size)
        by_rows = decided(self._rows, questions, ways, self._failed)
        answers: Answers = by_rows == YES
        unsure = np.flatnonzero(by_rows == UNSURE)
        if unsure.size:
            near = unsure
            answers[unsure] = ways.hold(
                lambda counts, places: for_way(counts, near[places]), unsure.size
            )
        return answers

    def _is_quicker_by_rows(self, ways: Ways) -> bool:
        """Whether ways are of several kinds, and many or of many regions."""
        # this decides most calls, which take microseconds
        if ways.are_of_one_kind or not self.alike:
            return False
        together = ways.containing
        regions = self.size(together)
        work = ways.number * (_REGIONS_ALONE + regions)
        several = sum(map(bool, together)) > 1
        return several and work > _FEW and regions <= _WIDEST

    @cached_property
    def _rows(self) -> list[KindRows]:
        return [KindRows(self.cells(kind)) for kind in range(self.kinds)]

    @cached_property
    def _failed(self) -> Array:
        return np.full(self.kinds, 0.5)

    def guesses(self, questions: Questions) -> Array | None:
        """About the radii, negative where there is none; None without a formula."""
        if self._step is None:
            return None
        # by the central limit theorem changes move scores by the root of their number
        score = questions.score
        return score * np.abs(score) / self._step**2

    @cached_property
    def _step(self) -> float | None:
        """About how far one change moves a score, if all are of one kind and small."""
        alone = self.alike and len(self.worst) == 1
        return self.cells(self.worst[0]).step if alone else None


def _threshold(regions: Regions, least: float, end: float, scores: bool) -> float:
    """The least number from ``least`` on, up to an end, that surely certifies."""
    shares_at = shares_of_scores if scores else shares_of

    def accepts(values: Array) -> Answers:
        return Questions(shares_at(values), None).hold_in(regions)

    rest = regions.crossing()
    guess = -float(ndtri(np.asarray(rest))) if scores else 1 - rest
    return least_accepted(accepts, least, end, max(guess, least))
