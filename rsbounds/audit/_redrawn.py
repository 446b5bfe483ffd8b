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
from rsbounds.certify import Job, drawn_columns
from rsbounds.loading import Data, guarded
from rsbounds.results import Manifest, Row
from rsbounds.sampling import Phase, as_sampler, is_sampler
from rsbounds.sampling.margins import Difference, require_compared
from rsbounds.schemes import Scheme

#: Samples of a row that are compared with those of other settings, at most.
MOST_COMPARED = 10_000


def redrawn(
    rows: Sequence[Numbered],
    manifest: Manifest,
    data: Data,
    model: Any,
    given: Scheme | None,
    truth: Any = None,
) -> Iterator[Finding]:
    """Yield the rows whose samples the model doesn't draw again.

    ``given`` is the noise, and ``truth`` what the answer refers to, if they are given.
    """
    if "stages" in (manifest.model if isinstance(manifest.model, dict) else {}):
        raise ValueError(
            "counts of a rule on several runs can't be drawn again: draw those"
        )
    drawer = _drawer(model, manifest, given)
    for line, row in rows:
        job = _job_of(row, manifest, drawer, truth)
        x = data.input(row.idx)
        certificate, columns = guarded(
            f"input {row.idx}", job.certify, x, row.idx, row.label
        )
        again = Row.of(row.idx, row.label, certificate, 0.0, extra=columns)
        for name, stated, drawn in drawn_columns(row, again):
            if stated != drawn:
                text = f"{name} is {stated:.200}, and drawn again {drawn:.200}"
                yield Finding(Kind.COUNTS, row.idx, text, line)
                break  # the class is another, and with it all counts


def votes_changed(
    rows: Sequence[Numbered],
    manifest: Manifest,
    data: Data,
    model: Any,
    given: Scheme | None,
) -> Difference:
    """The samples of rows drawn again, beside those of other settings."""
    margin = manifest.procedure.margin or 0.0
    difference = Difference(margin=margin)
    drawer = _drawer(model, manifest, given)
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
    given: Scheme | None,
) -> Iterator[Finding]:
    """Find inputs of the probe whose selection samples are not drawn again.

    Where rows don't hold these samples.
    """
    if of_several_models(manifest):
        return
    drawer = _drawer(model, manifest, given)
    for line, row in rows:
        stated = manifest.probe.get(str(row.idx))
        if stated is None:
            continue
        job = _job_of(row, manifest, drawer, None)
        if job.recorded_fingerprint(row) is not None:
            return  # every row was compared with it
        x = data.input(row.idx)
        fingerprint = guarded(f"input {row.idx}", job.fingerprint, x, row.idx)
        drawn = sparse_counts(fingerprint)
        if drawn != stated:
            text = f"the probe is {stated!r:.60}, and drawn again {drawn:.60}"
            yield Finding(Kind.COUNTS, row.idx, text, line)


def _drawer(model: Any, manifest: Manifest, given: Scheme | None) -> Any:
    """The model's sampler, or those of several; of real outputs the model itself."""
    if not ANSWERS[manifest.answer["name"]].classifies:
        return model
    if isinstance(model, Sequence):
        return [as_sampler(expert) for expert in model]
    if is_sampler(model):
        return model
    # noise of a shape is not made of parameters: it has to be given
    noise = answer_of(manifest).scheme if given is None else given
    if noise.drawn is None and given is None:
        return as_sampler(model)
    return noise.sampler(model)


def _job_of(row: Row, manifest: Manifest, drawer: Any, truth: Any) -> Job:
    """What the row's samples were drawn by, at the level that the row states."""
    answer: Any = answer_of(manifest, level=lambda _: row.sigma)
    if truth is not None:
        answer.truth = truth
    if not answer.scheme.law:  # that of a shape is said by what draws it
        answer.scheme.law = getattr(drawer, "law", "")
    with warnings.catch_warnings():  # what runs are told of n, a file needs no more
        warnings.simplefilter("ignore")
        return Job.of(drawer, answer, manifest.procedure)
