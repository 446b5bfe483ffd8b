"""The bounds on one input's class probabilities, by the names that result files give them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import Array, count, number, operand, real, whole
from rsbounds.confidence.counts import End, arguments, end
from rsbounds.confidence.histogram import ScoreHistogram
from rsbounds.confidence.pairs import capped_end, half, joint_end
from rsbounds.confidence.randomized import randomized_end
from rsbounds.confidence.sequential import anytime_arguments, anytime_end
from rsbounds.confidence.soft import soft_end


class Pair(NamedTuple):
    """Bounds on two class probabilities, as scores and as probabilities.

    Attributes
    ----------
    z_a, p_a : float
        Lower bound on the top class's probability: normal score and probability, each
        rounded down.
    z_b, p_b : float
        Upper bound on every other class's, rounded up. Where ``p_b`` stands for 1 - p_a,
        ``z_b`` is ``-z_a`` exactly.
    """

    z_a: float
    z_b: float
    p_a: float
    p_b: float


class Bound(Protocol):
    """From the evidence that one input's samples left to bounds on its probabilities.

    Attributes
    ----------
    name : str
        Its name in result files, the key in `BOUNDS`.
    evidence : str
        "counts": counts of the classes. "scores": one `ScoreHistogram` for each class.
    difference_only : bool
        Whether, with a runner-up, the pair bounds z_a - z_b alone and not each of the two:
        it may then stand in the radius of a Gaussian, (sigma/2)(z_a - z_b), and in no other.
    """

    @property
    def name(self) -> str: ...

    @property
    def evidence(self) -> str: ...

    @property
    def difference_only(self) -> bool: ...

    def pair(
        self,
        evidence: Any,
        top: int,
        n: int,
        alpha: float,
        *,
        runner_up: bool,
        u: float | None = None,
    ) -> Pair:
        """Bounds that hold together with probability at least 1 - alpha.

        Parameters
        ----------
        evidence : array_like of int, shape (classes,), or sequence of ScoreHistogram
            Of the samples that estimate. Counts may sum to less than n: what is missing
            fell on no class. Each histogram holds n scores, and a class's scores sum to at
            most 1 (a sample that fell on no class scores 0 for each).
        top : int
            The class A, chosen from other samples.
        n : int
            Number of samples drawn.
        alpha : float
            Probability of error, in (0, 1); for "anytime" at most 1/2.
        runner_up : bool
            Whether the largest other class has a bound of its own, alpha/2 and alpha/2;
            otherwise p_b stands for 1 - p_a, and all of alpha is p_a's.
        u : float, optional
            For "randomized" alone: a uniform number in (0, 1], such as
            ``1 - generator.random()``, fixed before the counts are seen, another for each
            input. The other bounds take no notice of it.

        Raises
        ------
        ValueError
            If an argument is outside its domain.
        """
        ...


@dataclass(frozen=True)
class _Counts:
    """A bound from counts; ``lower`` maps (count, n, alpha, u) to the lower end."""

    name: str
    lower: Callable[[NDArray[Any], NDArray[Any], Array, float | None], End]
    evidence: ClassVar[str] = "counts"
    difference_only: ClassVar[bool] = False

    def pair(
        self,
        evidence: Any,
        top: int,
        n: int,
        alpha: float,
        *,
        runner_up: bool,
        u: float | None = None,
    ) -> Pair:
        counts, top, n = checked_counts(evidence, top, n)
        level = operand("alpha", number("alpha", alpha), 0.0, 1.0, closed="neither", nan=False)
        a, total = counts[top], whole("n", n)
        if not runner_up:
            return _single(self.lower(a, total, level, u))
        b, level = np.delete(counts, top).max(), half(level)
        return _two(self.lower(a, total, level, u), self.lower(total - b, total, level, _other(u)))


@dataclass(frozen=True)
class _Scores:
    """A bound on the means of scores in [0, 1]."""

    name: str
    evidence: ClassVar[str] = "scores"
    difference_only: ClassVar[bool] = False

    def pair(
        self,
        evidence: Any,
        top: int,
        n: int,
        alpha: float,
        *,
        runner_up: bool,
        u: float | None = None,
    ) -> Pair:
        top, n = _top(top, len(evidence)), count("n", n, 1)
        if bad := [h.n for h in evidence if h.n != n]:
            raise ValueError(f"evidence must hold histograms of n = {n} scores; got {bad[0]}")
        level = operand("alpha", number("alpha", alpha), 0.0, 1.0, closed="neither", nan=False)
        lower = partial(soft_end, method=self.name)
        if not runner_up:
            return _single(lower(evidence[top], level))
        level = half(level)
        others: list[ScoreHistogram] = [h for c, h in enumerate(evidence) if c != top]
        uppers = [lower(h.complement(), level) for h in others]
        return _two(lower(evidence[top], level), min(uppers, key=lambda found: float(found.z)))


@dataclass(frozen=True)
class _Joint:
    """Buehler's limit of the difference; Clopper-Pearson's bound where there is no runner-up."""

    name: ClassVar[str] = "joint"
    evidence: ClassVar[str] = "counts"
    difference_only: ClassVar[bool] = True

    def pair(
        self,
        evidence: Any,
        top: int,
        n: int,
        alpha: float,
        *,
        runner_up: bool,
        u: float | None = None,
    ) -> Pair:
        if not runner_up:
            return BOUNDS["clopper-pearson"].pair(evidence, top, n, alpha, runner_up=False)
        counts, top, n = checked_counts(evidence, top, n)
        level = operand("alpha", number("alpha", alpha), 0.0, 1.0, closed="neither", nan=False)
        return _single(joint_end(counts[top], np.delete(counts, top).max(), np.asarray(n), level))


def checked_counts(evidence: Any, top: int, n: int) -> tuple[NDArray[np.int64], int, int]:
    """The counts of one input's classes, the class and the number of samples, checked."""
    counts, n = whole("evidence", evidence), count("n", n, 1)
    if counts.ndim != 1 or counts.size < 2:
        raise ValueError(f"evidence must be the counts of two classes or more; got {counts.shape}")
    if int(counts.sum()) > n:
        raise ValueError(f"evidence must sum to at most n = {n}; got {counts.sum()}")
    return counts, _top(top, counts.size), n


