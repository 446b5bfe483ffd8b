"""What is chosen from the selection samples, before those that estimate are seen."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special as sc

from rsbounds._numerics.checks import as_integers, count, number
from rsbounds.composite.geometry import coordinate, item_terms, through_items
from rsbounds.composite.rule import Rule, checked_rule
from rsbounds.confidence.counts import clopper_pearson, lower_bound, score

OPTIMISM = 0.05  # error probability of the bounds that choose the items, for each class


@dataclass(frozen=True)
class Plan:
    """All that is chosen from the selection samples."""

    cls: int  # to be certified
    items: tuple[int, ...]  # that may decide; each component has level alpha over their number
    references: tuple[tuple[int, ...], ...]  # by level: the class whose margin over b blocks b
    blocking: tuple[tuple[int, ...], ...]  # by item: which condition is to keep b from firing


def plan(rule: Rule, select: Any, n: int = 100_000, alpha: float = 0.001) -> Plan:
    """Choose class, items, references and blocking conditions from the selection counts.

    Parameters and errors as in :func:`certify_counts`. The plan has the class and the item of
    largest plug-in radius, and every item that would be better were its probabilities at the
    favourable ends of 95 % bounds, no score beyond that of n successes in n samples: an item
    that needs a larger one would only take its part of alpha. As many samples are taken to be drawn
    at each level as counts add up to at most: those missing at another level are void.

    Examples
    --------
    >>> from rsbounds.composite import Cond, Rule, plan
    >>> rule = Rule([1.0, 0.5], [[Cond("score", 0)], [Cond("margin", 1)]])
    >>> chosen = plan(rule, [[20, 40, 40], [90, 5, 5]])
    >>> chosen.cls, chosen.items
    (0, (1,))
    """
    counts, n = checked_counts("select", rule, select), count("n", n, 1)
    alpha = number("alpha", alpha, 0.0, 1.0, closed="neither")
    drawn = max(int(counts.sum(axis=-1).max()), 1)  # at each level; votes missing there are void
    z = sc.ndtri((counts + 0.5) / (drawn + 1.0))
    # a class fires only where it leads a stage, so the leaders are the candidates
    candidates = np.unique(z.argmax(axis=-1))
    same = np.broadcast_to(z, (len(candidates), *z.shape))
    through = through_items(*item_terms(rule, same, candidates))
    winner = int(through.max(axis=-1).argmax())
    cls, through = int(candidates[winner]), through[winner]
    total = np.full(counts.shape, drawn)
    level = np.full(counts.shape, OPTIMISM)
    reach = float(lower_bound(n, n, alpha, scores=True))
    low = np.maximum(score(*clopper_pearson(counts, total, level)), -reach)[None]
    high = np.minimum(-score(*clopper_pearson(total - counts, total, level)), reach)[None]
    hopeful = through_items(
        item_terms(rule, high, np.array([cls]), low)[0][0],
        item_terms(rule, low, np.array([cls]), high)[1][0],
    )
    best = int(through.argmax())
    able = [j for j, r in enumerate(hopeful) if j == best or r > max(through[best], 0.0)]
    # the other class that leads, and the condition that each class misses by most
    order = np.argsort(-z, axis=-1, kind="stable")
    lead = np.where(np.arange(z.shape[-1]) == order[:, :1], order[:, 1:2], order[:, :1])
    short = [[q.threshold - coordinate(rule, q, z, z)[0] for q in item] for item in rule.items]
    blocking = [np.argmax(item, axis=0).tolist() for item in short]
    return Plan(cls, tuple(able), tuple(map(tuple, lead.tolist())), tuple(map(tuple, blocking)))


def checked_counts(name: str, rule: Rule, counts: Any) -> NDArray[np.int64]:
    """Class counts of all stages, or ValueError."""
    stages, least = len(checked_rule(rule).sigmas), rule.least_classes
    result = as_integers(name, counts)
    if result.ndim != 2 or result.shape[0] != stages or result.shape[1] < least:
        raise ValueError(
            f"{name} must have shape ({stages} levels, {least} classes or more); got {result.shape}"
        )
    return result
