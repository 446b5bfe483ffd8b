"""What a result file contradicts of its manifest and of itself, as a whole."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from math import inf
from pathlib import Path

from rsbounds._numerics.decimals import sparse_counts
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.files import content_of
from rsbounds._numerics.text import shown
from rsbounds.answers import ANSWERS
from rsbounds.audit import _bounds, _rows
from rsbounds.audit._declared import undeclared
from rsbounds.audit._finding import Finding, Kind, Numbered
from rsbounds.audit._proof import answer_of, is_near
from rsbounds.audit._proofs import PROOFS
from rsbounds.audit._radii import COVERED
from rsbounds.audit._redrawn import of_several_models
from rsbounds.certificate import (
    ANOTHERS,
    ASSERTED_ENVELOPE,
    ASSERTED_GROUP,
    PARAMETER,
    SCOPES,
    THIS_INPUT,
)
from rsbounds.certify import Stopping
from rsbounds.procedure import MOST_SAMPLES
from rsbounds.results import Manifest, Row, commitment_path, some
from rsbounds.sampling.margins import MULTIPLE, Difference
from rsbounds.schemes import METHODS

# What any method's own scope may be cut to: an answer or a bound of another package
# makes the rows another package's.
_WEAKER = (ANOTHERS, ASSERTED_ENVELOPE, ASSERTED_GROUP, THIS_INPUT)


def contradictions(
    path: Path, manifest: Manifest, rows: Sequence[Row]
) -> Iterator[Finding]:
    """Describe what rows contradict of their manifest and of themselves.

    Nothing is proved.

    Rows that are missing are no contradiction; a damaged manifest is a ValueError.
    """
    check_manifest(manifest, path)
    numbered = list(enumerate(rows, start=2))
    yield from structure(numbered, manifest)
    for each in numbered:
        yield from _rows.judged(manifest, each, prove=False)


def structure(rows: Sequence[Numbered], manifest: Manifest) -> Iterator[Finding]:
    """Describe rows that are there twice or of no input, and entries of another run.

    The entries are a scope, a commitment and a probe.
    """
    yield from (
        Finding(Kind.CONTRADICTION, None, text) for text in _of_the_whole(manifest)
    )
    yield from (
        Finding(Kind.UNDECLARED, None, text) for text in undeclared(rows, manifest)
    )
    if manifest.fitted_on([row for _, row in rows]):
        text = "the rule was fitted to the rows that it certifies: its level does not "
        yield Finding(Kind.CONTRADICTION, None, f"{text}hold")
    strangers = set(manifest.places({row.idx for _, row in rows})[1])
    end = manifest.data.get("max", -1)
    yield from _rows.twice(rows)
    for line, row in rows:
        if row.idx in strangers or 0 <= end <= row.idx:
            text = "is not one of the inputs the manifest names"
            yield Finding(Kind.ROWS, row.idx, text, line)
    yield from _probed_otherwise(rows, manifest)


def _of_the_whole(manifest: Manifest) -> Iterator[str]:
    """What a manifest contradicts of itself."""
    method = METHODS.get(manifest.method)
    scope = manifest.scope
    if method and (scope not in SCOPES or scope not in (method.scope, *_WEAKER)):
        yield f"scope is {scope!r}, which no scheme of method {method.name} has"
    stated = manifest.parameters.get("transform", "")
    if scope == PARAMETER and not isinstance(stated, str):
        yield f"scope is {scope!r}, of a transformation of the writer's own"
    selected, inputs = manifest.selected(), manifest.data["inputs"]
    if selected != inputs:
        names = "an unknown number" if selected is None else selected
        yield f"names {inputs} inputs, where start, skip and max choose {names} of all"
    committed = manifest.run.get("commitment")
    now = hashlib.sha256(manifest.commitment().encode()).hexdigest()
    if committed is not None and committed != now:
        yield (
            f"is not the run that was committed as {committed!r:.80}: its manifest "
            f"gives {now}"
        )
    if not _is_as_measured(manifest):
        margin = manifest.procedure.margin
        yield f"margin is {margin}, not what its record of a measurement gives"
    if method and manifest.answer["name"] in ANSWERS:
        yield from _answered_otherwise(manifest)


def _is_as_measured(manifest: Manifest) -> bool:
    """Whether a margin that is called measured follows from what was measured."""
    record = manifest.engine.get("margin")
    if not isinstance(record, Mapping) or record.get("basis") != "measured":
        return True
    largest, multiple = record.get("largest"), record.get("multiple")
    if type(largest) is not float or type(multiple) is not int:
        return False
    if not (multiple == MULTIPLE and 0 <= largest < inf):
        return False
    computed = Difference(margin=0.0, largest=largest).times(multiple)
    return manifest.procedure.margin == computed


def _answered_otherwise(manifest: Manifest) -> Iterator[str]:
    """Entries of the answer that are not what its other entries make of them."""
    try:
        computed = json.loads(json.dumps(answer_of(manifest).describe()))
    except ArgumentError:
        return  # noise of a shape, whose level the manifest doesn't hold: rows prove it
    stated = dict(manifest.answer)
    # the hash of what it refers to, which a manifest doesn't hold
    stated.pop("truth", None)
    for name in sorted(stated.keys() | computed.keys()):
        had, has = stated.get(name), computed.get(name)
        if type(had) is not type(has) or not is_near(had, has):
            yield f"answer.{name} is {had!r:.60}, {has!r:.60} by the others"


def _probed_otherwise(
    rows: Sequence[Numbered], manifest: Manifest
) -> Iterator[Finding]:
    """Rows whose fingerprint of the model is not that of the manifest's probe."""
    name = manifest.answer["name"]
    if manifest.method not in METHODS or name not in ANSWERS:
        return
    if of_several_models(manifest):
        return
    if not manifest.procedure.repeats:
        return  # the probe follows from the seed, and rows don't
    try:
        answer = answer_of(manifest)
    except ValueError:
        return  # a damaged manifest is said elsewhere
    for line, row in rows:
        probe = manifest.probe.get(str(row.idx))
        if probe is None:
            continue
        try:
            recorded = answer.recorded_fingerprint(row)
        except (ValueError, LookupError):
            continue  # the row can't be computed again, which is a finding of its own
        if recorded is not None and sparse_counts(recorded) != probe:
            text = f"select is {sparse_counts(recorded)}, and {probe!r:.60} in the "
            text += "manifest's probe"
            yield Finding(Kind.CONTRADICTION, row.idx, text, line)