def _top(top: int, classes: int) -> int:
    if classes < 2:
        raise ValueError(f"evidence must be of two classes or more; got {classes}")
    top = count("top", top)
    if not top < classes:
        raise ValueError(f"top must be one of {classes} classes; got {top}")
    return top


def _single(lower: End) -> Pair:
    z, p, q = (float(v) for v in lower)
    return Pair(z, -z, p, q)


def _two(lower: End, upper: End) -> Pair:
    z_b, p_b = capped_end(lower, upper)
    return Pair(float(lower.z), float(z_b), float(lower.p), float(p_b))


def _clopper_pearson(k: NDArray[Any], n: NDArray[Any], alpha: Array, u: float | None) -> End:
    return end(*arguments(k, n, alpha))


def _anytime(k: NDArray[Any], n: NDArray[Any], alpha: Array, u: float | None) -> End:
    return anytime_end(*anytime_arguments(k, n, alpha))


def _randomized(k: NDArray[Any], n: NDArray[Any], alpha: Array, u: float | None) -> End:
    if u is None:
        raise ValueError("u must be a uniform number in (0, 1] for a randomized bound; got None")
    uniform = real("u", number("u", u), 0.0, 1.0, closed="right", nan=False)
    return randomized_end(*arguments(k, n, alpha), uniform)


def _other(u: float | None) -> float | None:
    """A second number for the other end: uniform on the multiples of 2^-53 if u is.

    The level needs no independence. Each end errs with probability at most alpha/2 as its
    own number is uniform and independent of the counts, and the sum of the two bounds the
    chance that either errs, however the numbers depend on each other. The bound of the
    largest other count covers the runner-up because for one and the same number it
    increases with the count. Opposite numbers spread the width of the pair least.
    """
    return None if u is None else 1.0 - u + 2.0**-53


#: The bounds by name. "hoeffding" isn't here: "chernoff" is never below it.
BOUNDS: dict[str, Bound] = {
    bound.name: bound
    for bound in (
        _Counts("clopper-pearson", _clopper_pearson),
        _Counts("randomized", _randomized),
        _Counts("anytime", _anytime),
        _Joint(),
        _Scores("chernoff"),
        _Scores("maurer-pontil"),
        _Scores("betting"),
    )
}
