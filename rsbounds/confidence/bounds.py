"""Bounds on the top class and the runner-up together: from two counts, or by name from
evidence.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import (
    Array,
    as_floats,
    as_integers,
    broadcast,
    choice,
    count,
    either,
    every,
    number,
    operand,
)
from rsbounds.confidence.counts import End, arguments, end, randomized_end
from rsbounds.confidence.sequential import anytime_end, anytime_level
from rsbounds.confidence.soft import ScoreHistogram, soft_end

#: (successes or histogram, n, alpha, u) -> the lower end
Lower = Callable[[Any, NDArray[Any], Array, float | None], End]


def pair_bounds(
    count_a: Any,
    count_b: Any,
    n: Any,
    alpha: Any,
    *,
    scores: bool = False,
    method: str = "clopper-pearson",
) -> tuple[Any, Any]:
    """Joint bounds for the top class and the runner-up, at alpha/2 each.

    ``count_b`` is the largest count among the other classes. Its upper bound covers the
    true runner-up, whichever class that is, because the bound increases with the count:
    no union over the classes is needed. Class A itself must come from other samples.

    Parameters
    ----------
    count_a, count_b : array_like of int
        Counts of the top class and of the largest other class; count_a + count_b <= n.
    n, alpha, scores
        As in `lower_bound`; alpha >= 1e-323, so that it can be halved.
    method : {"clopper-pearson", "anytime"}
        "anytime": from `anytime_lower_bound` and `anytime_upper_bound`, alpha <= 1/2.
        The bounds hold after every trial together, so sampling may stop at any time,
        for any reason, and the runner-up may be another class at every look.

    Returns
    -------
    p_a, p_b : float or ndarray
        Lower bound for A and upper bound for B, the latter capped at 1 - p_a; both hold
        together with probability at least 1 - alpha.

    Examples
    --------
    >>> from rsbounds.confidence import pair_bounds
    >>> for method in "clopper-pearson", "anytime":
    ...     p_a, p_b = pair_bounds(900, 60, 1000, 0.001, method=method)
    ...     print(f"{method:15} {p_a:.6f} {p_b:.6f}")
    clopper-pearson 0.865225 0.088655
    anytime         0.852594 0.098780
    """
    anytime = choice("method", method, ("clopper-pearson", "anytime")) == "anytime"
    if anytime:
        anytime_level(alpha)
    count_a, n_a, alpha_a = arguments(count_a, n, alpha, "count_a")
    count_b, n, alpha = arguments(count_b, n_a, alpha_a, "count_b")
    count_a, count_b, n = broadcast(count_a=count_a, count_b=count_b, n=n)
    if not every(count_a <= n - count_b):
        raise ValueError("count_a + count_b must be <= n; got a larger sum")
    level, bound = half(alpha), anytime_end if anytime else end
    lower, upper = bound(count_a, n, level), bound(n - count_b, n, level)
    z_b, p_b = capped_end(lower, upper)
    return (lower.z[()], z_b[()]) if scores else (lower.p[()], p_b[()])


def half(alpha: Any) -> Array:
    """``alpha``/2, or ValueError where that isn't above 0."""
    return operand("alpha", alpha, 1e-323, nan=False) / 2.0


def capped_end(lower: End, upper: End) -> tuple[Array, Array]:
    """(z_b, p_b) from the failures' end of B, capped at the complement of A's lower
    end.
    """
    capped = upper.z <= lower.z
    return either(capped, -lower.z, -upper.z), either(capped, lower.q, upper.q)


class Pair(NamedTuple):
    """Normal scores and probabilities of the top class's lower bound and the others'
    upper one.

    The former are rounded down, the latter up. Where ``p_b`` stands for 1 - p_a,
    ``z_b`` is ``-z_a`` exactly.
    """

    z_a: float
    z_b: float
    p_a: float
    p_b: float


@dataclass(frozen=True)
class Bound:
    """From the evidence that one input's samples left to bounds on its probabilities.

    ``name`` is that of result files, the key in `BOUNDS`; ``evidence`` is "counts" of
    the classes, or "scores", one `ScoreHistogram` for each class.
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
            fell on no class. Each histogram holds n scores, and a class's scores sum to
            at most 1 (a sample that fell on no class scores 0 for each).
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
            For "randomized" alone: a uniform number in (0, 1], such as ``1 -
            generator.random()``, fixed before the counts are seen, another for each
            input. The other bounds ignore it.
        """
        split = _successes if self.evidence == "counts" else _histograms
        hits, misses, total = split(evidence, top, n)
        level = operand(
            "alpha", number("alpha", alpha), 0.0, 1.0, closed="neither", nan=False
        )
        if not runner_up:
            z, p, q = (float(v) for v in self.lower(hits, total, level, u))
            return Pair(z, -z, p, q)
        level = half(level)
        lower = self.lower(hits, total, level, u)
        # uniform as u is; the level needs no independence, and opposites spread the
        # pair least
        opposite = None if u is None else 1.0 - u + 2.0**-53
        # the largest upper bound covers the runner-up, whichever class it is
        uppers = [self.lower(other, total, level, opposite) for other in misses]
        z_b, p_b = capped_end(lower, min(uppers, key=lambda upper: float(upper.z)))
        return Pair(float(lower.z), float(z_b), float(lower.p), float(p_b))


def _successes(
    evidence: Any, top: int, n: int
) -> tuple[Any, Iterable[Any], NDArray[np.int64]]:
    """The top class's count, the failures of the largest other one, and n."""
    counts, n = as_integers("evidence", evidence), count("n", n, 1)
    if counts.ndim != 1 or counts.size < 2:
        raise ValueError(
            f"evidence must be the counts of two classes or more; got {counts.shape}"
        )
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
        raise ValueError(
            f"evidence must hold histograms of n = {n} scores; got {bad[0]}"
        )
    others = (h.complement() for c, h in enumerate(evidence) if c != top)
    return evidence[top], others, as_integers("n", n)


def _checked_top(top: int, classes: int) -> int:
    if classes < 2:
        raise ValueError(f"evidence must be of two classes or more; got {classes}")
    top = count("top", top)
    if not top < classes:
        raise ValueError(f"top must be one of {classes} classes; got {top}")
    return top


def _clopper_pearson(k: Any, n: NDArray[Any], alpha: Array, u: float | None) -> End:
    return end(*arguments(k, n, alpha))


def _anytime(k: Any, n: NDArray[Any], alpha: Array, u: float | None) -> End:
    anytime_level(alpha)
    return anytime_end(*arguments(k, n, alpha))


def _randomized(k: Any, n: NDArray[Any], alpha: Array, u: float | None) -> End:
    if u is None:
        raise ValueError(
            "u must be a uniform number in (0, 1] for a randomized bound; got None"
        )
    uniform = as_floats("u", number("u", u), 0.0, 1.0, closed="right", nan=False)
    return randomized_end(*arguments(k, n, alpha), uniform)


def _soft(
    h: ScoreHistogram, n: Any, alpha: Array, u: float | None, *, method: str
) -> End:
    return soft_end(h, alpha, method)


#: The bounds by name. "hoeffding" isn't here: "chernoff" is never below it.
BOUNDS: dict[str, Bound] = {
    "clopper-pearson": Bound("clopper-pearson", "counts", _clopper_pearson),
    "randomized": Bound("randomized", "counts", _randomized),
    "anytime": Bound("anytime", "counts", _anytime),
}
for _name in ("chernoff", "maurer-pontil", "betting"):
    BOUNDS[_name] = Bound(_name, "scores", partial(_soft, method=_name))
