"""Radii of decision lists proved in ball arithmetic, component by component."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rsbounds.audit._balls import Arb, event
from rsbounds.audit._bounds import PRECISION, tail
from rsbounds.composite import Cond, Plan, Rule
from rsbounds.confidence import lower_bound

Counts = Sequence[int]


def proved(
    rule: Rule,
    plan: Plan,
    item: int,
    counts: Sequence[Counts | None],
    n: int,
    alpha: float,
    radius: float,
) -> bool:
    """Whether within the radius the item fires for the plan's class and none before for others."""
    import flint

    if item not in plan.items or not radius > 0:
        return False
    with flint.ctx.workprec(PRECISION):
        drawn = {k: row for k, row in enumerate(counts) if row is not None}
        level = flint.arb(alpha) / len(plan.items)
        evidence = _Evidence(rule, plan, drawn, n, level, flint.arb(radius))
        fires = all(evidence.fires(q) for q in rule.items[item])
        return fires and all(evidence.blocks(i) for i in range(item))


@dataclass(frozen=True)
class _Evidence:
    """Counts by stage, and bounds of one level on the scores of their classes."""

    rule: Rule
    plan: Plan
    counts: Mapping[int, Counts]
    n: int
    level: Arb
    radius: Arb

    def fires(self, q: Cond) -> bool:
        """Whether the plan's class meets a condition wherever the input moves by the radius."""
        row, cls = self.counts.get(q.stage), self.plan.cls
        if row is None:
            return False
        z = (self.radius + q.threshold) / self.rule.sigmas[q.stage]
        if q.kind == "margin":
            return self._margin(row[cls], max(c for b, c in enumerate(row) if b != cls), z)
        return self._above(sum(row[c] for c in q.classes or (cls,)), z)

    def blocks(self, i: int) -> bool:
        """Whether each other class misses the condition of item i that was chosen for it."""
        components = set()  # of many classes with the same counts only one
        for b, chosen in enumerate(self.plan.blocking[i]):
            q = self.rule.items[i][chosen]
            row = self.counts.get(q.stage)
            if row is None:
                return False
            lead = row[self.plan.references[q.stage][b]] if q.kind == "margin" else None
            if b != self.plan.cls:
                components.add((q, lead, sum(row[c] for c in q.classes or (b,))))
        return all(self._misses(*component) for component in components)

    def _misses(self, q: Cond, lead: int | None, hits: int) -> bool:
        z = (self.radius - q.threshold) / self.rule.sigmas[q.stage]
        if lead is None:
            return self._above(self.n - hits, z)
        return self._margin(lead, hits, z)

    def _above(self, hits: int, z: Arb, parts: int = 1) -> bool:
        """Whether a lower bound is at least Phi(z), at one of the parts of the level."""
        return bool(parts * tail(hits, self.n, *event(z)) <= self.level)

    def _margin(self, hits: int, others: int, gap: Arb) -> bool:
        """Whether half the difference of two scores is at least the gap."""
        low = gap * 0 + float(lower_bound(hits, self.n, float(self.level) / 2, scores=True))
        high = low - 2 * gap
        second = -low <= high or self._above(self.n - others, -high, 2)
        return bool(second) and self._above(hits, low, 2)
