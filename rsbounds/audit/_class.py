"""Rows of one class: scores and radius proved from the row's counts."""

from __future__ import annotations

from collections.abc import Iterator

from rsbounds.audit import _bounds
from rsbounds.audit._finding import Kind, Remark
from rsbounds.audit._proof import (
    Claim,
    Proof,
    is_below,
    is_far_above,
    void_votes,
)
from rsbounds.audit.schemes import RADII
from rsbounds.certificate import ABSTAIN
from rsbounds.results import Manifest, Row


class ClassProof(Proof):
    """The proof of Cohen's question, with or without the runner-up's bound."""

    answer = "class"
    proves = ("predict", "z_a", "z_b", "p_a")

    def compared(self, claim: Claim) -> Iterator[Remark]:
        yield from super().compared(claim)
        row = claim.row
        # by the row's own scores, which are proved: those computed may tie elsewhere
        leads = row.z_a > row.z_b
        proof = RADII.get(claim.manifest.method)
        if proof is not None:  # rows of a method without one are read, and not proved
            parameters = claim.manifest.parameters
            leads = proof.chosen(parameters, row.select, row.z_a, row.z_b)
        abstains = row.predict == ABSTAIN
        if abstains == leads:
            yield (
                Kind.CONTRADICTION,
                f"predicts {row.predict} with scores {row.z_a}, {row.z_b} and radius "
                f"{row.radius}",
            )
        if (
            "asked" in claim.manifest.run
            and max(map(len, (row.select, row.counts))) > 2
        ):
            yield (
                Kind.CONTRADICTION,
                f"counts {len(row.counts)} classes, in a file of a model with two",
            )
        if not abstains and row.predict != _selected(row):
            yield (
                Kind.CONTRADICTION,
                f"predicts {row.predict}, but selected {_selected(row)}",
            )

    def proved(self, claim: Claim) -> Iterator[Remark]:
        wrong = list(_scores(claim.row, claim.manifest, claim.expected))
        yield from wrong
        if not wrong:
            yield from _radius(claim.row, claim.manifest, claim.expected)


def _selected(row: Row) -> int:
    """The class of most selection samples, the first of those that tie."""
    return row.select.index(max(row.select)) if row.select else 0


def _scores(row: Row, manifest: Manifest, expected: Row) -> Iterator[Remark]:
    """Bounds that the counts don't prove, or that are well below what they show."""
    procedure = manifest.procedure
    if not procedure.runner_up and row.z_b != -row.z_a:
        yield Kind.CONTRADICTION, f"z_b is {row.z_b}, not -z_a as without runner-up"
    top = _selected(row)
    ends = [
        ("z_a", "z", row.z_a, expected.z_a, expected.count),
        ("p_a", "p", row.p_a, expected.p_a, expected.count),
    ]
    if procedure.runner_up:
        others = (count for k, count in enumerate(row.counts) if k != top)
        rest = row.n - max(others, default=0) - void_votes(row)
        ends.append(("z_b", "z", -row.z_b, -expected.z_b, rest))
    for name, form, value, computed, count in ends:
        opening = f"{name} is {getattr(row, name)}"
        if is_below(value, computed, 1.0):
            yield Kind.WEAK, f"{opening}, too far from what {count} of {row.n} show"
        elif name == "z_b" and row.z_b == -row.z_a:
            continue  # all other classes have what the first leaves
        elif not _bounds.proved(
            procedure.bound,
            form,
            value,
            count,
            row.n,
            procedure.alpha,
            2 if procedure.runner_up else 1,
        ):
            yield (
                Kind.BOUND,
                f"{opening}, on the unsafe side of what {count} of {row.n} show",
            )


def _radius(row: Row, manifest: Manifest, expected: Row) -> Iterator[Remark]:
    """A radius that isn't proved, or is well below what the counts show."""
    target = manifest.procedure.target_radius
    opening = f"radius is {row.radius}"
    if target is not None and row.radius not in (0.0, target):
        yield Kind.CONTRADICTION, f"{opening}, neither 0 nor the target {target}"
    if target is None and is_below(row.radius, expected.radius, 2 * row.sigma):
        yield Kind.WEAK, f"{opening}, below what the counts show"
    elif RADII[manifest.method].too_many(manifest.parameters, row.radius):
        yield Kind.RADIUS, f"{opening}, more changes than are proved here"
    elif is_far_above(row, expected, manifest) or not _proved(row, manifest):
        yield Kind.RADIUS, f"{opening}, more than the counts prove"
    frontier = row.extra.get("frontier", "-")
    # another frontier is a finding, and may ask for any work
    if frontier != "-" and frontier == expected.extra.get("frontier"):
        yield from _frontier(row, manifest, frontier)


def _frontier(row: Row, manifest: Manifest, frontier: str) -> Iterator[Remark]:
    """Numbers of changes, kind by kind, that the counts don't prove."""
    proof = RADII[manifest.method]
    for entry in frontier.split(";"):
        if not proof.entry_proved(manifest.parameters, entry, row.z_a, _second(row)):
            yield Kind.RADIUS, f"frontier has {entry}, more than the counts prove"


def _proved(row: Row, manifest: Manifest) -> bool:
    """Whether the row's scores certify its radius."""
    proof = RADII[manifest.method]
    return not row.radius or proof.proved(
        manifest.parameters, row.sigma, row.radius, row.z_a, _second(row)
    )


def _second(row: Row) -> float | None:
    """The second score; None where all other classes have what the first leaves."""
    return None if row.z_b == -row.z_a else row.z_b
