"""Rows of the best k classes: sums computed again, bounds and radius proved."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np

from rsbounds._numerics.decimals import MOST_CLASSES
from rsbounds.answers import Answer
from rsbounds.answers.internal import TopKChoice, TopKPlan, plan
from rsbounds.audit import _bounds
from rsbounds.audit._balls import arb, ctx
from rsbounds.audit._finding import Kind, Remark
from rsbounds.audit._proof import (
    Claim,
    Proof,
    answer_of,
    is_below,
    is_far_above,
    void_votes,
)
from rsbounds.audit.schemes import RADII, TRANSPORTED
from rsbounds.results import Manifest, Row

_MOST_K = 1000  # to plan what more are compared with takes seconds for each row


class TopKProof(Proof):
    """The proof that a label stays among the k most likely classes.

    The plan comes from the planner that runs use: it is a function of the selection
    samples alone, and whatever it is, it is judged here: which labels it leaves out,
    and that its parts spend no more than half of alpha.
    """

    answer = "top-k"
    methods = TRANSPORTED
    proves = ("p_a", "z_a", "z_b")

    def check(self, answer: Any) -> None:
        if answer.k > _MOST_K:
            raise ValueError(f"answer.k must be at most {_MOST_K}; got {answer.k}")

    def is_hopeless(self, row: Row, manifest: Manifest) -> bool:
        # of classes with as many samples the first ones are selected
        votes = [*row.select, *[0] * (row.label + 1 - len(row.select))]
        votes_of_label = votes[row.label]
        before = sum(count > votes_of_label for count in votes)
        before += sum(count == votes_of_label for count in votes[: row.label])
        return not before < answer_of(manifest).parameters()["k"]

    def computed(self, row: Row, answer: Answer, manifest: Manifest) -> Row:
        # counts are looked at up to the label: a large one would fill the memory
        if not 0 <= row.label < MOST_CLASSES:
            raise ValueError(f"label must be in [0, {MOST_CLASSES}); got {row.label}")
        return super().computed(row, answer, manifest)

    def proved(self, claim: Claim) -> Iterator[Remark]:
        row, manifest, answer, expected = claim
        procedure = manifest.procedure
        chosen = plan(
            np.array(row.select or (0,)),
            row.label,
            answer.k,
            n0=procedure.n0,
            n=procedure.n,
            alpha=procedure.alpha,
        )
        choice = next(
            (c for c in chosen.choices if c.columns() == dict(expected.extra)), None
        )
        legal = all(_is_legal(entry, row.label, answer.k) for entry in chosen.choices)
        if choice is None or not legal or not _spent(chosen) <= Fraction(1, 2):
            yield Kind.BOUND, "the sums that are compared spend more than half of alpha"
            return
        opening = f"radius is {row.radius}"
        if is_below(row.radius, expected.radius, row.sigma):
            yield Kind.WEAK, f"{opening}, below what the counts show"
        rest = procedure.n - _compared(row, answer.k, choice)
        rest -= void_votes(row)
        ends = [
            ("p_a", "p", row.p_a, expected.p_a, row.count, 2),
            ("z_a", "z", row.z_a, expected.z_a, row.count, 2),
            ("z_b", "z", -row.z_b, -expected.z_b, rest, choice.parts),
        ]
        for name, form, value, computed, count, parts in ends:
            text = f"{name} is {getattr(row, name)}"
            if is_below(value, computed, 1.0):
                yield Kind.WEAK, f"{text}, too far from what {count} of {row.n} show"
            elif name == "z_b" and row.z_b == -row.z_a:
                continue  # all other classes have what the label leaves
            elif not _bounds.proved(
                "clopper-pearson",
                form,
                value,
                count,
                row.n,
                procedure.alpha,
                parts,
            ):
                yield Kind.BOUND, f"{text}, more than {count} of {procedure.n} show"
                return
        if is_far_above(row, expected, manifest) or not _stays(manifest, row, choice.t):
            yield Kind.RADIUS, f"{opening}, more than the counts prove"


def _is_legal(choice: TopKChoice, label: int, k: int) -> bool:
    """Whether a choice leaves out others than the label, and compares no more sums."""
    return label not in choice.apart and 1 <= choice.t <= k - len(choice.apart)


def _spent(chosen: TopKPlan) -> Fraction:
    """The share of alpha that all sums of a plan spend, the label's bound aside."""
    return sum(
        (
            Fraction(comb(chosen.k - len(choice.apart), choice.t), choice.parts)
            for choice in chosen.choices
        ),
        Fraction(0),
    )


def _compared(row: Row, k: int, choice: TopKChoice) -> int:
    """The t least of the most frequent k - |T| counts outside T, the label's aside."""
    others = sorted(
        (
            count
            for place, count in enumerate(row.counts)
            if place != row.label and place not in choice.apart
        ),
        reverse=True,
    )
    window = k - len(choice.apart)
    others += [0] * window  # classes that no sample fell on
    return sum(others[window - choice.t : window])


def _stays(manifest: Manifest, row: Row, t: int) -> bool:
    """Whether the label's probability is above 1/t of the sum at the radius."""
    if not row.radius:
        return True
    proof = RADII[manifest.method]
    noise = (manifest.parameters, row.sigma, row.radius)
    if t == 1:
        return proof.proved(*noise, row.z_a, row.z_b)
    counts = proof.counts_changes(manifest.parameters)
    if counts and not row.radius.is_integer():
        # half a change is none: what holds within 2 changes holds within 2.5
        return False
    with ctx.workprec(_bounds.PRECISION):
        low = proof.least(*noise, arb(row.z_a))
        rest = proof.least(*noise, -arb(row.z_b))  # of what is not in the sum
        return bool(t * low.p > rest.q)
