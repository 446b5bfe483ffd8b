"""Top-k: which sums of probabilities to bound, by the selection samples alone.

No level rests on how good a plan is: any that is fixed before the other samples are
seen has level alpha.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from rsbounds._numerics.counts import padded

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

SCENARIOS = 16  # probabilities that the selection counts allow, where a plan is tried
CHOICES = 4  # at most, in a plan: each further one takes its part of alpha
CANDIDATES = 8  # that are tried at the levels of a plan of several
MOST_SUMS = 10**9  # of one choice: more of them need a level that never pays
GAIN = 1e-4  # of the expected radius, relative: less is not worth a further choice


@dataclass(frozen=True)
class TopKChoice:
    """One sum of t labels that is compared with t times the label's probability.

    Parameters
    ----------
    t : int
        Labels in the sum.
    apart : tuple of int
        Labels that are left out of it beforehand: T, at most k - t of them.
    parts : int
        The sum's upper bound has the level alpha/parts.
    """

    t: int
    apart: tuple[int, ...]
    parts: int

    def columns(self) -> dict[str, str]:
        """The choice as a row holds it."""
        apart = ",".join(map(str, self.apart)) or "-"
        return {"sum_of": str(self.t), "apart": apart, "parts": str(self.parts)}


@dataclass(frozen=True)
class TopKPlan:
    """All that the selection samples decide: k, and the choices that may pay.

    A choice (t, T, parts) stands for the C(w, t) sums of t of some w = k - |T| labels,
    at alpha/parts each. Over all choices C(w, t)/parts adds up to 1/2; the other half
    of alpha is for the label's own bound.
    """

    k: int
    choices: tuple[TopKChoice, ...]


def plan(
    select: Counts, label: int, k: int, *, n0: int, n: int, alpha: float
) -> TopKPlan:
    """The choices that promise most, by the selection samples.

    Every choice leaves out the m labels that were selected most often, for some m, and
    compares a sum of t. Its promise is its radius, in scores of normal noise, averaged
    over probabilities that the selection counts allow, were n samples to have these
    shares. The best choice comes first, then one after another that raises the average
    of the largest radius, all at the lower levels that a longer plan leaves them.

    Parameters
    ----------
    select : ndarray of int, shape (classes,)
        Class counts of the n0 selection samples.
    label, k, n0, n, alpha
        As in :func:`top_k_radius`.
    """
    if k == 1:
        return TopKPlan(1, (TopKChoice(1, (), 2),))
    # rows of files leave out trailing zeros: add as many as a plan can look at
    select = padded(select, max(len(select), label + 1) + 2 * k + 1)
    others = _others(select, label, k)
    shapes = _shapes(k)
    trial = _Trial.of(_scenarios(select, label, others, n0), shapes, k, n, alpha)
    alone = trial.radii(np.arange(len(shapes.t)), np.ones(1))
    hopeful = _hopeful(alone)
    together = trial.radii(hopeful, np.arange(2.0, CHOICES + 1)[:, None])
    taken = _greedy(np.concatenate([alone[None, hopeful], together]))
    choices = [
        TopKChoice(
            t=int(shapes.t[j]),
            apart=tuple(others[: k - shapes.window[j]].tolist()),
            parts=2 * len(taken) * int(shapes.sums[j]),
        )
        for j in hopeful[taken]
    ]
    return TopKPlan(k, tuple(choices))


def _others(select: Counts, label: int, k: int) -> NDArray[np.intp]:
    """The other labels that matter, the one selected most often first.

    Those that were selected, k at least, and k/2 more. The classes that the model has
    besides don't count: neither the plan nor its time depends on how many there are.
    """
    order = np.argsort(-select, kind="stable")
    others: NDArray[np.intp] = order[order != label]
    selected = int(np.count_nonzero(select[others]))
    # at most a number that depends on k alone, so that the plan's time does too
    return others[: min(max(k, selected) + k // 2, 2 * k + 8)]


def _hopeful(alone: Floats) -> NDArray[np.intp]:
    """Shapes to be tried together: the best one first, then those that help it most."""
    best = int(_average(alone).argmax())
    beside = _average(np.maximum(alone, alone[best]))
    order = np.argsort(-beside, kind="stable")
    return np.append(best, order[order != best])[:CANDIDATES]


def _greedy(radii: Floats) -> list[int]:
    """Which shapes to take; ``radii`` by the number taken, shape and scenario."""
    taken = [0]
    best = float(_average(radii[0, 0]))
    for at_this_level in radii[1:]:
        with_each = np.maximum(at_this_level, at_this_level[taken].max(axis=0))
        promise = _average(with_each)
        following = int(promise.argmax())
        if not promise[following] > best + GAIN * abs(best):
            break
        best = float(promise[following])
        taken.append(following)
    return taken


def _average(radii: Floats) -> Any:
    """Mean radius over scenarios; a negative one counts 1 % of itself.

    Rounded, so that no tie is decided by how a machine rounds.
    """
    # not 0: where no scenario certifies, the choice that is nearest to it is best
    counted = np.maximum(radii, 0.01 * radii)
    return (counted.sum(axis=-1) / SCENARIOS).round(12)


class _Shapes(NamedTuple):
    """Choices by their numbers: t of a window of k - |T| labels, and how many sums."""

    t: NDArray[np.intp]
    window: NDArray[np.intp]
    sums: NDArray[np.intp]
    log_t: Floats


@lru_cache(maxsize=64)
def _shapes(k: int) -> _Shapes:
    """The shapes of choices that are tried: all of them for small k."""
    shapes = []
    for window in _grid(k):
        sizes = {*_grid(window), *range(max(window - 2, 1), window)}
        for t in sorted(sizes):
            sums = math.comb(window, t)
            if sums <= MOST_SUMS:
                shapes.append((t, window, sums))
    t_of, window_of, sums_of = np.array(shapes, dtype=np.intp).T
    return _Shapes(t_of, window_of, sums_of, np.log(t_of.astype(np.float64)))


def _grid(k: int) -> list[int]:
    """1 to 10 and k, and some numbers between."""
    sizes = {k, *range(1, min(k, 10) + 1)}
    # by steps of a quarter, so that their number grows as log k
    size = 10.0
    while (size := 1.25 * size) < k:
        sizes.add(int(size))
    return sorted(sizes)


@lru_cache(maxsize=64)
def _spread(labels: int) -> Floats:
    """Numbers in (0, 1): for each label all levels once, in orders that differ."""
    mixed = np.outer(np.arange(1.0, SCENARIOS + 1), np.sqrt(np.arange(2.0, labels + 2)))
    mixed = mixed * np.arange(1.0, SCENARIOS + 1)[:, None] % 1.0
    ranks = mixed.argsort(axis=0).argsort(axis=0)
    return np.asarray((ranks + 0.5) / SCENARIOS)


@lru_cache(maxsize=64)
def _spread_scores(labels: int) -> Floats:
    return np.asarray(ndtri(_spread(labels)))


def _scenarios(select: Counts, label: int, others: NDArray[np.intp], n0: int) -> Floats:
    """Probabilities that the selection counts allow, shape (SCENARIOS, labels).

    Gamma quantiles, approximately, at shapes count + 1/labels: a Dirichlet law whose
    unselected labels spread over many magnitudes, as those of classifiers do.
    """
    # Wilson and Hilferty: the cube root of a gamma variable is about normal, with mean
    # 1 - 1/(9 shape) and deviation 1/(3 sqrt(shape)).
    labels = len(others) + 1
    hits = select[np.append(label, others)]
    shape = hits + 1.0 / labels
    cube_root = 1 - 1 / (9 * shape) + _spread_scores(labels) / (3 * np.sqrt(shape))
    # the approximation may fall below 0 where hits are few: no share may
    selected = shape * np.maximum(cube_root, 1e-3) ** 3
    # small quantiles of shape a = 1/labels are (u Gamma(1 + a))^labels; .95 stands for
    # the Gamma, which is in [.88, 1]
    unselected = (0.95 * _spread(labels)) ** labels
    weight = np.where(hits > 0, selected, unselected)
    rest = max(n0 - int(hits.sum()), 0)
    return np.asarray(weight / (weight.sum(axis=1, keepdims=True) + rest))


def _sums(shares: Floats, k: int, shapes: _Shapes) -> Floats:
    """What each shape compares, shape (shapes, SCENARIOS).

    ``shares`` of the other labels, the most selected one first.
    """
    windows, row = np.unique(shapes.window, return_inverse=True)
    left = np.arange(shares.shape[1]) >= (k - windows)[:, None, None]
    ranked = -np.sort(-shares * left, axis=-1)
    upto = np.zeros((*ranked.shape[:2], ranked.shape[2] + 1))
    np.cumsum(ranked, axis=-1, out=upto[..., 1:])
    last = shapes.window
    return np.asarray(upto[row, :, last] - upto[row, :, last - shapes.t])


@dataclass(frozen=True)
class _Trial:
    """What n samples would show of each shape in the scenarios, in scores."""

    lower: Floats  # scores of the label's lower bound, shape (SCENARIOS,)
    sums: Floats  # shares, shape (shapes, SCENARIOS)
    shapes: _Shapes
    n: int
    alpha: float

    @classmethod
    def of(
        cls, shares: Floats, shapes: _Shapes, k: int, n: int, alpha: float
    ) -> _Trial:
        """The trial of shares as :func:`_scenarios` gives them, the label's first."""
        lower = _lower_score(shares[:, 0], n, _level_score(alpha / 2))
        return cls(lower, _sums(shares[:, 1:], k, shapes), shapes, n, alpha)

    def radii(self, chosen: NDArray[np.intp], taken: Floats) -> Floats:
        """Radii of ``chosen`` shapes where ``taken`` choices share alpha.

        The result has the shape (*taken, shapes, SCENARIOS).
        """
        with np.errstate(under="ignore"):  # a level of 0 shows nothing
            level = _level_score(self.alpha / (2 * taken * self.shapes.sums[chosen]))
        upper = _upper_score(self.sums[chosen], self.n, level[..., None])
        capped = np.minimum(upper, -self.lower)
        return _crossings(self.lower, capped, self.shapes.log_t[chosen, None])


