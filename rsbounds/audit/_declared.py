"""Entries, parameters and columns that nothing declares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rsbounds._numerics.answered import By
from rsbounds._numerics.decimals import dense_counts
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.text import quoted, shown
from rsbounds.answers import ANSWERS
from rsbounds.audit._finding import Numbered
from rsbounds.audit._proof import answer_of
from rsbounds.certify.internal import job_of
from rsbounds.results import Manifest
from rsbounds.results.internal import undeclared as undeclared_entries
from rsbounds.schemes import METHODS


def undeclared(rows: Sequence[Numbered], manifest: Manifest) -> Iterator[str]:
    """What a file says and nothing declares, in words.

    What another package's method or answer adds is that package's to declare.
    """
    name = manifest.answer["name"]
    own_answer = name in ANSWERS and ANSWERS.is_own(name)
    own_method = manifest.method in METHODS and METHODS.is_own(manifest.method)
    for entry in undeclared_entries(manifest.entries()):
        section, inside, _ = entry.partition(".")
        if section == "parameters" or (section == "answer" and not own_answer):
            continue
        where = f"a manifest's {section}" if inside else "a manifest"
        yield f"{entry!r:.80} is no entry of {where}"
    yield from _probed(manifest)
    if own_method:
        yield from _parameters(manifest)
    if own_answer and own_method:
        yield from _columns(rows, manifest)


def _probed(manifest: Manifest) -> Iterator[str]:
    """Entries of the probe that are not selection counts of an input.

    Any name may stand there, and rows are compared with those of their own alone.
    """
    run = replace(manifest, shard="0/1").indices()
    for name, text in manifest.probe.items():
        if not (name.isdecimal() and name == str(int(name)) and int(name) in run):
            yield f"{shown(f'probe.{name}')!r:.80} is no input of the run"
            continue
        try:
            dense_counts(text)
        except ValueError as error:
            yield f"probe.{name} must be {error}; got {quoted(text)}"


def _parameters(manifest: Manifest) -> Iterator[str]:
    answers = METHODS[manifest.method].who_answers(manifest.parameters)
    for place in sorted({*places_of(manifest.parameters)}):
        if answer_for(place, answers) is None:
            yield f"{shown(place)!r:.80} is no parameter of {manifest.method}"


def places_of(entry: Any, above: str = "") -> Iterator[str]:
    """The places of a value's entries, the parts of their names behind dots.

    Those of an array have the array's own place.
    """
    if isinstance(entry, Mapping) and entry:
        for name, value in entry.items():
            yield from places_of(value, f"{above}.{name}" if above else name)
    elif isinstance(entry, list) and entry:
        for item in entry:
            yield from places_of(item, above)
    else:
        yield above


def answer_for(place: str, answers: Mapping[str, By]) -> By | None:
    """Who answers for a place; None where nothing declares it."""
    if place in answers:
        return answers[place]
    for name, by in answers.items():
        if name.endswith(".*") and f"{place}.".startswith(name.removesuffix("*")):
            return by
    return None


def _columns(rows: Sequence[Numbered], manifest: Manifest) -> Iterator[str]:
    try:
        answer = answer_of(manifest)
    except ArgumentError:  # a manifest that is damaged is said elsewhere
        return
    job = job_of(answer, manifest.procedure)
    known = {*job.columns, *answer.scheme.columns}
    extra = {name for _, row in rows for name in row.extra}
    for name in sorted(extra - known):
        yield f"{shown(name)!r:.80} is no column of the answer {answer.name!r}"
