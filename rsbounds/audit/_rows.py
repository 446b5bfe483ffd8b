"""One row against the manifest and its own counts: computed again, then proved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf
from typing import Any, NamedTuple

import numpy as np

from rsbounds import composite
from rsbounds.audit import _answers, _bounds, _lists, _radii
from rsbounds.audit._finding import Finding, Kind
from rsbounds.certificate import ABSTAIN, Certificate
from rsbounds.certify import certify_evidence
from rsbounds.results import Manifest, Row, dense_counts
from rsbounds.sampling import Phase, stream
from rsbounds.schemes import METHODS

_LOST = 1e-6  # of a number and its unit: a value this much below what was computed is a finding
_SAME = 1e-9  # what numbers that another machine computed may differ by
_COPIED = ("bound", "norm", "n", "sigma", "count", "select", "counts", "void")

Said = tuple[Kind, str]


def judged(manifest: Manifest, numbered: tuple[int, Row], *, prove: bool = True) -> list[Finding]:
    """What is wrong with a row of a line; ``prove``: its bounds and radius too."""
    line, row = numbered
    found = findings(row, manifest, prove=prove)
    return [Finding(kind, row.idx, text, line) for kind, text in found]


class _Again(NamedTuple):
    """A row's certificate computed again, and what its class and its items were chosen by."""

    certificate: Certificate
    top: int
    rule: composite.Rule | None = None
    plan: composite.Plan | None = None
    stages: Sequence[Sequence[int] | None] = ()


def findings(row: Row, manifest: Manifest, *, prove: bool = True) -> Iterator[Said]:
    """What is wrong with a row."""
    if "answer" in manifest.parameters:
        yield from _answers.findings(row, manifest, prove=prove)
        return
    yield from _stated(row, manifest)
    if manifest.method not in METHODS or row.n > manifest.procedure.n:
        return
    claim = f"predicts {row.predict} with radius {row.radius}"
    if row.predict == ABSTAIN and row.radius:
        yield Kind.CONTRADICTION, claim
    if not row.n:
        if (row.predict, row.radius, row.p_a, row.z_a) != (ABSTAIN, 0.0, 0.0, -inf):
            yield Kind.CONTRADICTION, f"{claim} from no samples"
        return
    try:
        again = _again(row, manifest)
        yield from _copied(row, again)
        if not prove:
            return
        wrong = list(_scores(row, manifest, again)) if again.rule is None else []
        yield from wrong
        if not wrong:
            yield from _radius(row, manifest, again)
    except (ValueError, KeyError, ArithmeticError) as error:  # numbers that no run can have
        yield Kind.CONTRADICTION, f"can't be computed again: {error}"


def _stated(row: Row, manifest: Manifest) -> Iterator[Said]:
    """What the manifest states otherwise."""
    stated: dict[str, Any] = {"method": manifest.method, "scope": manifest.scope}
    if manifest.method == "gaussian":
        stated["sigma"] = manifest.parameters["sigma"]
    if manifest.procedure.target_radius is None or not row.n <= manifest.procedure.n:
        stated["n"] = manifest.procedure.n
    for name, value in stated.items():
        if (own := getattr(row, name)) != value:
            yield Kind.CONTRADICTION, f"{name} is {own!r}, {value!r} in the manifest"
    if row.correct != (row.predict == row.label != ABSTAIN):
        text = f"correct is {row.correct:d}, but predict {row.predict} and label {row.label}"
        yield Kind.CONTRADICTION, text


def _again(row: Row, manifest: Manifest) -> _Again:
    """Computed from the counts; ValueError where no run can have drawn them."""
    procedure = manifest.procedure
    if manifest.method == "composite":
        select, counts = _stages(row)
        _bounded("selection counts", select, procedure.n0)
        _bounded("counts", counts, procedure.n)
        rule = composite.Rule.from_dict(manifest.parameters["rule"])
        numbers = procedure.n, procedure.alpha
        plan = composite.plan(rule, select, *numbers)
        certificate = composite.certify_counts(rule, select, counts, *numbers)
        return _Again(certificate, plan.cls, rule, plan, counts)
    _bounded("selection counts", [row.select], procedure.n0)
    _bounded("counts", [row.counts], row.n)
    low, high = (manifest.parameters.get(f"sigma_{end}", row.sigma) for end in ("min", "max"))
    if not low <= row.sigma <= high:
        raise ValueError(f"sigma must be in [{low}, {high}]; got {row.sigma}")
    scheme = METHODS[manifest.method].from_parameters(manifest.parameters)
    drawn = replace(procedure, n=row.n, target_radius=None)  # the bound stays "anytime"
    evidence = row.select, row.counts, drawn, row.idx
    top = int(np.argmax(row.select or (0,)))
    return _Again(certify_evidence(scheme, row.sigma, *evidence), top)


