"""What a result file contradicts of its manifest and of itself, as a whole."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from math import copysign, inf
from pathlib import Path
from typing import Any

from rsbounds._numerics.decimals import sparse_counts
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.files import content_of
from rsbounds._numerics.text import named_inputs, shown
from rsbounds.answers import ANSWERS
from rsbounds.audit import _bounds, _rows
from rsbounds.audit._declared import undeclared
from rsbounds.audit._finding import Finding, Kind, Numbered
from rsbounds.audit._proof import answer_of, is_near
from rsbounds.audit._proofs import PROOFS
from rsbounds.audit._redrawn import of_several_models
from rsbounds.audit.schemes import RADII
from rsbounds.certificate import (
    ANOTHERS,
    ASSERTED_ENVELOPE,
    ASSERTED_GROUP,
    PARAMETER,
    SCOPES,
    THIS_INPUT,
    WATCHED,
    without_asserted_noise,
)
from rsbounds.certify.internal import job_of
from rsbounds.procedure import MOST_SAMPLES
from rsbounds.results import Manifest, Row
from rsbounds.results.internal import commitment_path, levels_of, plays_episodes
from rsbounds.sampling.margins import MULTIPLE, Difference
from rsbounds.schemes import METHODS, Gaussian, Scheme

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
    for entry in numbered:
        yield from _rows.judged(manifest, entry, prove=False)


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
    if chosen := manifest.calibrated_on([row for _, row in rows]):
        text = f"{chosen} of the inputs chose the threshold that they are certified at"
        yield Finding(Kind.CONTRADICTION, None, text)
    strangers = set(manifest.places({row.idx for _, row in rows})[1])
    end = manifest.data.get("max", -1)
    yield from _rows.twice(rows)
    for line, row in rows:
        if row.idx in strangers or 0 <= end <= row.idx:
            text = "is not one of the inputs the manifest names"
            yield Finding(Kind.ROWS, row.idx, text, line)
    yield from _probed_otherwise(rows, manifest)


def _scopes(method: type[Scheme], manifest: Manifest) -> tuple[str, ...]:
    """The scopes that rows of a method may have."""
    if plays_episodes(manifest):
        # whose steps compose, and what is of one input says nothing of them
        return (WATCHED, ANOTHERS) if method is Gaussian else (ANOTHERS,)
    return (method.scope, *_WEAKER)


def _scoped_otherwise(method: type[Scheme], manifest: Manifest) -> Iterator[str]:
    """Why rows of a method, parameters and samples can't have the scope stated."""
    scope = without_asserted_noise(manifest.scope)
    episodes = plays_episodes(manifest)
    if scope == WATCHED and not episodes:
        yield f"scope is {scope!r}, and the manifest says of no episodes"
    elif scope not in SCOPES or scope not in _scopes(method, manifest):
        of = f"episodes under {method.name}" if episodes else f"method {method.name}"
        yield f"scope is {scope!r}, which no scheme of {of} has"
    if scope == WATCHED and manifest.parameters.get("norm", 2.0) != 2.0:
        yield f"scope is {scope!r}, which is of l2"
    transform = manifest.parameters.get("transform", "")
    if scope == PARAMETER and not isinstance(transform, str):
        yield f"scope is {scope!r}, of a transformation of the writer's own"


def _of_the_whole(manifest: Manifest) -> Iterator[str]:
    """What a manifest contradicts of itself."""
    method = METHODS.get(manifest.method)
    if method:
        yield from _scoped_otherwise(method, manifest)
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
    if manifest.procedure.runner_up and "asked" in manifest.run:
        yield "asked for a runner_up, which two classes don't have, and has it"
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
    recorded = dict(manifest.answer)
    # the hash of what it refers to, which a manifest doesn't hold
    recorded.pop("truth", None)
    for name in sorted(recorded.keys() | computed.keys()):
        had, has = recorded.get(name), computed.get(name)
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
        if levels_of(manifest.engine) is not None:
            method.check_on_grid(manifest.parameters)
        _check_zeros(manifest)
        _check_noise(manifest)
        if manifest.answer["name"] in ANSWERS:
            _check_answer(manifest)
    except ValueError as error:
        raise ValueError(f"the manifest of {path} is damaged: {error}") from None


def _check_zeros(manifest: Manifest) -> None:
    """ValueError for a zero with a sign, which no run states."""
    entries = {
        "parameters": manifest.parameters,
        "answer": manifest.answer,
        **manifest.procedure.to_dict(),
    }
    for name, value in _numbers(entries):
        if value == 0 and copysign(1.0, value) < 0:
            raise ValueError(f"{name} must be 0.0 or another number; got {value}")


def _numbers(entry: Any, name: str = "") -> Iterator[tuple[str, float]]:
    """The floating-point numbers of a value of JSON, with their places."""
    if isinstance(entry, Mapping):
        for key, value in entry.items():
            yield from _numbers(value, f"{name}.{key}" if name else key)
    elif isinstance(entry, list | tuple):
        for value in entry:
            yield from _numbers(value, name)
    elif isinstance(entry, float):
        yield name, entry


def _check_noise(manifest: Manifest) -> None:
    """ValueError for a way to draw noise that a run of this law refuses."""
    drawn = METHODS[manifest.method].from_parameters(manifest.parameters).drawn
    levels = levels_of(manifest.engine)
    if levels is not None and drawn is not None:
        drawn.rounded(levels)  # which refuses noise that isn't Gaussian
    by_bits = drawn.of_bits if drawn is not None else levels is not None
    if not manifest.procedure.repeats and not by_bits:
        raise ValueError(
            "seed must be a number for noise that bits alone don't decide; got "
            f"{manifest.procedure.seed!r} for method {manifest.method}"
        )


def _check_answer(manifest: Manifest) -> None:
    """ValueError for an answer that can't be made, or asked by this procedure."""
    answer = answer_of(manifest)
    proof = PROOFS.get(answer.name)
    if proof is not None:
        proof.check(answer)
    with warnings.catch_warnings():  # what runs are told of n, a file needs no more
        warnings.simplefilter("ignore")
        job_of(answer, manifest.procedure).check()


def require_provable(manifest: Manifest, path: Path) -> None:
    """ValueError where nothing here proves the answer, its scheme or its bound."""
    name, method = manifest.answer["name"], manifest.method
    proof = PROOFS.get(name)
    unproved = ""
    if proof is None:
        unproved = f"answers {shown(name)!r}"
    elif method not in proof.methods:
        unproved = f"is of method {shown(method)!r}"
        if method in RADII:
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
    recorded = manifest.run.get("commitment")
    if there != recorded:
        text = f"{place.name} has the hash {there}, "
        text += f"{recorded!r:.80} in the manifest" if recorded else "the manifest none"
        yield Finding(Kind.CONTRADICTION, None, text)


def missing_rows(rows: Sequence[Numbered], manifest: Manifest) -> Iterator[Finding]:
    """Inputs of the run that the file has no row of."""
    missing = manifest.places({row.idx for _, row in rows})[0]
    if not rows:
        yield Finding(Kind.ROWS, None, "has no rows")
    elif missing:
        total = len(rows) + len(missing)
        text = f"{len(rows)} of {total} rows: {named_inputs(missing)} missing"
        yield Finding(Kind.ROWS, None, text)
