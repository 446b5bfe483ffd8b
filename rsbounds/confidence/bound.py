"""What an entry of the list of bounds is: from one input's evidence to a pair."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, nextafter
from operator import attrgetter
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import (
    Array,
    as_integers,
    choice,
    count,
    either,
    every,
    number,
    operand,
)
from rsbounds._numerics.counts import total
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.rounding import SMALLEST, TINY
from rsbounds.confidence.histogram import require_histogram


class End(NamedTuple):
    """A lower bound p, q = 1 - p and its score: rounded down, up and down.

    For the failures the same three are an upper bound on the successes: q, and the
    score -z.
    """

    z: Array
    p: Array
    q: Array


class Pair(NamedTuple):
    """Normal scores and probabilities of both bounds of a pair.

    The lower bound is the top class's, the upper one that of the other classes.

    The former are rounded down, the latter up. Where ``p_b`` stands for 1 - p_a,
    ``z_b`` is ``-z_a`` exactly.
    """

    z_a: float
    z_b: float
    p_a: float
    p_b: float


class Look(NamedTuple):
    """A number of samples at which a run looks at its counts, and the level of that."""

    samples: int
    alpha: float


@dataclass(frozen=True)
class Looks:
    """Numbers of samples fixed in advance at which a run looks, and may stop.

    The levels of all looks sum to at most alpha, so their bounds hold together with
    probability at least 1 - alpha. Therefore any of them may be stated, whatever chose
    it and whatever stopped the sampling.

    Parameters
    ----------
    bound : str
        The bound on counts of one look, by its name in `BOUNDS`.
    shares : tuple of pairs of Fraction
        For each look its share of n and its share of alpha, the last look at all of n.
        Numbers of samples are rounded up; looks that coincide are one, with both
        shares of alpha.

    Examples
    --------
    >>> from rsbounds.confidence import BOUNDS
    >>> looks = BOUNDS["staged"].looks
    >>> [look.samples for look in looks.at(100_000, 0.001)]
    [1000, 3000, 10000, 30000, 100000]
    """

    bound: str
    shares: tuple[tuple[Fraction, Fraction], ...]

    def __post_init__(self) -> None:
        samples = [share for share, _ in self.shares]
        levels = [level for _, level in self.shares]
        rising = samples == sorted(set(samples)) and samples[:1] > [Fraction(0)]
        if not (rising and samples[-1] == 1):
            raise ArgumentError("shares", "must rise from above 0 to all of n")
        if not (min(levels) > 0 and sum(levels) <= 1):
            raise ArgumentError("shares", "must be of alpha, each above 0, 1 in sum")

    def at(self, n: int, alpha: float) -> tuple[Look, ...]:
        """The looks of a run of up to n samples at level alpha, in order.

        ValueError for a level whose shares are too small for float64.
        """
        n = count("n", n, 1)
        whole = number("alpha", alpha, 0.0, 1.0, closed="neither", towards=-np.inf)
        levels: dict[int, Fraction] = {}
        for share, level in self.shares:
            samples = ceil(share * n)
            levels[samples] = levels.get(samples, Fraction(0)) + level
        return tuple(
            Look(samples, part_of(whole, level)) for samples, level in levels.items()
        )


def part_of(alpha: float, share: Fraction) -> float:
    """``alpha`` times a share, rounded down: parts don't sum to more than alpha."""
    exact = share * Fraction(alpha)
    level = float(exact)
    if Fraction(level) > exact:
        level = nextafter(level, 0.0)
    if not level >= TINY:
        raise ArgumentError("alpha", f"must be larger to be shared; got {alpha}")
    return level


#: (successes or histogram, n, alpha) -> the lower end, of arguments that were checked.
Lower = Callable[[Any, NDArray[np.int64], Array], End]


