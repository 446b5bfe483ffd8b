"""The bounds on one input's class probabilities, by the names that result files give them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import Array, as_floats, as_integers, count, number, operand
from rsbounds.confidence.counts import End, arguments, end, randomized_end
from rsbounds.confidence.pairs import capped_end, half
from rsbounds.confidence.sequential import anytime_end, anytime_level
from rsbounds.confidence.soft import ScoreHistogram, soft_end

#: (successes or histogram, n, alpha, u) -> the lower end
Lower = Callable[[Any, NDArray[Any], Array, float | None], End]


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


@dataclass(frozen=True)
class Bound:
    """From the evidence that one input's samples left to bounds on its probabilities.

    Attributes
    ----------
    name : str
        Its name in result files, the key in `BOUNDS`.
    evidence : {"counts", "scores"}
        "counts": counts of the classes. "scores": one `ScoreHistogram` for each class.
    """

    name: str
    evidence: Literal["counts", "scores"]
    lower: Lower

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
            input. The other bounds ignore it.
        """
        split = _successes if self.evidence == "counts" else _histograms
        hits, misses, total = split(evidence, top, n)
        level = operand("alpha", number("alpha", alpha), 0.0, 1.0, closed="neither", nan=False)
        if not runner_up:
            z, p, q = (float(v) for v in self.lower(hits, total, level, u))
            return Pair(z, -z, p, q)
        level = half(level)
        lower = self.lower(hits, total, level, u)
        # the largest upper bound covers the runner-up, whichever class it is
        uppers = [self.lower(other, total, level, _opposite(u)) for other in misses]
        z_b, p_b = capped_end(lower, min(uppers, key=lambda upper: float(upper.z)))
        return Pair(float(lower.z), float(z_b), float(lower.p), float(p_b))


def _successes(evidence: Any, top: int, n: int) -> tuple[Any, Iterable[Any], NDArray[np.int64]]:
    """The top class's count, the failures of the largest other one, and n."""
    counts, n = as_integers("evidence", evidence), count("n", n, 1)
    if counts.ndim != 1 or counts.size < 2:
        raise ValueError(f"evidence must be the counts of two classes or more; got {counts.shape}")
    if int(counts.sum()) > n:
        raise ValueError(f"evidence must sum to at most n = {n}; got {counts.sum()}")
    top, total = _checked_top(top, counts.size), as_integers("n", n)
    return counts[top], [total - np.delete(counts, top).max()], total


def _histograms(
    evidence: Sequence[ScoreHistogram], top: int, n: int
) -> tuple[Any, Iterable[Any], NDArray[np.int64]]:
    """The top class's histogram, those of 1 - score of the others, and n."""
    top, n = _checked_top(top, len(evidence)), count("n", n, 1)
    if bad := [h.n for h in evidence if h.n != n]:
        raise ValueError(f"evidence must hold histograms of n = {n} scores; got {bad[0]}")
    others = (h.complement() for c, h in enumerate(evidence) if c != top)
    return evidence[top], others, as_integers("n", n)


def _checked_top(top: int, classes: int) -> int:
    if classes < 2:
        raise ValueError(f"evidence must be of two classes or more; got {classes}")
    top = count("top", top)
    if not top < classes:
        raise ValueError(f"top must be one of {classes} classes; got {top}")
    return top


def _opposite(u: float | None) -> float | None:
    """The number for the other end: uniform on the multiples of 2^-53 if u is.

    The level needs no independence. Each end errs with probability at most alpha/2 as its
    own number is uniform and independent of the counts, and the sum of the two bounds the
    chance that either errs, however the numbers depend on each other. The bound of the
    largest other count covers the runner-up because for one and the same number it
    increases with the count. Opposite numbers spread the width of the pair least.
    """
    return None if u is None else 1.0 - u + 2.0**-53


def _clopper_pearson(k: Any, n: NDArray[Any], alpha: Array, u: float | None) -> End:
    return end(*arguments(k, n, alpha))


def _anytime(k: Any, n: NDArray[Any], alpha: Array, u: float | None) -> End:
    anytime_level(alpha)
    return anytime_end(*arguments(k, n, alpha))


def _randomized(k: Any, n: NDArray[Any], alpha: Array, u: float | None) -> End:
    if u is None:
        raise ValueError("u must be a uniform number in (0, 1] for a randomized bound; got None")
    uniform = as_floats("u", number("u", u), 0.0, 1.0, closed="right", nan=False)
    return randomized_end(*arguments(k, n, alpha), uniform)


def _soft(h: ScoreHistogram, n: Any, alpha: Array, u: float | None, *, method: str) -> End:
    return soft_end(h, alpha, method)


#: The bounds by name. "hoeffding" isn't here: "chernoff" is never below it.
BOUNDS: dict[str, Bound] = {
    bound.name: bound
    for bound in (
        Bound("clopper-pearson", "counts", _clopper_pearson),
        Bound("randomized", "counts", _randomized),
        Bound("anytime", "counts", _anytime),
        *(
            Bound(name, "scores", partial(_soft, method=name))
            for name in ("chernoff", "maurer-pontil", "betting")
        ),
    )
}
