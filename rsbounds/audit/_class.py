"""Rows of one class: scores and radius proved from the row's counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rsbounds.audit import _bounds, _radii
from rsbounds.audit._affine import METHOD as AFFINE
from rsbounds.audit._affine import proved_affine
from rsbounds.audit._discrete import proved_discrete, too_many
from rsbounds.audit._finding import Kind, Said
from rsbounds.audit._mixed import (
    is_mixed,
    proved_mixed,
    stated_changes,
    too_many_beside,
)
from rsbounds.audit._proof import Claim, Proof, is_below, void_votes
from rsbounds.certificate import ABSTAIN
from rsbounds.confidence import BOUNDS
from rsbounds.results import Manifest, Row
from rsbounds.sampling import Phase, stream


class ClassProof(Proof):
    """The proof of Cohen's question, with or without the runner-up's bound."""

    answer = "class"
    proves = ("predict", "z_a", "z_b", "p_a")

    def compared(self, claim: Claim) -> Iterator[Said]:
        yield from super().compared(claim)
        row = claim.row
        # by the row's own scores, which are proved: those computed may tie elsewhere
        leads = row.z_a > row.z_b
        abstains = row.predict == ABSTAIN
        if abstains == leads:
            yield (
                Kind.CONTRADICTION,
                f"predicts {row.predict} with scores {row.z_a}, {row.z_b} and radius "
                f"{row.radius}",
            )
        if not abstains and row.predict != _selected(row):
            yield (
                Kind.CONTRADICTION,
                f"predicts {row.predict}, but selected {_selected(row)}",
            )

    def proved(self, claim: Claim) -> Iterator[Said]:
        wrong = list(_scores(claim.row, claim.manifest, claim.expected))
        yield from wrong
        if not wrong:
            yield from _radius(claim.row, claim.manifest, claim.expected)


def _selected(row: Row) -> int:
    """The class of most selection samples, the first of those that tie."""
    return row.select.index(max(row.select)) if row.select else 0


def _scores(row: Row, manifest: Manifest, expected: Row) -> Iterator[Said]:
    """Bounds that the counts don't prove, or that are well below what they show."""
    procedure = manifest.procedure
    if not procedure.runner_up and row.z_b != -row.z_a:
        yield Kind.CONTRADICTION, f"z_b is {row.z_b}, not -z_a as without runner-up"
    first, second = _uniforms(manifest, row)
    top = _selected(row)
    ends = [
        ("z_a", "z", row.z_a, expected.z_a, expected.count, first),
        ("p_a", "p", row.p_a, expected.p_a, expected.count, first),
    ]
    if procedure.runner_up:
        others = (count for k, count in enumerate(row.counts) if k != top)
        rest = row.n - max(others, default=0) - void_votes(row)
        ends.append(("z_b", "z", -row.z_b, -expected.z_b, rest, second))
    for name, form, value, computed, count, uniform in ends:
        stated = f"{name} is {getattr(row, name)}"
        if is_below(value, computed, 1.0):
            yield Kind.WEAK, f"{stated}, too far from what {count} of {row.n} show"
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
            uniform,
        ):
            yield (
                Kind.BOUND,
                f"{stated}, on the unsafe side of what {count} of {row.n} show",
            )


def _uniforms(manifest: Manifest, row: Row) -> tuple[float, float]:
    """The uniform numbers of the two ends, for a bound that needs them."""
    procedure = manifest.procedure
    if not BOUNDS[procedure.bound].uniform:
        return 0.0, 0.0
    uniform = 1.0 - stream(procedure.seed, row.idx, Phase.BOUND).random()
    return uniform, 1.0 - uniform + 2.0**-53


def _radius(row: Row, manifest: Manifest, expected: Row) -> Iterator[Said]:
    """A radius that isn't proved, or is well below what the counts show."""
    target = manifest.procedure.target_radius
    stated = f"radius is {row.radius}"
    if target is not None and row.radius not in (0.0, target):
        yield Kind.CONTRADICTION, f"{stated}, neither 0 nor the target {target}"
    if target is None and is_below(row.radius, expected.radius, 2 * row.sigma):
        yield Kind.WEAK, f"{stated}, below what the counts show"
    elif _too_many(row, manifest):
        yield Kind.RADIUS, f"{stated}, more changes than are proved here"
    elif row.radius and not _proved(row, manifest.method, manifest.parameters):
        yield Kind.RADIUS, f"{stated}, more than the counts prove"
    frontier = row.extra.get("frontier", "-")
    if "frontier" in expected.extra and frontier != "-":
        yield from _frontier(row, manifest, frontier)


def _too_many(row: Row, manifest: Manifest) -> bool:
    """Whether a row's changes are beyond what is proved."""
    if is_mixed(manifest.method, manifest.parameters):
        return too_many_beside(stated_changes(manifest.parameters))
    return too_many(manifest.method, manifest.parameters, row.radius)


def _frontier(row: Row, manifest: Manifest, frontier: str) -> Iterator[Said]:
    """Numbers of changes, kind by kind, that the counts don't prove."""
    z_b = None if row.z_b == -row.z_a else row.z_b
    for entry in frontier.split(";"):
        if not _entry_proved(entry, row.z_a, z_b, manifest):
            yield Kind.RADIUS, f"frontier has {entry}, more than the counts prove"


def _entry_proved(
    entry: str, z_a: float, z_b: float | None, manifest: Manifest
) -> bool:
    method, parameters = manifest.method, manifest.parameters
    if is_mixed(method, parameters):
        radius, changes = entry.split(",")
        return proved_mixed(parameters, float(radius), int(changes), z_a, z_b)
    if method == AFFINE:
        radius, contrast = entry.split(",")
        at_contrast = {**parameters, "contrast": float(contrast)}
        return proved_affine(at_contrast, float(radius), z_a, z_b)
    counts = tuple(map(int, entry.split(",")))
    return proved_discrete(method, parameters, counts, z_a, z_b)


def _proved(row: Row, method: str, parameters: Mapping[str, Any]) -> bool:
    z_b = None if row.z_b == -row.z_a else row.z_b
    return _radii.proved(method, parameters, row.sigma, row.radius, row.z_a, z_b)