def _level_score(level: Any) -> Any:
    # a level that underflowed to 0 would have an infinite score, and NaN would follow
    return np.minimum(-ndtri(level), 40.0)


def _upper_score(share: Floats, n: int, level: Any) -> Floats:
    """The score of about the upper bound after n samples; ``level`` is a score."""
    # Clopper and Pearson's is the quantile of a beta law of shape hits + 1: about that
    # of a gamma law (see _scenarios) whose deviation has the binomial's factor 1 -
    # share
    hits = n * share + 1
    spread = level * np.sqrt(np.maximum(1 - share, 0)) / (3 * np.sqrt(hits))
    upper = hits * (1 - 1 / (9 * hits) + spread) ** 3 / n
    # below 1, whose score is infinite
    return np.asarray(ndtri(np.minimum(upper, 1 - 1e-9)))


def _lower_score(share: Floats, n: int, level: float) -> Floats:
    """The score of about the lower bound after n samples; ``level`` is a score."""
    hits = n * share + 1e-9  # of shape hits; a little more, to divide by it
    spread = level * np.sqrt(np.maximum(1 - share, 0)) / (3 * np.sqrt(hits))
    lower = hits * np.maximum(1 - 1 / (9 * hits) - spread, 0) ** 3 / n
    # for shares near 1 the gamma law is near that of the misses, not of the hits
    of_misses = -_upper_score(1 - share, n, level)
    return np.where(share > 0.5, of_misses, ndtri(np.maximum(lower, 1e-18)))


def _crossings(z_a: Floats, z_b: Floats, log_t: Floats) -> Floats:
    """About where Phi(z_a - r) falls to Phi(z_b + r)/t: two steps of Newton."""
    # the first step starts where both scores are the middle one
    # not below -30, where Phi and its slope near the smallest doubles
    middle = np.maximum((z_a + z_b) / 2, -30.0)
    slope = 2 * np.exp(-(middle**2) / 2) / ndtr(middle)
    radius = (z_a - z_b) / 2 + log_t * math.sqrt(2 * math.pi) / slope
    low, high = np.maximum((z_a - radius, z_b + radius), -30.0)
    p_low, p_high = ndtr(low), ndtr(high)
    slope = np.exp(-(low**2) / 2) / p_low + np.exp(-(high**2) / 2) / p_high
    gap = np.log(p_low / p_high) + log_t
    return np.asarray(radius + gap * math.sqrt(2 * math.pi) / slope)
