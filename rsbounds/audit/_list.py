"""Rows of decision lists: computed again from all stages' counts, the radius proved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from rsbounds import composite
from rsbounds.answers.internal import stage_counts
from rsbounds.audit import _bounds
from rsbounds.audit._balls import Arb, arb, ctx, event
from rsbounds.audit._finding import Kind, Remark
from rsbounds.audit._proof import Claim, Proof, is_below
from rsbounds.composite import Cond, Rule
from rsbounds.composite.internal import Plan
from rsbounds.confidence import lower_bound
from rsbounds.results import Row
from rsbounds.schemes.internal import Composite

Counts = Sequence[Sequence[int] | None]


class ListProof(Proof):
    """The proof of a decision list.

    The plan comes from the planner that runs use: it is a function of the selection
    samples alone, and the level holds whatever a plan fixed by them is. What the plan
    claims is proved here, from the counts of the stages.
    """

    answer = "list"
    methods = (Composite.name,)
    proves = ("p_a", "z_a", "z_b")
    states_levels = True

    def proved(self, claim: Claim) -> Iterator[Remark]:
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
        plan = composite.internal.plan(
            answer.rule, evidence.select, procedure.n, procedure.alpha
        )
        counted = ListCounts(
            rule=answer.rule,
            plan=plan,
            counts=counts,
            n=procedure.n,
            alpha=procedure.alpha,
            void_against=procedure.void_against,
        )
        item = int(expected.extra["item"])
        yield from _ends(row, expected, counted, item)
        opening = f"radius is {row.radius}"
        if is_below(row.radius, expected.radius, 2 * row.sigma):
            yield Kind.WEAK, f"{opening}, below what the counts show"
        elif row.radius and not counted.proves(item, row.radius):
            yield Kind.RADIUS, f"{opening}, more than the counts prove"


def _ends(row: Row, expected: Row, counted: ListCounts, item: int) -> Iterator[Remark]:
    """Ends of the deciding stage that its counts don't prove, or far below them."""
    margin = item >= 0 and _deciding(counted.rule, item).kind == "margin"
    parts = (2 if margin else 1) * len(counted.plan.items)
    rest = row.n - max(
        (count for k, count in enumerate(row.counts) if k != counted.plan.cls),
        default=0,
    )
    rest -= row.n - sum(row.counts) if counted.void_against else 0
    ends = [
        ("p_a", "p", row.p_a, expected.p_a, expected.count),
        ("z_a", "z", row.z_a, expected.z_a, expected.count),
        ("z_b", "z", -row.z_b, -expected.z_b, rest),
    ]
    for name, form, value, computed, count in ends:
        text = f"{name} is {getattr(row, name)}"
        shown = partial(_bounds.proved, "clopper-pearson", form, value)
        if is_below(value, computed, 1.0):
            yield Kind.WEAK, f"{text}, too far from what {count} of {row.n} show"
        elif name == "z_b" and row.z_b == -row.z_a:
            continue  # all other classes have what the first leaves
        elif (name == "z_b" and not margin) or not shown(
            count, row.n, counted.alpha, parts
        ):
            yield Kind.BOUND, f"{text}, on the unsafe side of {count} of {row.n}"


def _deciding(rule: Rule, item: int) -> Cond:
    """The condition of an item that holds for one class at most."""
    return next(q for q in rule.items[item] if q.exclusive)


@dataclass(frozen=True)
class ListCounts:
    """What the counts of a list's stages show at a plan's level.

    ``void_against``: samples without a class may be of any, where they would do harm.
    """

    rule: Rule
    plan: Plan
    counts: Counts
    n: int
    alpha: float
    void_against: bool

    def proves(self, item: int, radius: float) -> bool:
        """Whether the item fires for the plan's class, and none before it for others.

        Everywhere within the radius.
        """
        if item not in self.plan.items or not radius > 0:
            return False
        with ctx.workprec(_bounds.PRECISION):
            reach = arb(radius)
            fires = (self._fires(q, reach) for q in self.rule.items[item])
            return all(fires) and all(self._blocks(i, reach) for i in range(item))

    def _level(self) -> Arb:
        return arb(self.alpha) / len(self.plan.items)

    def _above(self, hits: int, z: Arb, parts: int = 1) -> bool:
        """Whether a lower bound at a part of the level is at least Phi(z)."""
        return bool(parts * _bounds.tail(hits, self.n, *event(z)) <= self._level())

    def _counted(self, row: Sequence[int]) -> int:
        """How many samples are known not to be of a class without hits."""
        return sum(row) if self.void_against else self.n

    def _leads(self, row: Sequence[int], hits: int, others: int, gap: Arb) -> bool:
        """Whether half the difference of two scores is at least the gap."""
        half = float(self._level()) / 2
        low = gap * 0 + float(lower_bound(hits, self.n, half, scores=True))
        high = low - 2 * gap
        is_least = -low <= high
        second = is_least or self._above(self._counted(row) - others, -high, 2)
        return bool(second) and self._above(hits, low, 2)

    def _fires(self, q: Cond, reach: Arb) -> bool:
        """Whether the plan's class meets a condition everywhere within the radius."""
        row, cls = self.counts[q.stage], self.plan.cls
        if row is None:
            return False
        z = (reach + q.threshold) / self.rule.sigmas[q.stage]
        if q.kind == "margin":
            second = max(c for b, c in enumerate(row) if b != cls)
            return self._leads(row, row[cls], second, z)
        return self._above(sum(row[c] for c in q.classes or (cls,)), z)

    def _blocks(self, i: int, reach: Arb) -> bool:
        """Whether each other class misses the condition that was chosen for it.

        Of item i.
        """
        components = set()  # of many classes with the same counts only one
        for b, chosen in enumerate(self.plan.blocking[i]):
            q = self.rule.items[i][chosen]
            if (row := self.counts[q.stage]) is None:
                return False
            lead = None
            if q.kind == "margin":
                lead = row[self.plan.references[q.stage][b]]
            if b != self.plan.cls:
                components.add((q, lead, sum(row[c] for c in q.classes or (b,))))
        return all(self._misses(*component, reach) for component in components)

    def _misses(self, q: Cond, lead: int | None, hits: int, reach: Arb) -> bool:
        row = self.counts[q.stage]
        assert row is not None  # the component was made of it
        z = (reach - q.threshold) / self.rule.sigmas[q.stage]
        if lead is None:
            return self._above(self._counted(row) - hits, z)
        return self._leads(row, lead, hits, z)
