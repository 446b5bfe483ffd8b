"""One row against the manifest and its own evidence: computed again, then proved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from typing import Any

from rsbounds.audit._finding import Finding, Kind, Said
from rsbounds.audit._proof import Proof, own_level
from rsbounds.audit._proofs import PROOFS
from rsbounds.certificate import ABSTAIN
from rsbounds.results import Manifest, Row
from rsbounds.results._row import holds
from rsbounds.schemes import METHODS


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
    yield from _stated(row, manifest)
    yield from of_itself(row)
    if manifest.method not in METHODS or row.n > manifest.procedure.n:
        return
    if not row.n:
        claim = f"predicts {row.predict} with radius {row.radius}"
        if (row.predict, row.radius, row.p_a, row.z_a) != (ABSTAIN, 0.0, 0.0, -inf):
            yield Kind.CONTRADICTION, f"{claim} from no samples"
        return
    parameters = manifest.parameters
    low, high = (parameters.get(f"sigma_{end}", row.sigma) for end in ("min", "max"))
    if not low <= row.sigma <= high:
        yield Kind.CONTRADICTION, f"sigma is {row.sigma}, outside of [{low}, {high}]"
        return
    try:
        # of an answer without a proof, rows are compared with what their evidence gives
        proof = PROOFS.get(manifest.answer["name"], Proof())
        yield from proof.findings(row, manifest, prove)
    except (ValueError, TypeError, LookupError, ArithmeticError) as error:
        # numbers that no run can have
        yield Kind.CONTRADICTION, f"can't be computed again: {error}"


def of_itself(row: Row) -> Iterator[Said]:
    """What the field's columns of a row contradict of each other."""
    if row.correct != holds(row.label, row.predict):
        yield (
            Kind.CONTRADICTION,
            f"correct is {row.correct:d}, but predict {row.predict} and label "
            f"{row.label}",
        )
    if row.predict == ABSTAIN and row.radius:
        yield Kind.CONTRADICTION, f"predicts {row.predict} with radius {row.radius}"


def twice(rows: Sequence[tuple[int, Row]]) -> Iterator[Finding]:
    """Rows of lines whose input has one before."""
    seen = set[int]()
    for line, row in rows:
        if row.idx in seen:
            yield Finding(Kind.ROWS, row.idx, "appears twice", line)
        seen.add(row.idx)


def _stated(row: Row, manifest: Manifest) -> Iterator[Said]:
    """What the row has otherwise than the manifest."""
    stated: dict[str, Any] = {"method": manifest.method, "scope": manifest.scope}
    level = own_level(manifest)
    if level is not None:
        stated["sigma"] = level
    # a run towards a target stops when that is decided
    stops = manifest.procedure.target_radius is not None
    if not (stops and row.n <= manifest.procedure.n):
        stated["n"] = manifest.procedure.n
    for name, value in stated.items():
        if getattr(row, name) != value:
            text = f"{name} is {getattr(row, name)!r}, {value!r} in the manifest"
            yield Kind.CONTRADICTION, text
