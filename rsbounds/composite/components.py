"""Level-alpha bounds of the components whose least is the radius of an item."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import Array
from rsbounds._numerics.rounding import EPS, product
from rsbounds.composite.geometry import less
from rsbounds.composite.planning import Plan
from rsbounds.composite.rule import Cond, Rule
from rsbounds.confidence.counts import End, arguments, end
from rsbounds.confidence.pairs import half

#: Counts of one stage's classes, drawn where they are asked for.
CountsOf = Callable[[int], NDArray[np.int64]]


class Bounds:
    """Clopper-Pearson bounds of the stages at one level, each solved once."""

    def __init__(self, counts_of: CountsOf, n: int, level: Array, values: Array) -> None:
        self.used: dict[int, NDArray[np.int64]] = {}
        self._counts_of, self._n, self.values = counts_of, n, values
        self._level, self._half = level, half(level)
        self._known: dict[tuple[int, bool, bool], End] = {}

    def counts(self, stage: int) -> NDArray[np.int64]:
        if stage not in self.used:
            self.used[stage] = self._counts_of(stage)
        return self.used[stage]

    def lower(self, stage: int, halved: bool = False) -> End:
        """Lower ends of all classes' probabilities."""
        return self._end(stage, halved, False)

    def upper(self, stage: int, halved: bool = False) -> Array:
        """Scores of upper bounds of all classes' probabilities."""
        return -self._end(stage, halved, True).z

    def of_set(self, q: Cond, above: bool) -> float:
        """Score of a lower or, ``above``, an upper bound of a set's probability."""
        hits = self.counts(q.stage)[list(q.classes or ())].sum()
        found = end(*arguments(self._n - hits if above else hits, self._n, self._level))
        return float(-found.z if above else found.z)

    def pair(self, q: Cond, cls: int) -> tuple[End, float]:
        """Lower end of a class and the score of an upper bound of every other one."""
        margin = q.kind == "margin"
        lower = End(*(v[cls] for v in self.lower(q.stage, margin)))
        if not margin:
            return lower, -float(lower.z)
        others = np.delete(self.upper(q.stage, True), cls).max()
        return lower, float(min(others, -lower.z))

    def _end(self, stage: int, halved: bool, failures: bool) -> End:
        key = (stage, halved, failures)
        if key not in self._known:
            counts = self.counts(stage)
            counts = self._n - counts if failures else counts
            level = self._half if halved else self._level
            self._known[key] = end(*arguments(counts, self._n, level))
        return self._known[key]


def fires(rule: Rule, i: int, chosen: Plan, stages: Bounds) -> tuple[float, str]:
    """Lower bound of the least excess of the item's conditions, and which it is."""
    found = []
    for q in rule.items[i]:
        if q.kind == "value":
            value = stages.values[q.stage]
        elif q.kind == "set":
            value = _down(rule.sigmas[q.stage], stages.of_set(q, above=False))
        else:
            lower, upper = stages.pair(q, chosen.cls)
            value = _down(rule.sigmas[q.stage], lower.z)
            if q.kind == "margin":
                value = _down(rule.sigmas[q.stage], less(lower.z, upper) / 2.0)
        name = f"item {i} fires: {q.kind}, stage {q.stage}"
        found.append((float(less(value, q.threshold)), name))
    return min(found)


def blocks(rule: Rule, i: int, chosen: Plan, stages: Bounds) -> tuple[float, str]:
    """Lower bound of the least shortfall, over the other classes, of their conditions."""
    blocking, least = np.array(chosen.blocking[i]), (np.inf, "")
    for index, q in enumerate(rule.items[i]):
        classes = np.flatnonzero((blocking == index) & (np.arange(len(blocking)) != chosen.cls))
        if not classes.size:
            continue
        match q.kind:
            case "score":
                z = stages.upper(q.stage)[classes]
            case "margin":
                reference = np.array(chosen.references[q.stage])[classes]
                lower = stages.lower(q.stage, halved=True).z[reference]
                upper = np.minimum(stages.upper(q.stage, halved=True)[classes], -lower)
                z = -less(lower, upper) / 2.0
            case "set":
                z = np.full(classes.shape, stages.of_set(q, above=True))
            case _:
                z = np.full(classes.shape, stages.values[q.stage])
        high = z if q.kind == "value" else -_down(rule.sigmas[q.stage], -z)
        shortfall = less(q.threshold, high)
        worst = int(shortfall.argmin())
        name = f"item {i} blocks class {classes[worst]}: {q.kind}, stage {q.stage}"
        least = min(least, (float(shortfall[worst]), name))
    return least


def _down(sigma: float, z: Any) -> Array:
    """sigma z, rounded down."""
    value = product(sigma, z)
    return np.asarray(value - EPS * np.where(np.isfinite(value), np.abs(value), 0.0))