def _bounded(name: str, stages: Sequence[Sequence[int] | None], drawn: int) -> None:
    for counts in stages:
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


def _copied(row: Row, again: _Again) -> Iterator[Said]:
    """What a row repeats otherwise than its counts have it."""
    expected = Row.of(row.idx, row.label, again.certificate, 0.0)
    # a decision list's radius doesn't rest on the scores that its row copies
    names = _COPIED if again.rule is None else (*_COPIED, "z_a", "z_b", "p_a")
    values = [(name, getattr(row, name), getattr(expected, name)) for name in names]
    if isinstance(again.certificate, composite.CompositeCertificate):
        copied = {"item": str(again.certificate.item), "binding": again.certificate.binding}
        values += [(name, row.extra.get(name), value) for name, value in copied.items()]
    for name, own, value in values:
        near = isinstance(value, float) and abs(own - value) <= _SAME * (1 + abs(value)) < inf
        if own != value and not near:
            yield Kind.CONTRADICTION, f"{name} is {own!r}, {value!r} by its counts"
    if row.predict not in (again.top, ABSTAIN):
        yield Kind.CONTRADICTION, f"predicts {row.predict}, but selected {again.top}"
    leads = row.z_a > row.z_b if again.rule is None else row.radius > 0
    if (row.predict != ABSTAIN) != leads:
        text = f"predicts {row.predict} with scores {row.z_a}, {row.z_b} and radius {row.radius}"
        yield Kind.CONTRADICTION, text


def _scores(row: Row, manifest: Manifest, again: _Again) -> Iterator[Said]:
    """Bounds that the counts don't prove, or that are well below what they show."""
    procedure, certificate = manifest.procedure, again.certificate
    if not procedure.runner_up and row.z_b != -row.z_a:
        yield Kind.CONTRADICTION, f"z_b is {row.z_b}, not -z_a as without runner-up"
    u = opposite = 0.0
    if procedure.bound == "randomized":
        u = 1.0 - stream(procedure.seed, row.idx, Phase.BOUND).random()
        opposite = 1.0 - u + 2.0**-53  # for the second end
    first = certificate.count, u
    ends = [("z_a", "z", row.z_a, certificate.z_a, *first)]
    ends.append(("p_a", "p", row.p_a, certificate.p_a, *first))
    if procedure.runner_up and row.z_b != -row.z_a:
        rest = row.n - max((c for k, c in enumerate(row.counts) if k != again.top), default=0)
        ends.append(("z_b", "z", -row.z_b, -certificate.z_b, rest, opposite))
    parts = 2 if procedure.runner_up else 1
    for name, form, value, computed, count, uniform in ends:
        text = f"{name} is {getattr(row, name)}, %s what {count} of {row.n} show"
        numbers = count, row.n, procedure.alpha, parts, uniform
        if _below(value, computed, 1.0):
            yield Kind.WEAK, text % "too far from"
        elif not _bounds.proved(procedure.bound, form, value, *numbers):
            yield Kind.BOUND, text % "on the unsafe side of"


def _radius(row: Row, manifest: Manifest, again: _Again) -> Iterator[Said]:
    """A radius that isn't proved, or is well below what the counts show."""
    procedure, text = manifest.procedure, f"radius is {row.radius}"
    target = procedure.target_radius
    if target is not None and row.radius not in (0.0, target):
        yield Kind.CONTRADICTION, f"{text}, neither 0 nor the target {target}"
    if target is None and _below(row.radius, again.certificate.radius, 2 * row.sigma):
        yield Kind.WEAK, f"{text}, below what the counts show"
    elif row.radius and not _proved(row, manifest, again):
        yield Kind.RADIUS, f"{text}, more than the counts prove"


def _proved(row: Row, manifest: Manifest, again: _Again) -> bool:
    if again.rule is None or again.plan is None:
        scores = row.z_a, None if row.z_b == -row.z_a else row.z_b
        numbers = row.sigma, row.radius, *scores
        return _radii.proved(manifest.method, manifest.parameters, *numbers)
    own, item = manifest.procedure, getattr(again.certificate, "item", -1)
    evidence = item, again.stages, own.n, own.alpha, row.radius
    return _lists.proved(again.rule, again.plan, *evidence)


def _below(value: float, computed: float, unit: float) -> bool:
    return value + _LOST * (unit + abs(computed)) < computed
