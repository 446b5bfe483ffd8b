"""A run over a data set: row by row, into a result file that resumes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rsbounds.certificate import ASSERTED_ENVELOPE
from rsbounds.certify._asserted import Asserted
from rsbounds.certify._job import Job
from rsbounds.certify._resumed import require_same_inputs, require_same_model
from rsbounds.certify._tally import Tally
from rsbounds.certify._too_few import warn_if_hopeless
from rsbounds.certify._work import Outcome, Work
from rsbounds.loading import Data
from rsbounds.loading.data import counted_from_one
from rsbounds.results import Manifest, Results, Row
from rsbounds.results.internal import Writer, load


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
    """A run that was begun: :meth:`results` certifies its inputs.

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
    progress : bool
        Whether the progress is written to standard error.
    """

    job: Job
    work: Work
    source: Data
    settings: Settings
    manifest: Manifest
    classes: int
    out: Path | None = None
    progress: bool = True

    def results(self) -> Results:
        """Certify what isn't certified yet: all rows of the file, or of this call."""
        if self.out is None:
            corrupt: list[dict[str, Any]] = []
            rows = tuple(row for row, _ in self._rows([], corrupt))
            return Results("", rows, "", self.manifest)
        return self._into_file(self.out)

    # --- rows

    def _rows(
        self, before: Sequence[Row], corrupt: list[dict[str, Any]]
    ) -> Iterator[tuple[Row, bool]]:
        """The rows that are missing, as they are done; ``corrupt`` gets the others.

        With each comes whether the next row is there already.
        """
        total = len(self.manifest.indices())
        missing = self.manifest.places(Results("", before).counted.idx)[0]
        tally = Tally(
            total,
            total - len(missing),
            before=before,
            classes=self.classes,
            classifies=self.job.answer.classifies,
            notify=self.settings.notify,
            expects_void=self.job.procedure.void_against,
            shown=self.progress,
        )
        answer = self.job.answer
        scheme = answer.scheme
        asserted = Asserted(scheme) if scheme.scope == ASSERTED_ENVELOPE else None
        targets = self.job.procedure.ends_at_target
        asked_why = False
        together = self.work.carried_out(missing, tally.wants_alone)
        for outcome, more in tally.over(with_more(together)):
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
                warn_if_hopeless(answer, x, self.manifest.procedure, stacklevel=2)
            if asserted is not None and asserted.watches:
                x = self.source.input(outcome.index)
                asserted.add(outcome.index, outcome.row.sigma, x)
            yield outcome.row, more
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

        place = out.absolute()  # a model's code may change the folder
        with Writer(
            out,
            self.manifest,
            further=self.job.columns,
            accept_change=self.settings.accept_change,
            check=check,
        ) as writer:
            # under the writer's lock from here on: no other process adds rows
            corrupt: list[dict[str, Any]] = []
            for row, more in self._rows(writer.rows, corrupt):
                writer.append(row, more=more)
            # at the end, as one entry: an interrupted run meets these inputs again
            if corrupt:
                corrupt.sort(key=lambda entry: entry["input"])
                writer.record({"corrupt": corrupt})
        # a run holds no rows: whoever asks for them has those of the file
        return replace(load(place), name=str(out), note="", manifest=self.manifest)


def with_more(
    together: Iterable[Sequence[Outcome]],
) -> Iterator[tuple[Outcome, bool]]:
    """Each outcome, and whether a row follows it that is there already.

    Those without a row come first.
    """
    for outcomes in together:
        ordered = sorted(outcomes, key=lambda outcome: outcome.row is not None)
        for left, outcome in zip(reversed(range(len(ordered))), ordered, strict=True):
            yield outcome, left > 0
