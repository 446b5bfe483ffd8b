"""One row against the manifest and its own counts: computed again, then proved."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np

from rsbounds import composite
from rsbounds.audit import _answers, _bounds, _radii
from rsbounds.audit._finding import Finding, Kind, Said
from rsbounds.certificate import ABSTAIN, Certificate
from rsbounds.certify import certify_evidence
from rsbounds.results import Manifest, Row, dense_counts
from rsbounds.results._row import holds
from rsbounds.sampling import Phase, stream
from rsbounds.schemes import METHODS

_LOST = 1e-6  # of a number and its unit: a value this much below what was computed is a finding
_SAME = 1e-9  # what numbers that another machine computed may differ by
_COPIED = ("bound", "norm", "n", "sigma", "count", "select", "counts", "void")


def judged(
    manifest: Manifest, numbered: tuple[int, Row], *, prove: bool = True
) -> list[Finding]:
    """What is wrong with a row of a line; ``prove``: its bounds and radius too."""
    line, row = numbered
    return [
        Finding(kind, row.idx, text, line)
        for kind, text in findings(row, manifest, prove)
    ]


def findings(row: Row, manifest: Manifest, prove: bool = True) -> Iterator[Said]:
    """What is wrong with a row: with what the manifest states, then with its own
    counts.
    """
    stated: dict[str, Any] = {"method": manifest.method, "scope": manifest.scope}
    if manifest.method in METHODS and "sigma" in METHODS[manifest.method].domains:
        stated["sigma"] = manifest.parameters["sigma"]
    stops = (
        manifest.procedure.target_radius is not None
        and "answer" not in manifest.parameters
    )
    if not (stops and row.n <= manifest.procedure.n):
        stated["n"] = manifest.procedure.n
    for name, value in stated.items():
        if (own := getattr(row, name)) != value:
            yield Kind.CONTRADICTION, f"{name} is {own!r}, {value!r} in the manifest"
    if row.correct != holds(row.label, row.predict):
        text = f"correct is {row.correct:d}, but predict {row.predict} and label {row.label}"
        yield Kind.CONTRADICTION, text
    if manifest.method not in METHODS or row.n > manifest.procedure.n:
        return
    claim = f"predicts {row.predict} with radius {row.radius}"
    if row.predict == ABSTAIN and row.radius:
        yield Kind.CONTRADICTION, claim
    if not row.n:
        if (row.predict, row.radius, row.p_a, row.z_a) != (ABSTAIN, 0.0, 0.0, -inf):
            yield Kind.CONTRADICTION, f"{claim} from no samples"
        return
    judge = _list if manifest.method == "composite" else _scheme
    if "answer" in manifest.parameters:
        judge = _answers.findings
    try:
        yield from judge(row, manifest, prove)
    except (
        ValueError,
        LookupError,
        ArithmeticError,
    ) as error:  # numbers that no run can have
        yield Kind.CONTRADICTION, f"can't be computed again: {error}"


def _scheme(row: Row, manifest: Manifest, prove: bool) -> Iterator[Said]:
    """A row of one scheme, computed again from its counts; ValueError where no run can
    have it.
    """
    procedure = manifest.procedure
    _bounds.require_drawn([row.select], procedure.n0, [row.counts], row.n)
    low, high = (
        manifest.parameters.get(f"sigma_{end}", row.sigma) for end in ("min", "max")
    )
    if not low <= row.sigma <= high:
        raise ValueError(f"sigma must be in [{low}, {high}]; got {row.sigma}")
    scheme = METHODS[manifest.method].from_parameters(manifest.parameters)
    drawn = replace(procedure, n=row.n, target_radius=None)  # the bound stays "anytime"
    again = certify_evidence(scheme, row.sigma, row.select, row.counts, drawn, row.idx)
    top = int(np.argmax(row.select or (0,)))
    yield from _copied(row, again, top, row.z_a > row.z_b)
    if not prove:
        return
    wrong = list(_scores(row, manifest, again, top))
    yield from wrong
    if not wrong:
        scores = row.z_a, None if row.z_b == -row.z_a else row.z_b
        known = manifest.method, manifest.parameters, row.sigma, row.radius, *scores
        yield from _radius(row, manifest, again, lambda: _radii.proved(*known))


def _list(row: Row, manifest: Manifest, prove: bool) -> Iterator[Said]:
    own = manifest.procedure
    select, counts = _stages(row)
    _bounds.require_drawn(select, own.n0, counts, own.n)
    rule = composite.Rule.from_dict(manifest.parameters["rule"])
    plan = composite.plan(rule, select, own.n, own.alpha)
    again = composite.certify_counts(rule, select, counts, own.n, own.alpha)
    yield from _copied(row, again, plan.cls, row.radius > 0)
    if prove:
        known = rule, plan, again.item, counts, own.n, own.alpha, row.radius
        yield from _radius(row, manifest, again, lambda: _radii.list_proved(*known))


def _stages(row: Row) -> tuple[list[Any], list[Any]]:
    """The counts of all stages of a composite's row, of one width; None: not drawn."""
    texts = [row.extra[name].split(";") for name in ("stage_select", "stage_counts")]
    read = [
        [None if text == "*" else dense_counts(text) for text in stage]
        for stage in texts
    ]
    width = max([2, *(len(c) for stage in read for c in stage if c is not None)])
    select, counts = (
        [None if c is None else [*c, *[0] * (width - len(c))] for c in stage]
        for stage in read
    )
    return select, counts


