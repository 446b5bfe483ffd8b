"""What is done to each input of a data set, and who does it.

A job is an answer about a model, by the numbers of a procedure. This process carries it
out, or workers elsewhere that hold one of these each.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from rsbounds._numerics.checks import on_host
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.threads import processor
from rsbounds.answers import (
    Answer,
    Answered,
    Recorded,
    asked,
    class_counts,
    scope_of,
)
from rsbounds.certify._stopping import Stopping
from rsbounds.loading import Data, guarded, open_data, prefetched
from rsbounds.loading.data import is_array
from rsbounds.procedure import Procedure
from rsbounds.results import Row
from rsbounds.sampling import Draws, Phase, Sampler, stream
from rsbounds.sampling.margins import with_margin
from rsbounds.sampling.system_bits import require_system_noise
from rsbounds.schemes import Scheme

Counts = Sequence[int]

#: Makes a worker's model, data and question where the worker is.
Build = Callable[[], tuple[Any, Any, Any]]


@dataclass(frozen=True)
class Job:
    """Certifies inputs: draws what the answer asks for, and answers.

    Parameters
    ----------
    answer : Answer
        What is asked.
    samplers : sequence of Sampler
        Those of the answer's levels, whose votes count by the procedure's margin; none
        where nothing is drawn.
    stopping : Stopping
        What is drawn, by the numbers of its procedure.
    """

    answer: Answer
    samplers: Sequence[Sampler]
    stopping: Stopping

    @classmethod
    def of(cls, model: Any, question: Any, procedure: Procedure) -> Job:
        """The job of a model; ``question`` is an answer, a scheme or a rule."""
        answer = asked(question)
        stopping = Stopping.of(procedure)
        stopping.check(answer)
        return cls(answer, samplers_of(answer, model, procedure), stopping)

    @classmethod
    def without_model(cls, answer: Answer, procedure: Procedure) -> Job:
        """The job of samples that were drawn elsewhere."""
        stopping = Stopping.of(procedure)
        stopping.check(answer)
        return cls(answer, (), stopping)

    @cached_property
    def procedure(self) -> Procedure:
        """The numbers that certify an input."""
        return self.stopping.procedure

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of its rows beyond those of every file."""
        return (*self.answer.columns, *self.stopping.columns)

    @cached_property
    def scope(self) -> str:
        """For which classifier its certificates hold."""
        return scope_of(self.answer, self.procedure.bound)

    @cached_property
    def _repeatable(self) -> Procedure:
        """The procedure, with noise that follows from the seed."""
        if self.procedure.repeats:
            return self.procedure
        return replace(self.procedure, noise_source="seed")

    def draws(self, x: Any, index: int, procedure: Procedure | None = None) -> Draws:
        """The samples of an input that may be asked for."""
        return Draws(
            self.samplers,
            x,
            self.answer.levels(x),
            procedure or self.procedure,
            index,
        )

    def certify(self, x: Any, index: int, label: int) -> Answered:
        """The certificate of an input, and the further columns of its row."""
        evidence = self.stopping.draw(self.answer, self.draws(x, index), label)
        return self.answered(evidence, index, label)

    def again(self, row: Recorded) -> Answered:
        """The certificate of the samples that a row holds."""
        evidence = self.stopping.stored(self.answer, row)
        return self.answered(evidence, row.idx, row.label)

    def answered(self, evidence: Any, index: int, label: int) -> Answered:
        """What the evidence of an input supports, in the scope that rows state."""
        answered = self.stopping.certify(
            self.answer, evidence, label=label, index=index
        )
        if answered.certificate.scope == self.scope:
            return answered
        # another package's word
        certificate = replace(answered.certificate, scope=self.scope)
        return answered._replace(certificate=certificate)

    def fingerprint(self, x: Any, index: int) -> Counts:
        """Numbers of the selection samples, which tell one model from another.

        They follow from the seed, also where the samples of rows don't: a number that
        can't be drawn again tells nothing.
        """
        draws = self.draws(x, index, self._repeatable)
        return self.answer.fingerprint(draws, self._repeatable)

    def recorded_fingerprint(self, row: Row) -> Counts | None:
        """The fingerprint as far as a row holds it; None where it doesn't."""
        if not self.procedure.repeats:
            return None
        return self.answer.recorded_fingerprint(row)

    @property
    def has_less_noise(self) -> bool:
        """Whether samplers draw noise of any level, also hardly any."""
        return self.answer.scheme.drawn is None

    def alone(self, x: Any) -> Counts:
        """Class counts of one sample with hardly any noise."""
        level = self.answer.levels(x)[0] / 64
        sampled = self.samplers[0](x, level, 1, stream(0, 0, Phase.SEARCH))
        return [int(count) for count in class_counts(sampled)]

    def facts(self, source: Data) -> dict[str, str]:
        """What worker and writer must agree on."""
        scheme = self.answer.scheme
        return {
            "method": json.dumps(
                [scheme.name, dict(scheme.parameters)], sort_keys=True
            ),
            "answer": json.dumps(self.answer.describe(), sort_keys=True),
            "data": json.dumps(dict(source.identity), sort_keys=True),
        }