@dataclass(frozen=True)
class Bound:
    """From the evidence that one input's samples left to bounds on its probabilities.

    Parameters
    ----------
    name : str
        That of result files, the key in `BOUNDS`.
    evidence : {"counts", "scores", "outcomes"}
        What it reads: counts of the classes, or one `ScoreHistogram` for each class, or
        counts of the classes over all outcomes of a noise that has n, all alike.
    lower : callable
        ``lower(successes, n, alpha)`` is the `End` of one class: a lower bound of
        its probability at level 1 - alpha, from its count or histogram.
    at_any_time : bool
        Whether it holds at all numbers of samples at once, so that the samples may
        decide when to stop.
    most_alpha : float
        The largest level, itself included where it is below 1.
    looks : Looks, optional
        Where a run looks at its counts. ``lower`` is then that of the last look alone,
        of all n samples; `Looks.at` has the levels of the others.
    """

    name: str
    evidence: Literal["counts", "scores", "outcomes"]
    lower: Lower
    at_any_time: bool = False
    most_alpha: float = 1.0
    looks: Looks | None = None

    def __post_init__(self) -> None:
        choice("evidence", self.evidence, ("counts", "scores", "outcomes"))
        most_alpha = number("most_alpha", self.most_alpha, 0.0, 1.0, closed="right")
        object.__setattr__(self, "most_alpha", most_alpha)

    def check_alpha(self, alpha: Any) -> float:
        """``alpha`` as a float, or ValueError where the bound has no such level."""
        closed = "right" if self.most_alpha < 1.0 else "neither"
        return number(
            "alpha", alpha, 0.0, self.most_alpha, closed=closed, towards=-np.inf
        )

    def pair(
        self,
        evidence: Any,
        top: int,
        n: int,
        alpha: float,
        *,
        runner_up: bool,
    ) -> Pair:
        """Bounds that hold together with probability at least 1 - alpha.

        Parameters
        ----------
        evidence : array_like of int, shape (classes,), or sequence of ScoreHistogram
            Of the samples that estimate. Counts may sum to less than n: what is missing
            fell on no class. Each histogram holds n scores, and a class's scores sum to
            at most 1 (a sample that fell on no class scores 0 for each).
        top : int
            The class A, chosen from other samples.
        n : int
            Number of samples drawn.
        alpha : float
            Probability of error, in (0, 1), at most ``most_alpha``.
        runner_up : bool
            Whether the largest other class has a bound of its own, alpha/2 and alpha/2;
            otherwise p_b stands for 1 - p_a, and all of alpha is p_a's.

        Raises
        ------
        ValueError
            If an argument is out of its domain.
        """
        first, others, trials = self._split(evidence, top, n)
        level = operand("alpha", self.check_alpha(alpha))
        return self._pair(first, others, trials, level, runner_up)

    def of_two_counts(
        self,
        first: int,
        second: int,
        n: int,
        alpha: float,
        *,
        runner_up: bool,
    ) -> Pair:
        """:meth:`pair` of the counts of class A and of the largest other class.

        Runs ask for it: their arguments were checked before the first input.
        """
        trials = np.int64(n)
        level = np.float64(alpha)
        return self._pair(np.int64(first), [np.int64(second)], trials, level, runner_up)

    def _pair(
        self,
        first: Any,
        others: Sequence[Any],
        trials: Any,
        level: Any,
        runner_up: bool,
    ) -> Pair:
        """The bounds of class A and of each of the others that may matter."""
        if not runner_up:
            alone = self.lower(first, trials, level)
            z_a = float(alone.z)
            return Pair(z_a=z_a, z_b=-z_a, p_a=float(alone.p), p_b=float(alone.q))
        level = _half_of_one(level)
        lower = self.lower(first, trials, level)
        uppers = [
            self.lower(self._misses(other, trials), trials, level) for other in others
        ]
        # the largest upper bound covers the runner-up, whichever class it is
        z_b, p_b = capped_end(lower, min(uppers, key=attrgetter("z")))
        return Pair(
            z_a=float(lower.z), z_b=float(z_b), p_a=float(lower.p), p_b=float(p_b)
        )

    def optimistic(
        self, evidence: Any, top: int, n: int, alpha: float, *, runner_up: bool
    ) -> tuple[float, float]:
        """Scores at the favourable ends: highest for A, lowest for the others.

        A radius that even they do not reach is out of reach. Only for a bound that
        holds ``at_any_time``: looking at another one as it goes would have no level.

        Parameters
        ----------
        evidence, top, n, alpha, runner_up
            As in `pair`; each end has all of alpha.

        Returns
        -------
        z_a, z_b : float
            An upper bound of A's score and, at most the opposite of it, a lower bound
            of the runner-up's (the opposite itself without ``runner_up``).
        """
        if not self.at_any_time:
            raise ValueError(f"the bound {self.name!r} does not hold at any time")
        first, others, trials = self._split(evidence, top, n)
        level = operand("alpha", self.check_alpha(alpha))
        most = -float(self.lower(self._misses(first, trials), trials, level).z)
        if not runner_up:
            return most, -most
        # the runner-up's probability is at least that of any other class
        least = max(float(self.lower(c, trials, level).z) for c in others)
        return most, min(least, -most)

    def _split(
        self, evidence: Any, top: int, n: int
    ) -> tuple[Any, Sequence[Any], NDArray[np.int64]]:
        """The top class's evidence, that of the others which may matter, and n."""
        if self.evidence == "scores":
            return _split_histograms(evidence, top, n)
        return _split_counts(evidence, top, n)

    def _misses(self, hits: Any, trials: NDArray[np.int64]) -> Any:
        """The evidence of "not this class"."""
        return hits.complement() if self.evidence == "scores" else trials - hits