def check_manifest(manifest: Manifest, path: Path) -> None:
    """ValueError unless the manifest has what rows are judged by."""
    method = METHODS.get(manifest.method)
    if method is None:
        return
    try:
        method.check(manifest.parameters)
        for name in ("n", "n0"):
            samples = getattr(manifest.procedure, name)
            if samples > MOST_SAMPLES:
                raise ValueError(
                    f"{name} must be at most {MOST_SAMPLES}; got {samples}"
                )
        lacks = (
            method.domains.keys() & {"slack", "shift"}
        ) - manifest.parameters.keys()
        if manifest.engine.get("sound_noise") and not method.sound and lacks:
            raise ValueError(f"engine.sound_noise needs parameters.{min(lacks)}")
        if manifest.answer["name"] in ANSWERS:
            _check_answer(manifest)
    except ValueError as error:
        raise ValueError(f"the manifest of {path} is damaged: {error}") from None


def _check_answer(manifest: Manifest) -> None:
    """ValueError for an answer that can't be made, or asked by this procedure."""
    answer = answer_of(manifest)
    proof = PROOFS.get(answer.name)
    if proof is not None:
        proof.check(answer)
    with warnings.catch_warnings():  # what runs are told of n, a file needs no more
        warnings.simplefilter("ignore")
        Stopping.of(manifest.procedure).check(answer)


def require_provable(manifest: Manifest, path: Path) -> None:
    """ValueError where nothing here proves the answer, its scheme or its bound."""
    name, method = manifest.answer["name"], manifest.method
    proof = PROOFS.get(name)
    unproved = ""
    if proof is None:
        unproved = f"answers {shown(name)!r}"
    elif method not in proof.methods:
        unproved = f"is of method {shown(method)!r}"
        if method in COVERED:
            unproved += f" and answers {name!r}"
    elif manifest.procedure.bound not in _bounds.PROOFS:
        unproved = f"is by the bound {manifest.procedure.bound!r}"
    if unproved:
        raise ValueError(
            f"{path} {unproved}, which nothing here can prove: it can't be verified"
        )


def committed_otherwise(path: Path, manifest: Manifest) -> Iterator[Finding]:
    """A commitment beside the file that is not the manifest's."""
    place = commitment_path(path)
    if not place.exists():
        return
    there = hashlib.sha256(content_of(place)).hexdigest()
    stated = manifest.run.get("commitment")
    if there != stated:
        text = f"{place.name} has the hash {there}, "
        text += f"{stated!r:.80} in the manifest" if stated else "the manifest none"
        yield Finding(Kind.CONTRADICTION, None, text)


def missing_rows(rows: Sequence[Numbered], manifest: Manifest) -> Iterator[Finding]:
    """Inputs of the run that the file has no row of."""
    missing = manifest.places({row.idx for _, row in rows})[0]
    if not rows:
        yield Finding(Kind.ROWS, None, "has no rows")
    elif missing:
        total = len(rows) + len(missing)
        text = f"{len(rows)} of {total} rows: {some(missing)} missing"
        yield Finding(Kind.ROWS, None, text)