def samplers_of(answer: Answer, model: Any, procedure: Procedure) -> Sequence[Sampler]:
    """Those of an answer's levels, whose votes count by the procedure's margin.

    ValueError where they can't, or can't draw the noise that the procedure asks for.
    """
    samplers = answer.samplers(model)
    if procedure.margin is not None:
        samplers = [with_margin(each, procedure.margin) for each in samplers]
    if not procedure.repeats:
        for sampler in samplers:
            require_system_noise(sampler)
    return samplers


@dataclass(frozen=True)
class Outcome:
    """What came of the input at ``index``: its row, or the problem why it has none.

    ``alone`` has the counts of one sample with hardly any noise, where they were asked
    for.
    """

    index: int
    row: Row | None
    problem: str | None = None
    alone: Counts | None = None


class Work(Protocol):
    """Certifies inputs by their index.

    ``fingerprint`` draws what tells one model from another; ``outcomes`` gives one for
    each index, in any order, ``alone()`` being whether the next has counts without
    noise; ``machines`` are where it is done.
    """

    def fingerprint(self, index: int) -> Counts: ...
    def outcomes(
        self, indices: Iterable[int], alone: Callable[[], bool]
    ) -> Iterator[Outcome]: ...
    def machines(self) -> Sequence[Mapping[str, Any]]: ...


class Here:
    """Work done in this process, the next inputs read ahead."""

    def __init__(self, job: Job, source: Data, skip_corrupt: bool) -> None:
        self._job = job
        self._source = source
        self._skip_corrupt = skip_corrupt

    @classmethod
    def built(
        cls,
        build: Build,
        procedure: Procedure,
        expected: Mapping[str, Any],
        skip_corrupt: bool,
    ) -> Here:
        """A worker's work; ValueError unless it is that of the process that writes."""
        model, data, question = build()
        job = Job.of(model, question, procedure)
        source = source_of(data, job.answer)
        for name, value in job.facts(source).items():
            if value != expected[name]:
                raise ValueError(
                    f"a worker on {platform.node()} must have the same {name} as the "
                    f"process that writes; got {value} in place of {expected[name]}"
                )
        return cls(job, source, skip_corrupt)

    def fingerprint(self, index: int) -> Counts:
        x = self._source.input(index)
        return guarded(f"input {index}", self._job.fingerprint, x, index)

    def outcomes(
        self, indices: Iterable[int], alone: Callable[[], bool]
    ) -> Iterator[Outcome]:
        items = prefetched(self._source, indices, skip_corrupt=self._skip_corrupt)
        for item in items:
            if item.x is None:
                yield Outcome(item.index, None, item.problem)
                continue
            name = f"input {item.index}"
            begun = time.perf_counter()
            certificate, columns = guarded(
                name, self._job.certify, item.x, item.index, item.label
            )
            row = Row.of(
                item.index,
                item.label,
                certificate,
                time.perf_counter() - begun,
                input=(item.digest or "-")[:16],
                extra=columns,
            )
            # a row without samples tells no accuracy under noise to compare with
            counts = None
            if certificate.n and alone() and self._job.has_less_noise:
                counts = guarded(name, self._job.alone, item.x)
            yield Outcome(item.index, row, alone=counts)

    def several(self, indices: Sequence[int], alone: bool) -> list[Outcome]:
        """Return what comes of inputs up to the first that fails.

        If that is the first of all, raise its error.
        """
        outcomes: list[Outcome] = []
        try:
            for outcome in self.outcomes(indices, lambda: alone):
                outcomes.append(outcome)
        except ValueError:
            # what was done before is kept: the writer asks for the rest again, and
            # gets this error then
            if not outcomes:
                raise
        return outcomes

    def machines(self) -> Sequence[Mapping[str, Any]]:
        return [machine()]


