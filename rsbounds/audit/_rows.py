"""One row against the manifest and its own evidence: computed again, then proved."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import inf, nan
from typing import Any

from rsbounds._numerics.text import quoted
from rsbounds.audit import _looks
from rsbounds.audit._finding import Finding, Kind, Remark
from rsbounds.audit._proof import Claim, Proof, answer_of, is_same, own_level
from rsbounds.audit._proofs import PROOFS
from rsbounds.certificate import ABSTAIN
from rsbounds.procedure import Procedure
from rsbounds.results import Manifest, Row
from rsbounds.results.internal import holds
from rsbounds.schemes import METHODS

#: Columns of text that nothing is proved of: what may stand there.
_FORMS = {
    "time": r"(\d+ days?, )?\d{1,2}:\d\d:\d\d(\.\d+)?|",
    "input": "[0-9a-f]{16}|-",
}


def judged(
    manifest: Manifest, numbered: tuple[int, Row], *, prove: bool = True
) -> list[Finding]:
    """What is wrong with a row of a line; ``prove``: its bounds and radius too."""
    line, row = numbered
    return [
        Finding(kind, row.idx, text, line)
        for kind, text in findings(row, manifest, prove)
    ]


def findings(row: Row, manifest: Manifest, prove: bool = True) -> Iterator[Remark]:
    """Yield what is wrong with a row.

    First against what the manifest states, then against its own counts.
    """
    yield from _against_manifest(row, manifest)
    yield from of_itself(row)
    if manifest.method not in METHODS or row.n > manifest.procedure.n:
        return
    if not row.n:
        yield from _without_samples(row, manifest)
        return
    # of an answer without a proof, rows are compared with what their evidence gives
    proof = PROOFS.get(manifest.answer["name"], Proof())
    if manifest.procedure.only_correct and proof.is_hopeless(row, manifest):
        text = f"has samples, but the selected class {_selected(row)} is wrong"
        yield Kind.CONTRADICTION, text
    parameters = manifest.parameters
    low, high = (parameters.get(f"sigma_{end}", row.sigma) for end in ("min", "max"))
    if not low <= row.sigma <= high:
        yield Kind.CONTRADICTION, f"sigma is {row.sigma}, outside of [{low}, {high}]"
        return
    try:
        if manifest.procedure.bound in _looks.LOOKS:
            yield from _looks.findings(row, manifest, proof, prove)
        else:
            yield from proof.findings(row, manifest, prove)
    except (ValueError, TypeError, LookupError, ArithmeticError) as error:
        # numbers that no run can have
        yield Kind.CONTRADICTION, f"can't be computed again: {error}"


def _without_samples(row: Row, manifest: Manifest) -> Iterator[Remark]:
    """What is wrong with a row that no samples estimate."""
    claim = f"predicts {row.predict} with radius {row.radius}"
    proof = PROOFS.get(manifest.answer["name"], Proof())
    left_out = manifest.procedure.only_correct and proof.is_hopeless(row, manifest)
    ends = (row.p_a, row.z_a, row.z_b)
    expected = (nan, nan, nan) if left_out else (0.0, -inf, inf)
    if (row.predict, row.radius) != (ABSTAIN, 0.0) or any(row.counts):
        yield Kind.CONTRADICTION, f"{claim} from no samples"
    elif not all(map(is_same, ends, expected)):
        why = "an input to be sampled"
        if left_out:
            why = f"an input whose selected class, {_selected(row)}, is wrong"
        text = f"p_a, z_a and z_b are {ends}, {expected} without samples of {why}"
        yield Kind.CONTRADICTION, text
    yield from _columns(row, manifest)


def _columns(row: Row, manifest: Manifest) -> Iterator[Remark]:
    """Columns of a row without samples that no run writes."""
    proof = PROOFS.get(manifest.answer["name"], Proof())
    try:
        answer = answer_of(manifest)
        expected = proof.computed(row, answer, manifest)
        claim = Claim(row, manifest, answer, expected)
        yield from proof.compared(claim)
    except (ValueError, TypeError, LookupError, ArithmeticError) as error:
        yield Kind.CONTRADICTION, f"can't be computed again: {error}"


def _selected(row: Row) -> int:
    """The class of most selection samples, the first of those that tie."""
    return row.select.index(max(row.select)) if row.select else 0


def of_itself(row: Row) -> Iterator[Remark]:
    """What the field's columns of a row contradict of each other."""
    if row.correct != holds(row.label, row.predict):
        yield (
            Kind.CONTRADICTION,
            f"correct is {row.correct:d}, but predict {row.predict} and label "
            f"{row.label}",
        )
    if row.predict == ABSTAIN and row.radius:
        yield Kind.CONTRADICTION, f"predicts {row.predict} with radius {row.radius}"


def _may_stop(row: Row, procedure: Procedure) -> bool:
    """Whether a run may have as few samples of an input as its row states."""
    if procedure.only_correct and not row.n:
        return True  # of an input whose selected class is wrong
    if procedure.ends_at_target:
        return row.n <= procedure.n
    return procedure.bound in _looks.LOOKS and row.n in _looks.levels_of(procedure)


def twice(rows: Sequence[tuple[int, Row]]) -> Iterator[Finding]:
    """Rows of lines whose input has one before."""
    seen = set[int]()
    for line, row in rows:
        if row.idx in seen:
            yield Finding(Kind.ROWS, row.idx, "appears twice", line)
        seen.add(row.idx)


def _against_manifest(row: Row, manifest: Manifest) -> Iterator[Remark]:
    """What the row has otherwise than the manifest."""
    by_manifest: dict[str, Any] = {"method": manifest.method, "scope": manifest.scope}
    level = own_level(manifest)
    if level is not None:
        by_manifest["sigma"] = level
    if not _may_stop(row, manifest.procedure):
        by_manifest["n"] = manifest.procedure.n
    for name, value in by_manifest.items():
        if getattr(row, name) != value:
            text = f"{name} is {getattr(row, name)!r}, {value!r} in the manifest"
            yield Kind.CONTRADICTION, text
    for name, form in _FORMS.items():
        if not re.fullmatch(form, getattr(row, name), re.ASCII):
            text = f"{name} is {quoted(getattr(row, name))}, not of the form {form}"
            yield Kind.CONTRADICTION, text
