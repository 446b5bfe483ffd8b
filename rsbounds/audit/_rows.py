"""One row against its own counts and the manifest: computed again, then proved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf
from typing import Any, NamedTuple

import numpy as np

from rsbounds import composite
from rsbounds.audit import _bounds, _lists, _radii
from rsbounds.audit._finding import Kind
from rsbounds.certificate import ABSTAIN, Certificate
from rsbounds.certify import certify_evidence
from rsbounds.results import Manifest, Row, dense_counts
from rsbounds.sampling import Phase, stream
from rsbounds.schemes import METHODS

_LOST = 1e-6  # a value this much too small (relative, and to sigma) is a finding
_SAME = 1e-9  # what numbers that another machine computed may differ by
_COPIED = ("bound", "norm", "n", "sigma", "count", "select", "counts", "void")

Said = tuple[Kind, str]


class _Again(NamedTuple):
    """A row's certificate computed again, and what the class was chosen by."""

    certificate: Certificate
    top: int
    plan: composite.Plan | None = None


def findings(row: Row, manifest: Manifest) -> Iterator[Said]:
    """What is wrong with a row."""
    procedure = manifest.procedure
    stated: dict[str, Any] = {"method": manifest.method, "scope": manifest.scope}
    if manifest.method == "gaussian":
        stated["sigma"] = manifest.parameters["sigma"]
    if procedure.target_radius is None or not row.n <= procedure.n:
        stated["n"] = procedure.n
    for name, value in stated.items():
        if getattr(row, name) != value:
            text = f"{name} is {getattr(row, name)!r}, {value!r} in the manifest"
            yield Kind.CONTRADICTION, text
    if row.correct != (row.predict == row.label != ABSTAIN):
        text = f"correct is {row.correct:d}, but predict {row.predict} and label {row.label}"
        yield Kind.CONTRADICTION, text
    if row.predict == ABSTAIN and row.radius:
        yield Kind.CONTRADICTION, f"abstains with radius {row.radius}"
    if not row.n:
        if row.predict != ABSTAIN or row.radius > 0 or row.p_a > 0 or row.z_a > -inf:
            text = f"predicts {row.predict} with radius {row.radius} from no samples"
            yield Kind.CONTRADICTION, text
        return
    try:
        again = _again(row, manifest)
        yield from _against(row, again)
        if again.plan is not None:
            yield from _listed(row, manifest, again, again.plan)
        else:
            yield from _scored(row, manifest, again)
    except (ValueError, KeyError, ArithmeticError) as error:  # numbers that no run can have
        yield Kind.CONTRADICTION, f"can't be computed again: {error}"


def _again(row: Row, manifest: Manifest) -> _Again:
    """Computed from the counts; ValueError where they fit no run of the manifest's."""
    procedure = manifest.procedure
    if manifest.method == "composite":
        select, counts = _stages(row)
        for k, drawn in enumerate(select):
            _bounded(f"selection counts of stage {k}", drawn, procedure.n0)
        for k, drawn in enumerate(counts):
            _bounded(f"counts of stage {k}", drawn, procedure.n)
        rule = composite.Rule.from_dict(manifest.parameters["rule"])
        options = procedure.n, procedure.alpha
        plan = composite.plan(rule, select, *options)
        return _Again(composite.certify_counts(rule, select, counts, *options), plan.cls, plan)
    _bounded("selection counts", row.select, procedure.n0)
    _bounded("counts", row.counts, row.n)
    low, high = (manifest.parameters.get(f"sigma_{end}", row.sigma) for end in ("min", "max"))
    if not low <= row.sigma <= high:
        raise ValueError(f"sigma must be in [{low}, {high}]; got {row.sigma}")
    scheme = METHODS[manifest.method].from_parameters(manifest.parameters)
    fixed = replace(procedure, n=row.n, target_radius=None)  # the bound stays "anytime"
    evidence = row.select, row.counts
    certificate = certify_evidence(scheme, row.sigma, *evidence, fixed, row.idx)
    return _Again(certificate, int(np.argmax(row.select or (0,))))


def _bounded(name: str, counts: Sequence[int] | None, drawn: int) -> None:
    if counts is not None and not sum(counts) <= drawn:
        raise ValueError(f"{name} sum to {sum(counts)} of {drawn} samples")


def _stages(row: Row) -> tuple[list[Any], list[Any]]:
    """The counts of all stages of a composite's row, of one width; None: not drawn."""
    texts = [row.extra[name].split(";") for name in ("stage_select", "stage_counts")]
    read = [[None if text == "*" else dense_counts(text) for text in stage] for stage in texts]
    width = max([2, *(len(c) for stage in read for c in stage if c is not None)])
    select, counts = (
        [None if c is None else [*c, *[0] * (width - len(c))] for c in stage] for stage in read
    )
    return select, counts