def _copied(row: Row, again: Certificate, top: int, leads: bool) -> Iterator[Said]:
    """What a row repeats otherwise than its counts have it; ``leads``: its scores or
    its radius.
    """
    expected = Row.of(row.idx, row.label, again, 0.0)
    values = [(name, getattr(row, name), getattr(expected, name)) for name in _COPIED]
    if isinstance(again, composite.CompositeCertificate):
        # its radius doesn't rest on the scores that the row copies
        values += [
            (k, getattr(row, k), getattr(expected, k)) for k in ("z_a", "z_b", "p_a")
        ]
        values += [
            (k, row.extra.get(k), str(getattr(again, k))) for k in ("item", "binding")
        ]
    for name, own, value in values:
        near = (
            isinstance(value, float)
            and abs(own - value) <= _SAME * (1 + abs(value)) < inf
        )
        if own != value and not near:
            yield Kind.CONTRADICTION, f"{name} is {own!r}, {value!r} by its counts"
    if row.predict not in (top, ABSTAIN):
        yield Kind.CONTRADICTION, f"predicts {row.predict}, but selected {top}"
    if (row.predict != ABSTAIN) != leads:
        text = f"predicts {row.predict} with scores {row.z_a}, {row.z_b} and radius {row.radius}"
        yield Kind.CONTRADICTION, text


def _scores(
    row: Row, manifest: Manifest, again: Certificate, top: int
) -> Iterator[Said]:
    """Bounds that the counts don't prove, or that are well below what they show."""
    procedure = manifest.procedure
    if not procedure.runner_up and row.z_b != -row.z_a:
        yield Kind.CONTRADICTION, f"z_b is {row.z_b}, not -z_a as without runner-up"
    u = opposite = 0.0
    if procedure.bound == "randomized":
        u = 1.0 - stream(procedure.seed, row.idx, Phase.BOUND).random()
        opposite = 1.0 - u + 2.0**-53  # for the second end
    ends = [
        ("z_a", "z", row.z_a, again.z_a, again.count, u),
        ("p_a", "p", row.p_a, again.p_a, again.count, u),
    ]
    if procedure.runner_up and row.z_b != -row.z_a:
        rest = row.n - max((c for k, c in enumerate(row.counts) if k != top), default=0)
        ends.append(("z_b", "z", -row.z_b, -again.z_b, rest, opposite))
    parts = 2 if procedure.runner_up else 1
    for name, form, value, computed, count, uniform in ends:
        text = f"{name} is {getattr(row, name)}, %s what {count} of {row.n} show"
        numbers = count, row.n, procedure.alpha, parts, uniform
        if _below(value, computed, 1.0):
            yield Kind.WEAK, text % "too far from"
        elif not _bounds.proved(procedure.bound, form, value, *numbers):
            yield Kind.BOUND, text % "on the unsafe side of"


def _radius(
    row: Row, manifest: Manifest, again: Certificate, proved: Callable[[], bool]
) -> Iterator[Said]:
    """A radius that isn't proved, or is well below what the counts show."""
    target, text = manifest.procedure.target_radius, f"radius is {row.radius}"
    if target is not None and row.radius not in (0.0, target):
        yield Kind.CONTRADICTION, f"{text}, neither 0 nor the target {target}"
    if target is None and _below(row.radius, again.radius, 2 * row.sigma):
        yield Kind.WEAK, f"{text}, below what the counts show"
    elif row.radius and not proved():
        yield Kind.RADIUS, f"{text}, more than the counts prove"


def _below(value: float, computed: float, unit: float) -> bool:
    return value + _LOST * (unit + abs(computed)) < computed