def check_entry(entry: Any) -> None:
    """ValueError for what can't be an entry of the list of bounds."""
    if not isinstance(entry, Bound):
        raise ValueError(f"must be a rsbounds.confidence.Bound; got {entry!r:.60}")


def half(alpha: Any) -> Array:
    """``alpha``/2, or ValueError where that isn't above 0."""
    return divided(alpha, 2)


@lru_cache(maxsize=64)  # all inputs of a run share it
def _half_of_one(alpha: np.float64) -> Array:
    return half(alpha)


def divided(alpha: Any, parts: int) -> Array:
    """Return ``alpha``/``parts``, rounded down: the level of bounds that hold together.

    ValueError where that isn't above 0.
    """
    alpha = operand("alpha", alpha, parts * SMALLEST, nan=False)
    with np.errstate(under="ignore"):
        level: Array = alpha / float(parts)
        # by a power of 2 a quotient of full precision is exact
        powers_of_2 = parts & (parts - 1) == 0
        full = level if powers_of_2 else np.nextafter(level, 0.0)
        if every(level >= TINY):
            return full
        # below the smallest number of full precision a quotient may be rounded up by
        # half of itself, and the levels would sum to more than alpha; products are
        # exact there
        down = np.where(level * parts > alpha, level - SMALLEST, level)
        return np.where(level < TINY, down, full)[()]


def capped_end(lower: End, upper: End) -> tuple[Array, Array]:
    """Return (z_b, p_b) of B's failures, capped at the complement of A's lower end."""
    capped = upper.z <= lower.z
    return either(capped, -lower.z, -upper.z), either(capped, lower.q, upper.q)


def _split_counts(
    evidence: Any, top: int, n: int
) -> tuple[Any, Sequence[Any], NDArray[np.int64]]:
    counts = as_integers("evidence", evidence)
    n = count("n", n, 1)
    if counts.ndim != 1 or counts.size < 2:
        raise ArgumentError(
            "evidence",
            f"must be the counts of two classes or more; got shape {counts.shape}",
        )
    if total(counts) > n:
        raise ArgumentError(
            "evidence", f"must sum to at most n = {n}; got {total(counts)}"
        )
    top = _checked_top(top, counts.size)
    # bounds grow with the count, so the largest of the others stands for all
    largest = np.delete(counts, top).max()
    return counts[top], [largest], as_integers("n", n)


def _split_histograms(
    evidence: Any, top: int, n: int
) -> tuple[Any, Sequence[Any], NDArray[np.int64]]:
    if not isinstance(evidence, Sequence):
        raise ArgumentError(
            "evidence", f"must be a sequence of ScoreHistograms; got {evidence!r:.60}"
        )
    top = _checked_top(top, len(evidence))
    n = count("n", n, 1)
    for histogram in evidence:
        require_histogram(histogram, "evidence")
        if histogram.n != n:
            raise ArgumentError(
                "evidence",
                f"must hold histograms of n = {n} scores; got {histogram.n}",
            )
    others = [histogram for c, histogram in enumerate(evidence) if c != top]
    return evidence[top], others, as_integers("n", n)


def _checked_top(top: int, classes: int) -> int:
    if classes < 2:
        raise ArgumentError(
            "evidence", f"must be of two classes or more; got {classes}"
        )
    top = count("top", top)
    if not top < classes:
        raise ArgumentError("top", f"must be one of {classes} classes; got {top}")
    return top
