"""Rows of decision lists: computed again from all stages' counts, the radius proved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rsbounds import composite
from rsbounds.answers._list import stage_counts
from rsbounds.audit import _bounds
from rsbounds.audit._balls import Arb, arb, ctx, event
from rsbounds.audit._finding import Kind, Said
from rsbounds.audit._proof import Claim, Proof, is_below
from rsbounds.composite import Cond, Plan, Rule
from rsbounds.confidence import lower_bound


class ListProof(Proof):
    """The proof of a decision list.

    Its radius doesn't rest on the scores that the row copies: they are compared.
    """

    answer = "list"
    methods = ("composite",)
    states_levels = True

    def proved(self, claim: Claim) -> Iterator[Said]:
        row, manifest, answer, expected = claim
        procedure = manifest.procedure
        evidence = answer.stored(row)
        width = evidence.select.shape[1]
        _, stages = stage_counts(row)
        counts = [
            None if stage is None else [*stage, *[0] * (width - len(stage))]
            for stage in stages
        ]
        for stage in counts:
            if stage is not None and not sum(stage) <= procedure.n:
                raise ValueError(f"counts sum to {sum(stage)} of {procedure.n} samples")
        plan = composite.plan(
            answer.rule, evidence.select, procedure.n, procedure.alpha
        )
        stated = f"radius is {row.radius}"
        if is_below(row.radius, expected.radius, 2 * row.sigma):
            yield Kind.WEAK, f"{stated}, below what the counts show"
        elif row.radius and not list_proved(
            answer.rule,
            plan,
            int(expected.extra["item"]),
            counts,
            procedure.n,
            procedure.alpha,
            row.radius,
            void_against=procedure.void_against,
        ):
            yield Kind.RADIUS, f"{stated}, more than the counts prove"


def list_proved(
    rule: Rule,
    plan: Plan,
    item: int,
    counts: Sequence[Sequence[int] | None],
    n: int,
    alpha: float,
    radius: float,
    *,
    void_against: bool,
) -> bool:
    """Whether within the radius the item fires for the plan's class and none before for
    others.

    ``void_against``: samples without a class may be of any, where they would do harm.
    """
    if item not in plan.items or not radius > 0:
        return False

    def above(hits: int, z: Arb, parts: int = 1) -> bool:
        """Whether a lower bound at a part of the level is at least Phi(z)."""
        return bool(parts * _bounds.tail(hits, n, *event(z)) <= level)

    def counted(row: Sequence[int]) -> int:
        """How many samples are known not to be of a class without hits."""
        return sum(row) if void_against else n

    def margin(row: Sequence[int], hits: int, others: int, gap: Arb) -> bool:
        """Whether half the difference of two scores is at least the gap."""
        low = gap * 0 + float(lower_bound(hits, n, float(level) / 2, scores=True))
        high = low - 2 * gap
        second = -low <= high or above(counted(row) - others, -high, 2)
        return bool(second) and above(hits, low, 2)

    def fires(q: Cond) -> bool:
        """Whether the plan's class meets a condition wherever the input moves by the
        radius.
        """
        row, cls = counts[q.stage], plan.cls
        if row is None:
            return False
        z = (reach + q.threshold) / rule.sigmas[q.stage]
        if q.kind == "margin":
            second = max(c for b, c in enumerate(row) if b != cls)
            return margin(row, row[cls], second, z)
        return above(sum(row[c] for c in q.classes or (cls,)), z)

    def blocks(i: int) -> bool:
        """Whether each other class misses the condition of item i that was chosen for
        it.
        """
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
        row = counts[q.stage]
        assert row is not None  # the component was made of it
        z = (reach - q.threshold) / rule.sigmas[q.stage]
        if lead is None:
            return above(counted(row) - hits, z)
        return margin(row, lead, hits, z)

    with ctx.workprec(_bounds.PRECISION):
        level, reach = arb(alpha) / len(plan.items), arb(radius)
        return all(map(fires, rule.items[item])) and all(map(blocks, range(item)))
