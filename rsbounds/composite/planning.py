"""What the selection samples choose: class, items and what blocks the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special as sc

from rsbounds._numerics.checks import Array, as_integers, count, number
from rsbounds._numerics.counts import total
from rsbounds._numerics.errors import ArgumentError
from rsbounds.composite.geometry import coordinate, item_terms, through_items
from rsbounds.composite.rule import Cond, Rule, checked_rule
from rsbounds.confidence.counts import MAX_N, arguments, clopper_pearson, score

OPTIMISM = 0.05  # error probability of the bounds that choose the items, for each class


@dataclass(frozen=True)
class Plan:
    """All that is chosen from the selection samples.

    Parameters
    ----------
    cls : int
        The class to be certified.
    items : tuple of int
        Items that may decide; each component has level alpha over their number.
    references : tuple of tuple of int
        By level and class b: the class whose margin over b blocks b.
    blocking : tuple of tuple of int
        By item and class b: the condition that is to keep b from firing.
    """

    cls: int
    items: tuple[int, ...]
    references: tuple[tuple[int, ...], ...]
    blocking: tuple[tuple[int, ...], ...]


def plan(rule: Rule, select: Any, n: int = 100_000, alpha: float = 0.001) -> Plan:
    """Choose class, items, references and blocking conditions from selection counts.

    Parameters and errors as in :func:`certify_counts`. The plan has the class and the
    item of largest plug-in radius, and every item that would be better were its
    probabilities at the favourable ends of 95 % bounds, no score beyond that of n
    successes in n samples: an item that needs a larger one would only take its part of
    alpha. As many samples are taken to be drawn at each level as counts add up to at
    most: those missing at another level are void.

    Examples
    --------
    >>> from rsbounds.composite import Cond, Rule
    >>> from rsbounds.composite.internal import plan
    >>> rule = Rule([1.0, 0.5], [[Cond("score", 0)], [Cond("margin", 1)]])
    >>> chosen = plan(rule, [[20, 40, 40], [90, 5, 5]])
    >>> chosen.cls, chosen.items
    (0, (1,))
    """
    counts = checked_select(rule, select)
    n = count("n", n, 1)
    alpha = number("alpha", alpha, 0.0, 1.0, closed="neither")
    # as many at each level: votes missing there are void
    drawn = max(int(counts.sum(axis=-1).max()), 1)
    z = sc.ndtri((counts + 0.5) / (drawn + 1.0))
    cls, through = candidate_items(rule, z)
    best = int(through.argmax())
    needed = max(through[best], 0.0)
    reach = float(score(*clopper_pearson(*arguments(n, n, alpha))))
    hopeful = hopeful_items(rule, counts, drawn, cls=cls, reach=reach)
    items = []
    for item, radius in enumerate(hopeful):
        if item == best or radius > needed:
            items.append(item)
    return Plan(
        cls=cls,
        items=tuple(items),
        references=_references(z),
        blocking=tuple(blocking_item(rule, item, z) for item in rule.items),
    )


def candidate_items(rule: Rule, z: Array) -> tuple[int, Array]:
    """The class of the largest radius, and the radius through each item for it.

    ``z``, shape (K, C), has the scores taken for the true ones.
    """
    # a class fires only where it leads a stage, so the leaders are the candidates
    candidates = np.unique(z.argmax(axis=-1))
    scores = np.broadcast_to(z, (len(candidates), *z.shape))
    through = through_items(*item_terms(rule, scores, candidates))
    winner = int(through.max(axis=-1).argmax())
    return int(candidates[winner]), through[winner]


def hopeful_items(
    rule: Rule, counts: NDArray[np.int64], drawn: int, *, cls: int, reach: float
) -> Array:
    """The radius through each item, all probabilities at their favourable ends.

    No score is beyond ``reach``: n samples could not show it.
    """
    trials = np.full(counts.shape, drawn)
    level = np.full(counts.shape, OPTIMISM)
    lower = score(*clopper_pearson(counts, trials, level))
    upper = -score(*clopper_pearson(trials - counts, trials, level))
    low = np.maximum(lower, -reach)[None]
    high = np.minimum(upper, reach)[None]
    # the class fires at its best where its own probabilities are large and the others
    # small; the other classes are blocked at best the other way round
    labels = np.array([cls])
    fires, _ = item_terms(rule, high, labels, low)
    _, blocks = item_terms(rule, low, labels, high)
    return np.asarray(through_items(fires[0], blocks[0]))


def blocking_item(rule: Rule, item: Sequence[Cond], z: Array) -> tuple[int, ...]:
    """By class: which condition of the item it misses by most, the first of equals."""
    shortfalls = []
    for condition in item:
        low, _ = coordinate(rule, condition, z, z)
        shortfalls.append(condition.threshold - low)
    return tuple(np.argmax(shortfalls, axis=0).tolist())


def _references(z: Array) -> tuple[tuple[int, ...], ...]:
    """By level and class: the class that leads, for the leader the second."""
    order = np.argsort(-z, axis=-1, kind="stable")
    first = order[:, :1]
    second = order[:, 1:2]
    classes = np.arange(z.shape[-1])
    leading = np.where(classes == first, second, first)
    return tuple(tuple(row) for row in leading.tolist())


def checked_select(rule: Rule, select: Any) -> NDArray[np.int64]:
    """The selection counts, shape (K, C), or ValueError."""
    levels = len(checked_rule(rule).sigmas)
    counts = as_integers("select", select)
    least = rule.least_classes
    if counts.ndim != 2 or counts.shape[0] != levels or counts.shape[1] < least:
        expected = f"({levels} levels, {least} classes or more)"
        raise ArgumentError("select", f"must have shape {expected}; got {counts.shape}")
    if not all(total(row) <= MAX_N for row in counts):
        raise ArgumentError("select", f"must sum to at most {MAX_N:g} at each level")
    return counts
