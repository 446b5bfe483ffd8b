"""The beginning of a run: what stands before its first row.

Which inputs of which data, of which model: all that the manifest says, and a few
fingerprints that tell this model from another.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from rsbounds._numerics.checks import count, shard_of
from rsbounds._numerics.decimals import sparse_counts
from rsbounds._numerics.errors import ArgumentError
from rsbounds.answers import Answer
from rsbounds.certify._job import Counts, Job
from rsbounds.certify._run import Run, Settings
from rsbounds.certify._unit import warn_of_unit
from rsbounds.certify._work import Here, Work, require_numbers, source_of
from rsbounds.confidence import BOUNDS
from rsbounds.frameworks.internal import labels_of
from rsbounds.loading import Data
from rsbounds.loading.internal import check_labels
from rsbounds.loading.parameters import parameters_hash
from rsbounds.loading.rows import CorruptInput
from rsbounds.procedure import Procedure
from rsbounds.results import Manifest
from rsbounds.results.internal import (
    MOST_INPUTS,
    commit,
    commitment_path,
    drawn_on,
    folded,
)
from rsbounds.sampling.internal import grid_of, is_sampler, is_watched

FEW_PROBES, MOST_PROBES = 4, 16  # inputs whose fingerprints tell models apart


@dataclass(frozen=True)
class Selection:
    """Which inputs are certified: every ``skip``-th from ``start``, below ``max``.

    ``max`` = -1 is all; ``shard`` ``i/N`` takes of these every N-th, from the i-th.
    """

    start: int = 0
    skip: int = 1
    max: int = -1
    shard: str = "0/1"

    def __post_init__(self) -> None:
        for name, low in (("start", 0), ("skip", 1), ("max", -1)):
            checked = count(name, getattr(self, name), low)
            object.__setattr__(self, name, checked)
        shard_of("shard", self.shard)

    def of(self, inputs: int) -> range:
        """The indices of all shards together, among so many inputs."""
        end = inputs if self.max < 0 else min(self.max, inputs)
        selected = range(self.start, end, self.skip)
        if self.start and not selected:
            raise ArgumentError(
                "start",
                f"must be below the end of the inputs, {end}; got {self.start}",
            )
        return selected


def begin(
    model: Any,
    data: Any,
    job: Job,
    selection: Selection,
    settings: Settings,
    out: Path | None = None,
) -> Run:
    """The run of a model, which is asked about a few inputs now.

    That tells its classes, its machine's arithmetic, and whether it is the model that a
    file was begun with. ``job`` is one that was checked; further parameters as of
    :func:`certify_dataset`.
    """
    answer = job.answer
    if out is not None:
        _require_counts(job.procedure)
    elif settings.commit:
        raise ArgumentError("commit", "needs out, the result file")
    labels = None if _is_elsewhere(model) else labels_of(model)
    source = source_of(data, answer, labels)
    require_numbers(source, answer.scheme)
    _warn_of_unit(answer, source)
    answer.check_inputs(len(source))
    selected = _selected(selection, len(source), is_for_file=out is not None)
    job, work = _shared(model, job, source, settings)
    settings = replace(
        settings,
        engine={**_drawn(job), **folded("engine", settings.engine)},
        run=folded("run", settings.run),
    )
    describe = settings.describe
    if not describe and out is not None:
        describe = described(model)
    named = {"labels": labels} if labels else {}
    planned = replace(
        _planned(job, source, selection, len(selected), settings),
        model=folded("model", {**named, **describe}),
    )
    # Before the first sample: a commitment that is written after it could have been
    # chosen by what was drawn.
    committed: dict[str, str] = {}
    if out is not None and (settings.commit or commitment_path(out).exists()):
        committed = _committed(out, planned, settings)
    # All below is compared with the file that is gone on with: the probe in the
    # manifest tells another model even where weights have no hash.
    probe = dict(_probes(work, selected, settings.skip_corrupt))
    machines = work.machines()
    classes = _classes(answer, probe)
    manifest = _settled(
        replace(planned, run={**settings.run, "machines": machines, **committed}),
        answer.settled(job.procedure, classes),
        probe,
        _arithmetic(machines),
    )
    answer.check_classes(classes)
    if source.labels is not None:
        check_labels(source, classes, list(manifest.indices()))
    return Run(
        job=job,
        work=work,
        source=source,
        settings=settings,
        manifest=manifest,
        classes=classes,
        out=out,
    )


def _selected(selection: Selection, inputs: int, *, is_for_file: bool) -> Sequence[int]:
    """Indices of the inputs to certify; ArgumentError for more than a file holds."""
    selected = selection.of(inputs)
    if is_for_file and len(selected) > MOST_INPUTS:
        raise ArgumentError(
            "max",
            f"must leave at most {MOST_INPUTS} inputs for a file; got {len(selected)}",
        )
    return selected


def _planned(
    job: Job, source: Data, selection: Selection, selected: int, settings: Settings
) -> Manifest:
    """The manifest before the first sample, but for what it says of the model."""
    answer = job.answer
    return Manifest(
        model={},
        data={
            **source.identity,
            "start": selection.start,
            "skip": selection.skip,
            "max": selection.max,
            "inputs": selected,
            "total": len(source),
        },
        answer=answer.describe(),
        method=answer.scheme.name,
        scope=job.scope,
        parameters=dict(answer.scheme.parameters),
        procedure=job.procedure,
        shard=selection.shard,
        versions=dict(_installed()),
        engine=dict(settings.engine),
    )


def _settled(
    planned: Manifest,
    procedure: Procedure,
    probe: Mapping[str, Counts],
    arithmetic: Mapping[str, Any],
) -> Manifest:
    """The manifest with what the first samples tell: classes, probe and arithmetic."""
    asked: dict[str, Any] = {}
    if procedure != planned.procedure:  # a commitment has what stood before them
        asked["asked"] = {"runner_up": planned.procedure.runner_up}
    return replace(
        planned,
        procedure=procedure,
        probe={index: sparse_counts(counts) for index, counts in probe.items()},
        engine={**planned.engine, **arithmetic},
        run={**planned.run, **asked},
    )


def _warn_of_unit(answer: Answer, source: Data) -> None:
    """Warn of the first input's numbers; one that can't be read is refused later."""
    with suppress(ValueError, IndexError):
        warn_of_unit(answer, source.input(0), stacklevel=4)


def _require_counts(procedure: Procedure) -> None:
    """ValueError for a procedure whose rows no file can hold, to be verified."""
    procedure.require_provable()
    evidence = BOUNDS[procedure.bound].evidence
    if evidence == "scores":
        raise ArgumentError(
            "bound",
            f"must be on counts for a file, to be verified again; "
            f"{procedure.bound!r} is on {evidence}",
        )


def _shared(model: Any, job: Job, source: Data, settings: Settings) -> tuple[Job, Work]:
    """The job, and who does it: this process, or workers elsewhere."""
    if not _is_elsewhere(model):
        job = job.with_model(model)
        return job, Here(job, source, settings.skip_corrupt)
    expected = job.facts(source)  # its samplers are with the workers
    return job, model.begin(job.procedure, expected, settings.skip_corrupt)


def _committed(out: Path, manifest: Manifest, settings: Settings) -> dict[str, str]:
    """The commitment's entry of the manifest; written now, unless it is there."""
    committed = commit(out, manifest, accept=settings.accept_change)
    place = commitment_path(out).name
    text = f"committed as sha256 {committed['commitment']}: {place}"
    for unfixed in manifest.unfixed():
        text += f"; it does not fix {unfixed}"
    settings.say(text)
    return committed


