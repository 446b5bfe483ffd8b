"""Radii of decision lists proved in ball arithmetic, component by component."""

from collections.abc import Sequence

from rsbounds.audit._balls import Arb, arb, ctx, event
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
    if item not in plan.items or not radius > 0:
        return False

    def above(hits: int, z: Arb, parts: int = 1) -> bool:
        """Whether a lower bound is at least Phi(z), at one of the parts of the level."""
        return bool(parts * tail(hits, n, *event(z)) <= level)

    def margin(hits: int, others: int, gap: Arb) -> bool:
        """Whether half the difference of two scores is at least the gap."""
        low = gap * 0 + float(lower_bound(hits, n, float(level) / 2, scores=True))
        high = low - 2 * gap
        second = -low <= high or above(n - others, -high, 2)
        return bool(second) and above(hits, low, 2)

    def fires(q: Cond) -> bool:
        """Whether the plan's class meets a condition wherever the input moves by the radius."""
        row, cls = counts[q.stage], plan.cls
        if row is None:
            return False
        z = (reach + q.threshold) / rule.sigmas[q.stage]
        if q.kind == "margin":
            return margin(row[cls], max(c for b, c in enumerate(row) if b != cls), z)
        return above(sum(row[c] for c in q.classes or (cls,)), z)

    def blocks(i: int) -> bool:
        """Whether each other class misses the condition of item i that was chosen for it."""
        components = set()  # of many classes with the same counts only one
        for b, chosen in enumerate(plan.blocking[i]):
            q = rule.items[i][chosen]
            if (row := counts[q.stage]) is None:
                return False
            lead = row[plan.references[q.stage][b]] if q.kind == "margin" else None
            if b != plan.cls:
                components.add((q, lead, sum(row[c] for c in q.classes or (b,))))
        return all(misses(*component) for component in components)

    def misses(q: Cond, lead: int | None, hits: int) -> bool:
        z = (reach - q.threshold) / rule.sigmas[q.stage]
        return above(n - hits, z) if lead is None else margin(lead, hits, z)

    with ctx.workprec(PRECISION):
        level, reach = arb(alpha) / len(plan.items), arb(radius)
        return all(map(fires, rule.items[item])) and all(map(blocks, range(item)))
