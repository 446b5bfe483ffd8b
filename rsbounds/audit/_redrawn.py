"""Rows drawn again: their samples, their probe, and their scores elsewhere."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from rsbounds._numerics.decimals import sparse_counts
from rsbounds.answers import ANSWERS
from rsbounds.audit._finding import Finding, Kind, Numbered
from rsbounds.audit._proof import answer_of
from rsbounds.certificate import WATCHED, asserts_noise, without_asserted_noise
from rsbounds.certify.internal import Job, drawn_columns, job_of
from rsbounds.loading import Data
from rsbounds.loading.internal import guarded
from rsbounds.results import Manifest, Row
from rsbounds.results.internal import levels_of, plays_episodes
from rsbounds.sampling import Phase, as_sampler
from rsbounds.sampling.internal import is_sampler, is_watched
from rsbounds.sampling.known import draws_known_noise
from rsbounds.sampling.margins import Difference, require_compared
from rsbounds.schemes import Scheme
from rsbounds.schemes.internal import UNSTATED

#: Samples of a row that are compared with those of other settings, at most.
MOST_COMPARED = 10_000


def redrawn(
    rows: Sequence[Numbered],
    manifest: Manifest,
    data: Data,
    model: Any,
    scheme: Scheme | None,
    truth: Any = None,
) -> Iterator[Finding]:
    """Yield the rows whose samples the model doesn't draw again.

    ``scheme`` is the noise, and ``truth`` what the answer refers to, if they are given.
    """
    if "stages" in (manifest.model if isinstance(manifest.model, dict) else {}):
        raise ValueError(
            "counts of a rule on several runs can't be drawn again: draw those"
        )
    yield from _law_hidden(model, manifest, scheme)
    drawer = _drawer(model, manifest, scheme)
    for line, row in rows:
        job = _job_of(row, manifest, drawer, truth)
        x = data.input(row.idx)
        certificate, columns = guarded(
            f"input {row.idx}", job.certify, x, row.idx, row.label
        )
        again = Row.of(row.idx, row.label, certificate, 0.0, extra=columns)
        for name, recorded, drawn in drawn_columns(row, again):
            if recorded != drawn:
                text = f"{name} is {recorded:.200}, and drawn again {drawn:.200}"
                yield Finding(Kind.COUNTS, row.idx, text, line)
                break  # the class is another, and with it all counts


def _law_hidden(
    model: Any, manifest: Manifest, scheme: Scheme | None
) -> Iterator[Finding]:
    """Find a sampler of the user's own behind rows that don't say so."""
    models = model if isinstance(model, Sequence) else [model]
    drawn = None if scheme is None else scheme.drawn
    samplers = [
        candidate
        for candidate in models
        if is_sampler(candidate) and not draws_known_noise(candidate, drawn)
    ]
    if samplers and not asserts_noise(manifest.scope):
        text = f"scope is {manifest.scope!r}: the model given is a sampler, which "
        yield Finding(Kind.MODEL, None, f"{text}draws noise of its own")
    watched = any(map(is_watched, models))
    if without_asserted_noise(manifest.scope) == WATCHED and not watched:
        text = f"scope is {manifest.scope!r}, and the model given plays no episodes"
        yield Finding(Kind.MODEL, None, text)
    if watched and not plays_episodes(manifest):
        text = "the model given plays episodes, of which the manifest says nothing"
        yield Finding(Kind.MODEL, None, text)


def votes_changed(
    rows: Sequence[Numbered],
    manifest: Manifest,
    data: Data,
    model: Any,
    scheme: Scheme | None,
) -> Difference:
    """The samples of rows drawn again, beside those of other settings."""
    margin = manifest.procedure.margin or 0.0
    difference = Difference(margin=margin)
    drawer = _drawer(model, manifest, scheme)
    for _, row in rows:
        job = _job_of(row, manifest, drawer, None)
        draws = job.draws(data.input(row.idx), row.idx)
        for stage, sampler in enumerate(job.samplers):
            compared = partial(
                require_compared(sampler).compared,
                draws.x,
                draws.levels[stage],
                min(row.n or manifest.procedure.n, MOST_COMPARED),
                draws.generator(
                    Phase.ESTIMATE, stage if len(job.samplers) > 1 else None
                ),
            )
            difference.merge(guarded(f"input {row.idx}", compared))
    return difference


def changed(votes: Difference, manifest: Manifest) -> Iterator[Finding]:
    """Describe what refutes a margin.

    Votes that count by it and change, or scores that differ by more than those of two
    programs can, each within half of it of the exact ones.
    """
    if not manifest.procedure.void_against:
        return
    if not votes.largest <= votes.margin:
        text = f"scores differ by {votes.largest:.4g} under other settings, more than "
        yield Finding(Kind.COUNTS, None, f"{text}the margin {votes.margin:.4g} allows")
    if votes.changed:
        text = f"{votes.changed} votes that lead by the margin {votes.margin:.4g} are "
        text += f"for another class under other settings ({', '.join(votes.settings)})"
        yield Finding(Kind.COUNTS, None, text)


def of_several_models(manifest: Manifest) -> bool:
    """Tell whether rows are from before a change.

    They have the probe of another model then, and every report says that there are
    such.
    """
    for step in manifest.history:
        told = any(text.strip() for text in step.get("changes", ()))
        if told and step.get("rows", 0) > 0:
            return True
    return False


def probed_again(
    rows: Sequence[Numbered],
    manifest: Manifest,
    data: Data,
    model: Any,
    scheme: Scheme | None,
) -> Iterator[Finding]:
    """Find inputs of the probe whose selection samples are not drawn again.

    Where rows don't hold these samples.
    """
    if of_several_models(manifest):
        return
    drawer = _drawer(model, manifest, scheme)
    for line, row in rows:
        recorded = manifest.probe.get(str(row.idx))
        if recorded is None:
            continue
        job = _job_of(row, manifest, drawer, None)
        if job.recorded_fingerprint(row) is not None:
            return  # every row was compared with it
        x = data.input(row.idx)
        fingerprint = guarded(f"input {row.idx}", job.fingerprint, x, row.idx)
        drawn = sparse_counts(fingerprint)
        if drawn != recorded:
            text = f"the probe is {recorded!r:.60}, and drawn again {drawn:.60}"
            yield Finding(Kind.COUNTS, row.idx, text, line)


def _drawer(model: Any, manifest: Manifest, scheme: Scheme | None) -> Any:
    """The model's sampler, or those of several; of real outputs the model itself."""
    if not ANSWERS[manifest.answer["name"]].classifies:
        return model
    if isinstance(model, Sequence):
        return [as_sampler(expert) for expert in model]
    if is_sampler(model):
        return model
    # noise of a shape is not made of parameters: it has to be given
    noise = answer_of(manifest).scheme if scheme is None else scheme
    noise = noise.as_drawn(levels_of(manifest.engine))
    if noise.drawn is None and scheme is None:
        return as_sampler(model)
    return as_sampler(model, noise)


def _job_of(row: Row, manifest: Manifest, drawer: Any, truth: Any) -> Job:
    """What the row's samples were drawn by, at the level that the row states."""
    answer: Any = answer_of(manifest, level=lambda _: row.sigma)
    answer.scheme = answer.scheme.as_drawn(levels_of(manifest.engine))
    if truth is not None:
        answer.truth = truth
    if answer.scheme.law == UNSTATED:  # what draws it says it
        answer.scheme.law = getattr(drawer, "law", "")
    with warnings.catch_warnings():  # what runs are told of n, a file needs no more
        warnings.simplefilter("ignore")
        job = job_of(answer, manifest.procedure)
        job.check()
        return job.with_model(drawer)
