"""Radii of decision lists proved in ball arithmetic, component by component."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rsbounds.audit._balls import Arb, event
from rsbounds.composite import Cond, Plan, Rule
from rsbounds.confidence import lower_bound
from rsbounds.confidence._rigorous import PRECISION, tail

Drawn = Mapping[int, Sequence[int]]  # counts by stage


def proved(
    rule: Rule,
    plan: Plan,
    item: int,
    counts: Sequence[Sequence[int] | None],
    n: int,
    alpha: float,
    radius: float,
) -> bool:
    """Whether within the radius the item fires for the plan's class and none before for others."""
    import flint

    if item not in plan.items or not radius > 0:
        return False
    drawn = {k: row for k, row in enumerate(counts) if row is not None}
    with flint.ctx.workprec(PRECISION):
        level = _Level(n, flint.arb(alpha) / len(plan.items), alpha / len(plan.items))
        reach = flint.arb(radius)
        fires = (_fires(rule, q, plan.cls, drawn, level, reach) for q in rule.items[item])
        blocks = (_blocks(rule, plan, i, drawn, level, reach) for i in range(item))
        return all(fires) and all(blocks)


class _Level(NamedTuple):
    """Bounds on the probabilities of one stage's classes, each of this level."""

    n: int
    alpha: Arb
    near: float

    def lower(self, hits: int, z: Arb, parts: int = 1) -> bool:
        """Whether a lower bound is at least Phi(z); one of several ``parts`` of the level."""
        return bool(parts * tail(hits, self.n, *event(z)) <= self.alpha)

    def upper(self, hits: int, z: Arb, parts: int = 1) -> bool:
        return self.lower(self.n - hits, -z, parts)

    def margin(self, hits: int, others: int, gap: Arb) -> bool:
        """Whether half the difference of two scores is at least the gap."""
        low = gap * 0 + float(lower_bound(hits, self.n, self.near / 2, scores=True))
        high = low - 2 * gap
        return self.lower(hits, low, 2) and bool(-low <= high or self.upper(others, high, 2))


def _fires(rule: Rule, q: Cond, cls: int, counts: Drawn, level: _Level, reach: Arb) -> bool:
    if q.stage not in counts:
        return False
    z, row = (reach + q.threshold) / rule.sigmas[q.stage], counts[q.stage]
    if q.kind == "margin":
        return level.margin(row[cls], max(c for b, c in enumerate(row) if b != cls), z)
    return level.lower(sum(row[c] for c in q.classes or (cls,)), z)


def _blocks(rule: Rule, plan: Plan, i: int, counts: Drawn, level: _Level, reach: Arb) -> bool:
    """Whether each other class misses the condition that was chosen for it."""
    most: dict[tuple[int, int], int] = {}  # the largest count is the worst case of a condition
    for b, chosen in enumerate(plan.blocking[i]):
        q = rule.items[i][chosen]
        if b != plan.cls:
            if q.stage not in counts:
                return False
            lead = plan.references[q.stage][b] if q.kind == "margin" else -1
            hits = sum(counts[q.stage][c] for c in q.classes or (b,))
            most[chosen, lead] = max(most.get((chosen, lead), 0), hits)
    for (chosen, lead), hits in most.items():
        q = rule.items[i][chosen]
        z = (reach - q.threshold) / rule.sigmas[q.stage]
        if not (
            level.upper(hits, -z) if lead < 0 else level.margin(counts[q.stage][lead], hits, z)
        ):
            return False
    return True
