"""A run over a data set: row by row, into a result file that resumes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from rsbounds import results
from rsbounds._numerics.checks import count, share
from rsbounds._numerics.decimals import sparse_counts
from rsbounds._numerics.errors import ArgumentError
from rsbounds.answers import Answer
from rsbounds.certificate import ASSERTED_ENVELOPE
from rsbounds.certify._asserted import Asserted
from rsbounds.certify._job import Counts, Here, Job, Work, source_of
from rsbounds.certify._resumed import require_same_inputs, require_same_model
from rsbounds.certify._tally import Tally
from rsbounds.certify._too_few import warn_if_hopeless
from rsbounds.confidence import BOUNDS
from rsbounds.frameworks import labels_of
from rsbounds.loading import Data, check_labels
from rsbounds.loading.data import counted_from_one
from rsbounds.loading.parameters import parameters_hash
from rsbounds.loading.rows import CorruptInput
from rsbounds.procedure import Procedure
from rsbounds.results import MOST_INPUTS, Manifest, Results, Row, Writer, folded
from rsbounds.sampling import is_sampler

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
        share("shard", self.shard)

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


@dataclass(frozen=True)
class Settings:
    """What a run may do, and what its manifest says besides.

    Parameters
    ----------
    describe, engine, run : mapping
        What the manifest says of the model, of the engine, and of what rows do not
        depend on.
    commit : bool
        Write ``OUT.commitment.json`` before the first sample: what is to be run, and no
        other.
    accept_change : bool
        Go on with a file although the model, an engine or a version changed, and record
        it.
    skip_corrupt : bool
        Leave out inputs that can't be decoded, and record them.
    notify : callable, optional
        Called with a line of text: the base accuracies after the first ten inputs, a
        margin that was measured.

    Examples
    --------
    >>> from rsbounds.certify import Settings
    >>> Settings(commit=True).accept_change
    False
    """

    describe: Mapping[str, Any] = field(default_factory=dict)
    engine: Mapping[str, Any] = field(default_factory=dict)
    run: Mapping[str, Any] = field(default_factory=dict)
    commit: bool = False
    accept_change: bool = False
    skip_corrupt: bool = False
    notify: Callable[[str], object] | None = None

    def say(self, message: str) -> None:
        """Notify whoever wants to know."""
        if self.notify is not None:
            self.notify(message)


@dataclass(frozen=True)
class Run:
    """One run: :meth:`begun` makes it, :meth:`results` certifies its inputs.

    Parameters
    ----------
    job, work : Job, Work
        What is done to each input, and who does it.
    source : Data
        The inputs.
    settings : Settings
        What the run may do.
    manifest : Manifest
        What the file says of it.
    classes : int
        How many the model has: labels must be below.
    out : Path, optional
        The result file.
    """

    job: Job
    work: Work
    source: Data
    settings: Settings
    manifest: Manifest
    classes: int
    out: Path | None = None

    @classmethod
    def begun(
        cls,
        model: Any,
        data: Any,
        answer: Answer,
        procedure: Procedure,
        selection: Selection,
        settings: Settings,
        out: Path | None = None,
    ) -> Run:
        """The run of a model, which is asked about a few inputs now.

        That tells its classes, its machine's arithmetic, and whether it is the model
        that a file was begun with. Parameters as of :func:`certify_dataset`.
        """
        if out is not None:
            _require_counts(procedure)
        elif settings.commit:
            raise ArgumentError("commit", "needs out, the result file")
        settings = replace(
            settings,
            engine=folded("engine", settings.engine),
            run=folded("run", settings.run),
        )
        labels = None if _is_elsewhere(model) else labels_of(model)
        source = source_of(data, answer, labels)
        inputs = len(source)
        answer.check_inputs(inputs)
        selected = selection.of(inputs)
        if out is not None and len(selected) > MOST_INPUTS:
            raise ArgumentError(
                "max",
                f"must leave at most {MOST_INPUTS} inputs for a file; got "
                f"{len(selected)}",
            )
        job, work = _shared(model, answer, procedure, source, settings)
        describe = settings.describe
        if not describe and out is not None:
            describe = _described(model)
        named = {"labels": labels} if labels else {}
        planned = Manifest(
            model=folded("model", {**named, **describe}),
            data={
                **source.identity,
                "start": selection.start,
                "skip": selection.skip,
                "max": selection.max,
                "inputs": len(selected),
                "total": inputs,
            },
            answer=answer.describe(),
            method=answer.scheme.name,
            scope=job.scope,
            parameters=dict(answer.scheme.parameters),
            procedure=procedure,
            shard=selection.shard,
            versions=dict(_installed()),
            engine=dict(settings.engine),
        )
        # Before the first sample: a commitment that is written after it could have been
        # chosen by what was drawn.
        committed = {} if out is None else _committed(out, planned, settings)
        # All below is compared with the file that is gone on with: the probe in the
        # manifest tells another model even where weights have no hash.
        probe = dict(_probes(work, selected, settings.skip_corrupt))
        machines = work.machines()
        manifest = replace(
            planned,
            probe={index: sparse_counts(counts) for index, counts in probe.items()},
            engine={**settings.engine, **_arithmetic(machines)},
            run={**settings.run, "machines": machines, **committed},
        )
        classes = _classes(answer, probe)
        answer.check_classes(classes)
        if source.labels is not None:
            check_labels(source, classes, list(manifest.indices()))
        return cls(job, work, source, settings, manifest, classes, out)

    def results(self) -> Results:
        """Certify what isn't certified yet: all rows of the file, or of this call."""
        if self.out is None:
            corrupt: list[dict[str, Any]] = []
            return Results("", tuple(self._rows([], corrupt)), "", self.manifest)
        return self._into_file(self.out)

    # --- rows

    def _rows(
        self, before: Sequence[Row], corrupt: list[dict[str, Any]]
    ) -> Iterator[Row]:
        """The rows that are missing, as they are done; ``corrupt`` gets the others."""
        indices = list(self.manifest.indices())
        done = {row.idx for row in before}
        missing = [index for index in indices if index not in done]
        tally = Tally(
            len(indices),
            len(indices) - len(missing),
            before=before,
            classes=self.classes,
            classifies=self.job.answer.classifies,
            notify=self.settings.notify,
            expects_void=self.job.procedure.void_against,
        )
        answer = self.job.answer
        scheme = answer.scheme
        asserted = Asserted(scheme) if scheme.scope == ASSERTED_ENVELOPE else None
        targets = self.job.procedure.ends_at_target
        asked_why = False
        for outcome in tally.over(self.work.outcomes(missing, tally.wants_alone)):
            if outcome.row is None:
                corrupt.append({"input": outcome.index, "problem": outcome.problem})
                continue
            label = outcome.row.label
            if not label < self.classes:
                raise ValueError(
                    f"input {outcome.index}: the label must be below the model's "
                    f"number of classes, {self.classes}; got {label}"
                    f"{counted_from_one(label, self.classes)}"
                )
            tally.add(outcome.row, outcome.alone)
            row = outcome.row
            in_vain = not row.radius > 0 and (targets or row.count == row.n)
            if in_vain and not asked_why and not row.is_left_out:
                # perhaps no votes would do, as even those for one class alone didn't;
                # asked once, as n and alpha are those of all inputs
                asked_why = True
                x = self.source.input(outcome.index)
                warn_if_hopeless(answer, x, self.job.procedure, stacklevel=2)
            if asserted is not None and asserted.watches:
                x = self.source.input(outcome.index)
                asserted.add(outcome.index, outcome.row.sigma, x)
            yield outcome.row
        tally.end()

    def _into_file(self, out: Path) -> Results:
        def check(before: Sequence[Row]) -> None:
            # Inputs may never change: rows of two data sets would stand under one name.
            # A changed model may be accepted, and is then recorded.
            if not before:
                return
            require_same_inputs(out, before, self.source)
            if not self.settings.accept_change:
                require_same_model(out, before, self.source, self.job, self.work)

        with Writer(
            out,
            self.manifest,
            further=self.job.columns,
            accept_change=self.settings.accept_change,
            check=check,
        ) as writer:
            # under the writer's lock from here on: no other process adds rows
            kept = list(writer.rows)
            corrupt: list[dict[str, Any]] = []
            for row in self._rows(writer.rows, corrupt):
                writer.append(row)
                kept.append(row)
            # at the end, as one entry: an interrupted run meets these inputs again
            if corrupt:
                corrupt.sort(key=lambda entry: entry["input"])
                writer.record({"corrupt": corrupt})
        kept.sort(key=attrgetter("idx"))
        return Results(str(out), tuple(kept), "", self.manifest)


# --- before the first row


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


def _shared(
    model: Any,
    answer: Answer,
    procedure: Procedure,
    source: Data,
    settings: Settings,
) -> tuple[Job, Work]:
    """The job, and who does it: this process, or workers elsewhere."""
    if not _is_elsewhere(model):
        job = Job.of(model, answer, procedure)
        return job, Here(job, source, settings.skip_corrupt)
    job = Job.without_model(answer, procedure)  # its samplers are with the workers
    expected = job.facts(source)
    return job, model.begin(procedure, expected, settings.skip_corrupt)


def _committed(out: Path, manifest: Manifest, settings: Settings) -> dict[str, str]:
    """The commitment's entry of the manifest; written now, if that is asked for."""
    committed = results.commit(
        out, manifest, new=settings.commit, accept=settings.accept_change
    )
    if committed:
        place = results.commitment_path(out).name
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


def _described(model: Any) -> dict[str, str]:
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