def source_of(data: Any, answer: Answer, labels: Sequence[Any] | None = None) -> Data:
    """The data as the engine reads them; an answer without classes needs no labels."""
    if not answer.classifies and hasattr(data, "shape"):
        data = data, np.zeros(len(data), dtype=np.int64)
    elif not answer.classifies:
        _require_no_targets(data, answer)
    whole = answer.scheme.of_whole_numbers
    return open_data(data, labels=labels, whole=whole)


def require_numbers(source: Data, scheme: Scheme) -> None:
    """ArgumentError for noise that would move the codes of categories a little.

    Codes are numbers, so that a radius in them could be stated, but a change of a
    category is no small change of its code.
    """
    columns = max(source.categories, default=-1) + 1
    noise = scheme.drawn
    moved = range(columns) if noise is None else noise.added_to(columns)
    names = [source.categories[i] for i in moved if i in source.categories]
    if names:
        raise ArgumentError(
            "scheme",
            f"must not add noise to categories, as {', '.join(names):.200} of "
            f"{source.name} are: give --method blocks --blocks auto:sigma=S,keep=P (in "
            "Python rsbounds.loading.read_table, and schemes.blocks)",
        )


def _require_no_targets(data: Any, answer: Answer) -> None:
    """ValueError for arrays (x, y) whose y are a regression's targets, not labels.

    Targets such as 151.0 and 75.0 would pass for labels, until one is not whole.
    """
    if not (isinstance(data, tuple) and len(data) == 2 and is_array(data[1])):
        return
    y = np.asarray(on_host("y", data[1]))
    is_label = y.ndim == 1 and y.dtype.kind in "iubU"
    if is_label and not (y.dtype.kind == "i" and (y < 0).any()):
        return
    raise ArgumentError(
        "data",
        f"must hold no targets for the answer {answer.name!r}: pass the inputs alone; "
        f"got y of {y.dtype} and shape {y.shape}",
    )


def machine() -> dict[str, Any]:
    """Describe this machine, as a manifest records it.

    Where PyTorch uses a GPU, with its arithmetic.
    """
    entries = {"host": platform.node(), "cpu": processor(), "cores": os.cpu_count()}
    torch = sys.modules.get("torch")  # it isn't loaded for this
    if torch is None:
        return entries
    entries["threads"] = torch.get_num_threads()
    if not (torch.cuda.is_available() and torch.cuda.is_initialized()):
        return entries
    cudnn = torch.backends.cudnn
    return entries | {
        "gpu": torch.cuda.get_device_name(),
        "cuda": torch.version.cuda,
        "cudnn": {
            "version": cudnn.version(),
            "benchmark": cudnn.benchmark,
            "deterministic": cudnn.deterministic,
        },
        # rows depend on it
        "tf32": {
            "matmul": torch.backends.cuda.matmul.allow_tf32,
            "cudnn": cudnn.allow_tf32,
        },
    }