def _probes(
    work: Work, selected: Sequence[int], skip_corrupt: bool
) -> Iterator[tuple[str, Counts]]:
    """Fingerprints of some inputs, which tell one model from another.

    Where no model decides otherwise they tell nothing, so inputs are added until one is
    undecided.
    """
    first = selected[:: len(selected) // FEW_PROBES + 1]
    others = selected[:: len(selected) // MOST_PROBES + 1]
    undecided = False
    for index in dict.fromkeys([*first, *others]):
        if undecided and index not in first:
            return
        try:
            counts = work.fingerprint(index)
        except CorruptInput:
            if not skip_corrupt:
                raise
            continue
        undecided |= bool(np.count_nonzero(counts) > 1)
        yield str(index), counts


def _classes(answer: Answer, probe: Mapping[str, Counts]) -> int:
    """How many classes the model has: labels must be below."""
    if not answer.classifies or not probe:
        return 2**62
    if not any(map(any, probe.values())):
        index = next(iter(probe))
        raise ValueError(f"the model must return numbers; got NaN for input {index}")
    return max(map(len, probe.values()))


def _is_elsewhere(model: Any) -> bool:
    """Whether the model is with workers (rsbounds.cluster.Workers)."""
    return hasattr(model, "begin")


def _drawn(job: Job) -> dict[str, Any]:
    """What a manifest says of noise that is exact, on a grid, and of episodes."""
    levels = set(map(grid_of, job.samplers))
    entries = drawn_on(levels.pop()) if len(levels) == 1 else {}
    return entries | ({"episodes": True} if any(map(is_watched, job.samplers)) else {})


def described(model: Any) -> dict[str, str]:
    """The hash of what a model of this process holds, where nothing describes it."""
    if _is_elsewhere(model) or isinstance(model, Sequence):
        return {}
    if is_sampler(model):  # whose arrays may be what it draws into
        return {}
    parameters = parameters_hash(model)
    return {} if parameters is None else {"parameters": parameters}


@cache  # to read them takes as long as a small model takes for an input
def _installed() -> Mapping[str, str]:
    versions = {}
    for name in ("rsbounds", "numpy", "scipy", "torch"):
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions


def _arithmetic(machines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What rows depend on of the machines."""
    settings = [machine["tf32"] for machine in machines if "tf32" in machine]
    if any(tf32 != settings[0] for tf32 in settings):
        raise ValueError(f"workers must have the same settings of TF32; got {settings}")
    return {"tf32": settings[0]} if settings else {}
