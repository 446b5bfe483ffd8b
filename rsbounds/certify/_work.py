"""Who certifies the inputs: this process, or workers elsewhere that hold one of these each."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from rsbounds._numerics.threads import processor
from rsbounds.certify._tasks import Certified, Counts, Task, task
from rsbounds.loading import Data, as_data, guarded, prefetched
from rsbounds.procedure import Procedure
from rsbounds.results import Row

#: Makes a worker's model, data and scheme where the worker is.
Build = Callable[[], tuple[Any, Any, Any]]


@dataclass(frozen=True)
class Outcome:
    """What came of the input at ``index``: its row, or the problem because of which it has none.

    ``alone`` has the counts of one sample with hardly any noise, where they were asked for.
    """

    index: int
    row: Row | None
    problem: str | None = None
    alone: Counts | None = None


class Work(Protocol):
    """Certifies inputs by their index."""

    def select(self, index: int) -> Counts:
        """The counts that choose the class: they tell one model from another."""
        ...

    def outcomes(self, indices: Iterable[int], alone: Callable[[], bool]) -> Iterator[Outcome]:
        """One for each index, in any order; ``alone()``: whether the next has such counts."""
        ...

    def machines(self) -> Sequence[Mapping[str, Any]]:
        """Where it is done."""
        ...


class Here:
    """Work done in this process, the next inputs read ahead."""

    def __init__(self, job: Task, source: Data, skip_corrupt: bool) -> None:
        self._job, self._source, self._skip_corrupt = job, source, skip_corrupt

    @classmethod
    def built(
        cls, build: Build, procedure: Procedure, expected: Mapping[str, Any], skip_corrupt: bool
    ) -> Here:
        """A worker's own."""
        model, data, scheme = build()
        source = as_data(data)
        job = task(model, scheme, procedure)
        for name, value in facts(job, source).items():
            if value != expected[name]:
                raise ValueError(
                    f"a worker on {platform.node()} must have the same {name} as the process "
                    f"that writes; got {value} in place of {expected[name]}"
                )
        return cls(job, source, skip_corrupt)

    def select(self, index: int) -> Counts:
        drawn = partial(self._job.select, self._source.input(index), index)
        counts: Counts = guarded(f"input {index}", drawn)
        return counts

    def outcomes(self, indices: Iterable[int], alone: Callable[[], bool]) -> Iterator[Outcome]:
        for item in prefetched(self._source, indices, skip_corrupt=self._skip_corrupt):
            if item.x is None:
                yield Outcome(item.index, None, item.problem)
                continue
            name, start = f"input {item.index}", time.perf_counter()
            given = item.x, item.index, item.label
            certified: Certified = guarded(name, partial(self._job.certify, *given))
            seconds, (certificate, extra) = time.perf_counter() - start, certified
            digest = (item.digest or "-")[:16]
            row = Row.of(item.index, item.label, certificate, seconds, input=digest, extra=extra)
            counts = None
            if certificate.n and alone():
                counts = guarded(name, partial(self._job.alone, item.x))
            yield Outcome(item.index, row, alone=counts)

    def several(self, indices: Sequence[int], alone: bool) -> list[Outcome]:
        """What comes of inputs up to the first that fails; if that is the first, its error."""
        outcomes: list[Outcome] = []
        try:
            for outcome in self.outcomes(indices, lambda: alone):
                outcomes.append(outcome)
        except ValueError:
            if not outcomes:
                raise
        return outcomes

    def machines(self) -> Sequence[Mapping[str, Any]]:
        return [machine()]


def facts(job: Task, source: Data) -> dict[str, str]:
    """What worker and writer must agree on."""
    return {
        "method": json.dumps([job.method, dict(job.parameters)], sort_keys=True),
        "data": json.dumps(dict(source.identity), sort_keys=True),
    }


def machine() -> dict[str, Any]:
    """This machine, as a manifest records it: where PyTorch uses a GPU, with its arithmetic."""
    entries = {"host": platform.node(), "cpu": processor(), "cores": os.cpu_count()}
    torch = sys.modules.get("torch")  # it isn't loaded for this
    if torch is None:
        return entries
    entries["threads"] = torch.get_num_threads()
    if not (torch.cuda.is_available() and torch.cuda.is_initialized()):
        return entries
    cudnn, tf32 = torch.backends.cudnn, torch.backends.cuda.matmul.allow_tf32
    settings = {name: getattr(cudnn, name) for name in ("benchmark", "deterministic")}
    return entries | {
        "gpu": torch.cuda.get_device_name(),
        "cuda": torch.version.cuda,
        "cudnn": {"version": cudnn.version(), **settings},
        "tf32": {"matmul": tf32, "cudnn": cudnn.allow_tf32},  # rows depend on it
    }