def _against(row: Row, again: _Again) -> Iterator[Said]:
    """What a row repeats otherwise than its counts have it."""
    expected = Row.of(row.idx, row.label, again.certificate, 0.0)
    for name in _COPIED:
        mine, value = getattr(row, name), getattr(expected, name)
        if mine != value:
            yield Kind.CONTRADICTION, f"{name} is {mine!r}, {value!r} by its counts"
    if row.predict not in (again.top, ABSTAIN):
        yield Kind.CONTRADICTION, f"predicts {row.predict}, but selected {again.top}"
    leads = row.radius > 0 if again.plan is not None else row.z_a > row.z_b
    if (row.predict != ABSTAIN) != leads:
        text = f"predicts {row.predict} with scores {row.z_a}, {row.z_b} and radius {row.radius}"
        yield Kind.CONTRADICTION, text


def _listed(row: Row, manifest: Manifest, again: _Again, plan: composite.Plan) -> Iterator[Said]:
    """The radius of a decision list, and what its row copies of the deciding stage."""
    certificate: Any = again.certificate
    for name in ("z_a", "z_b", "p_a"):
        mine, value = getattr(row, name), getattr(certificate, name)
        if not (mine == value or abs(mine - value) <= _SAME * (1 + abs(value))):
            yield Kind.CONTRADICTION, f"{name} is {mine}, {value} by its counts"
    if row.extra.get("item") != str(certificate.item):
        text = f"item is {row.extra.get('item')}, {certificate.item} by its counts"
        yield Kind.CONTRADICTION, text
    if _below(row.radius, certificate.radius, row.sigma):
        yield Kind.WEAK, f"radius is {row.radius}, below what the counts show"
    rule, procedure = composite.Rule.from_dict(manifest.parameters["rule"]), manifest.procedure
    evidence = certificate.item, _stages(row)[1], procedure.n, procedure.alpha
    if row.radius > 0 and not _lists.proved(rule, plan, *evidence, row.radius):
        yield Kind.RADIUS, f"radius is {row.radius}, more than the counts prove"


def _scored(row: Row, manifest: Manifest, again: _Again) -> Iterator[Said]:
    """The scores and, where they are proved, the radius of a row of one noise level."""
    procedure, certificate = manifest.procedure, again.certificate
    if not procedure.runner_up and row.z_b != -row.z_a:
        yield Kind.CONTRADICTION, f"z_b is {row.z_b}, not -z_a as without runner-up"
    # the second end of a randomized bound takes the opposite number
    u = 1.0 - stream(procedure.seed, row.idx, Phase.BOUND).random()
    parts = 2 if procedure.runner_up else 1
    rest = max((c for k, c in enumerate(row.counts) if k != again.top), default=0)
    ends = [("z_a", "z", row.z_a, certificate.z_a, certificate.count, u)]
    if procedure.runner_up and row.z_b != -row.z_a:
        ends.append(("z_b", "z", -row.z_b, -certificate.z_b, row.n - rest, 1.0 - u + 2.0**-53))
    ends.append(("p_a", "p", row.p_a, certificate.p_a, certificate.count, u))
    sound = True
    for name, form, value, computed, count, uniform in ends:
        text = f"{name} is {getattr(row, name)}, %s what {count} of {row.n} show"
        if _below(value, computed, 1.0):
            yield Kind.WEAK, text % "too far from"
            continue
        level = row.n, procedure.alpha, parts, uniform
        if not _bounds.proved(procedure.bound, form, value, count, *level):
            sound = False
            yield Kind.BOUND, text % "on the unsafe side of"
    if sound:
        yield from _earned(row, manifest)


def _earned(row: Row, manifest: Manifest) -> Iterator[Said]:
    """The radius by the row's scores."""
    target, text = manifest.procedure.target_radius, f"radius is {row.radius}"
    if target is not None:
        if row.radius not in (0.0, target):
            yield Kind.CONTRADICTION, f"{text}, neither 0 nor the target {target}"
    elif row.predict != ABSTAIN:
        scheme = METHODS[manifest.method].from_parameters(manifest.parameters)
        if _below(row.radius, scheme.radius(row.z_a, row.sigma, row.z_b), row.sigma):
            yield Kind.WEAK, f"{text}, below what the counts show"
            return
    numbers = row.sigma, row.radius, row.z_a, None if row.z_b == -row.z_a else row.z_b
    if row.radius > 0 and not _radii.proved(manifest.method, manifest.parameters, *numbers):
        yield Kind.RADIUS, f"{text}, more than the counts prove"


def _below(value: float, computed: float, unit: float) -> bool:
    return value + _LOST * (unit + abs(computed)) < computed
