"""Who does the work of a job: this process, or workers elsewhere."""

from __future__ import annotations

import math
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from rsbounds._numerics.checks import on_host
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.threads import one_behind, processor
from rsbounds.answers import Answer, asked
from rsbounds.certify._job import Counts, Job
from rsbounds.certify._stopping import job_of
from rsbounds.loading import Data, Preprocess, open_data
from rsbounds.loading.data import is_array
from rsbounds.loading.internal import Item, guarded, prefetched
from rsbounds.procedure import Procedure
from rsbounds.results import Row
from rsbounds.schemes import Scheme

#: Makes a worker's model, data and question where the worker is.
Build = Callable[[], tuple[Any, Any, Any]]


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

    ``fingerprint`` draws what tells one model from another; ``carried_out`` gives an
    outcome for each index, in any order, those together that are there at one time,
    ``alone()`` being whether the next has counts without noise; ``machines`` are where
    it is done.
    """

    def fingerprint(self, index: int) -> Counts: ...
    def carried_out(
        self, indices: Iterable[int], alone: Callable[[], bool]
    ) -> Iterator[Sequence[Outcome]]: ...
    def machines(self) -> Sequence[Mapping[str, Any]]: ...


def _require_others(answer: Answer, name: str, digest: str) -> None:
    """ValueError for an input that the answer was chosen by, or that may be one."""
    if answer.excluded and digest in (*answer.excluded, "-"):
        raise ValueError(
            f"{name} is one that the answer was chosen by, or has no hash to tell: "
            "certify others (data without it, or --start, --skip and --max)"
        )


class Here:
    """Work done in this process, the next inputs read ahead."""

    def __init__(self, job: Job, source: Data, skip_corrupt: bool) -> None:
        self._job = job
        self._source = source
        self._skip_corrupt = skip_corrupt
        self._ended = -math.inf  # when the last input's samples were there

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
        job = job_of(asked(question), procedure)
        job.check()
        job = job.with_model(model)
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

    def carried_out(
        self, indices: Iterable[int], alone: Callable[[], bool]
    ) -> Iterator[Sequence[Outcome]]:
        items = prefetched(self._source, indices, skip_corrupt=self._skip_corrupt)
        started = (self._started(item, alone) for item in items)
        if self._job.queues:
            # a device has the next input before it is asked for this one's counts
            outcomes = one_behind(started)
        else:
            outcomes = (outcome() for outcome in started)
        for outcome in outcomes:
            yield [outcome]

    def _started(self, item: Item, alone: Callable[[], bool]) -> Callable[[], Outcome]:
        """An input that is begun, as the function of what comes of it."""
        if item.x is None:
            return partial(Outcome, item.index, None, item.problem)
        name = f"input {item.index}"
        digest = (item.digest or "-")[:16]
        _require_others(self._job.answer, name, digest)
        begun = time.perf_counter()
        draws = guarded(name, self._job.begun, item.x, item.index)

        def outcome() -> Outcome:
            certificate, columns = guarded(name, self._job.answered, draws, item.label)
            now = time.perf_counter()
            # of two inputs under way at once the time until the first is that one's
            taken = now - max(begun, self._ended)
            self._ended = now
            row = Row.of(
                item.index,
                item.label,
                certificate,
                taken,
                input=digest,
                extra=columns,
            )
            # a row without samples tells no accuracy under noise to compare with
            counts = None
            if certificate.n and alone() and self._job.has_less_noise:
                counts = guarded(name, self._job.alone, item.x)
            return Outcome(item.index, row, alone=counts)

        return outcome

    def several(self, indices: Sequence[int], alone: bool) -> list[Outcome]:
        """Return what comes of inputs up to the first that fails.

        If that is the first of all, raise its error.
        """
        outcomes: list[Outcome] = []
        try:
            for done in self.carried_out(indices, lambda: alone):
                outcomes += done
        except ValueError:
            # what was done before is kept: the writer asks for the rest again, and
            # gets this error then
            if not outcomes:
                raise
        return outcomes

    def machines(self) -> Sequence[Mapping[str, Any]]:
        return [machine()]


def source_of(
    data: Any,
    answer: Answer,
    labels: Sequence[Any] | None = None,
    preprocess: Preprocess | None = None,
) -> Data:
    """The data as the engine reads them; an answer without classes needs no labels."""
    if not answer.classifies and hasattr(data, "shape"):
        data = data, np.zeros(len(data), dtype=np.int64)
    elif not answer.classifies:
        _require_no_targets(data, answer)
    whole = answer.scheme.of_whole_numbers
    return open_data(data, preprocess=preprocess, labels=labels, whole=whole)


def require_numbers(source: Data, scheme: Scheme) -> None:
    """ArgumentError for noise that would move the codes of categories a little.

    Codes are numbers, so that a radius in them could be stated, but a change of a
    category is no small change of its code.
    """
    columns = max(source.categories, default=-1) + 1
    noise = scheme.drawn
    _require_no_reserved(source, 0 if noise is None else noise.alphabet)
    moved = range(columns) if noise is None else noise.added_to(columns)
    names = [source.categories[i] for i in moved if i in source.categories]
    if names:
        raise ArgumentError(
            "scheme",
            f"must not add noise to categories, as {', '.join(names):.200} of "
            f"{source.name} are: give --method blocks --blocks auto:sigma=S,keep=P (in "
            "Python rsbounds.loading.read_table, and schemes.blocks)",
        )


def _require_no_reserved(source: Data, alphabet: int) -> None:
    """ArgumentError for noise whose alphabet has tokens that no text has."""
    for number, token in source.reserved.items():
        if number < alphabet:
            raise ArgumentError(
                "scheme",
                f"must not show tokens that no text has, as {token!r:.40} (number "
                f"{number}) of its {alphabet} values: give the noise mask or deletion",
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
