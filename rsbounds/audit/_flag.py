"""Rows of flags: the side, its bound and its radius proved from the row's counts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rsbounds.audit import _bounds
from rsbounds.audit._balls import Event, arb, ctx
from rsbounds.audit._finding import Kind, Remark
from rsbounds.audit._proof import Claim, Proof, is_below, is_far_above
from rsbounds.audit.schemes import RADII, TRANSPORTED, UP_TO_HALF
from rsbounds.certificate import ABSTAIN
from rsbounds.results import Manifest, Row


class FlagProof(Proof):
    """The proof that an alarm stays above its threshold, or stays at most there."""

    answer = "flag"
    methods = (*TRANSPORTED, *UP_TO_HALF)
    proves = ("predict", "count", "p_a", "z_a", "z_b")

    def compared(self, claim: Claim) -> Iterator[Remark]:
        yield from super().compared(claim)
        row = claim.row
        raised, count = _side(row, claim.answer, claim.manifest)
        if row.count != count:
            yield Kind.CONTRADICTION, f"count is {row.count}, {count} by its counts"
        if row.predict not in (ABSTAIN, int(raised)):
            text = f"predicts {row.predict}, but selected {int(raised)}"
            yield Kind.CONTRADICTION, text
        if row.z_b != -row.z_a:
            yield Kind.CONTRADICTION, f"z_b is {row.z_b}, not -z_a = {-row.z_a}"

    def proved(self, claim: Claim) -> Iterator[Remark]:
        wrong = list(_ends(claim))
        yield from wrong
        if not wrong:
            yield from _radius(claim)
            yield from _frontier(claim)


def _side(row: Row, answer: Any, manifest: Manifest) -> tuple[bool, int]:
    """Whether the alarm is what the selection samples ask about, and that side's count.

    Samples that the row doesn't hold are on neither side.
    """
    flagged = (1,) if isinstance(answer.flagged, str) else answer.flagged
    selected, alarms = (
        sum(count for label, count in enumerate(counts) if label in flagged)
        for counts in (row.select, row.counts)
    )
    raised = selected > answer.threshold * manifest.procedure.n0
    return raised, alarms if raised else sum(row.counts) - alarms


def _ends(claim: Claim) -> Iterator[Remark]:
    """Bounds that the counts don't prove, or that are well below what they show."""
    row, manifest, answer, expected = claim
    _, count = _side(row, answer, manifest)
    procedure = manifest.procedure
    for name, form in (("z_a", "z"), ("p_a", "p")):
        value = getattr(row, name)
        opening = f"{name} is {value}"
        if is_below(value, getattr(expected, name), 1.0):
            yield Kind.WEAK, f"{opening}, too far from what {count} of {row.n} show"
        elif not _bounds.proved(
            procedure.bound, form, value, count, row.n, procedure.alpha, 1
        ):
            yield Kind.BOUND, f"{opening}, more than {count} of {row.n} show"


def _radius(claim: Claim) -> Iterator[Remark]:
    """A claim that isn't proved, or is well below what the counts show."""
    row, manifest, _, expected = claim
    target = manifest.procedure.target_radius
    opening = f"predicts {row.predict} with radius {row.radius}"
    if target is not None and row.radius not in (0.0, target):
        yield Kind.CONTRADICTION, f"{opening}, neither 0 nor the target {target}"
    if target is None and is_below(row.radius, expected.radius, 2 * row.sigma):
        yield Kind.WEAK, f"{opening}, below what the counts show"
    elif RADII[manifest.method].too_many(manifest.parameters, row.radius):
        yield Kind.RADIUS, f"{opening}, more changes than are proved here"
    elif row.predict == ABSTAIN:
        if expected.predict != ABSTAIN:
            text = f"predicts {row.predict}, {expected.predict} by its counts"
            yield Kind.CONTRADICTION, text
    elif is_far_above(row, expected, manifest) or not _keeps(claim):
        yield Kind.RADIUS, f"{opening}, more than the counts prove"


def _frontier(claim: Claim) -> Iterator[Remark]:
    """Numbers of changes, kind by kind, that the counts don't prove."""
    row, manifest, _, expected = claim
    frontier = row.extra.get("frontier", "-")
    # another frontier is a finding, and may ask for any work
    if frontier == "-" or frontier != expected.extra.get("frontier"):
        return
    proof, parameters = RADII[manifest.method], manifest.parameters
    for entry in frontier.split(";"):
        with ctx.workprec(_bounds.PRECISION):
            event = proof.least_at(parameters, row.sigma, entry, arb(row.z_a))
        if row.predict == ABSTAIN or not _is_enough(claim, event):
            yield Kind.RADIUS, f"frontier has {entry}, more than the counts prove"


def _keeps(claim: Claim) -> bool:
    """Whether the side's probability stays above its threshold within the radius."""
    row, manifest, _, _ = claim
    proof, parameters = RADII[manifest.method], manifest.parameters
    if proof.counts_changes(parameters) and not row.radius.is_integer():
        # half a change is none: what holds within 2 changes holds within 2.5
        return False
    with ctx.workprec(_bounds.PRECISION):
        event = proof.least(parameters, row.sigma, row.radius, arb(row.z_a))
    return _is_enough(claim, event)


def _is_enough(claim: Claim, event: Event) -> bool:
    """Whether what is left of the side's event is surely more than is asked for."""
    raised, _ = _side(claim.row, claim.answer, claim.manifest)
    with ctx.workprec(_bounds.PRECISION):
        tau = arb(claim.answer.threshold)
        enough = bool(event.p > tau if raised else event.q < tau)
        # beyond a half the levels that were looked at don't decide
        decides = bool(tau <= 0.5 if raised else tau >= 0.5)
    at_input = not claim.row.radius or claim.manifest.method not in UP_TO_HALF
    return enough and (decides or at_input)
