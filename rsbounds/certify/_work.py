"""Who certifies the inputs: this process, or workers elsewhere that hold one of these each."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from typing import Any, Protocol, runtime_checkable

from rsbounds.certify._machine import machine
from rsbounds.certify._tasks import Counts, Found, Task, task
from rsbounds.loading import Data, Item, as_data, guarded, prefetched
from rsbounds.results import Row

#: Makes a worker's model, data and scheme where the worker is.
Build = Callable[[], tuple[Any, Any, Any]]


@dataclass(frozen=True)
class Outcome:
    """What came of one input.

    Attributes
    ----------
    index : int
        Which one.
    row : Row or None
        Its row; None if it can't be decoded.
    problem : str or None
        Why there is none.
    alone : sequence of int or None
        Counts of one sample with hardly any noise, where they were asked for.
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
        """One for each index, in any order; ``alone()``: whether the next is to be told."""
        ...

    def machines(self) -> Sequence[Mapping[str, Any]]:
        """Where it is done."""
        ...


@runtime_checkable
class Crew(Protocol):
    """Workers elsewhere, in place of a model."""

    def begin(
        self, known: Mapping[str, Any], expected: Mapping[str, Any], skip_corrupt: bool
    ) -> Work:
        """The work of one call, under its numbers, made where the workers are.

        A worker that doesn't find ``expected`` of method and data refuses.
        """
        ...


class Here:
    """Work done in this process, the next inputs read ahead."""

    def __init__(self, job: Task, source: Data, skip_corrupt: bool) -> None:
        self._job, self._source, self._skip_corrupt = job, source, skip_corrupt

    @classmethod
    def built(
        cls, build: Build, known: Mapping[str, Any], expected: Mapping[str, Any], skip_corrupt: bool
    ) -> Here:
        """A worker's own."""
        model, data, scheme = build()
        source = as_data(data)
        job = task(model, scheme, **known)
        for name, found in facts(job, source).items():
            if found != expected[name]:
                raise ValueError(
                    f"a worker on {machine()['host']} must have the same {name} as the process "
                    f"that writes; got {found} in place of {expected[name]}"
                )
        return cls(job, source, skip_corrupt)

    def select(self, index: int) -> Counts:
        drawn = partial(self._job.select, self._source.input(index), index)
        counts: Counts = guarded(f"input {index}", drawn)
        return counts

    def outcomes(self, indices: Iterable[int], alone: Callable[[], bool]) -> Iterator[Outcome]:
        items = prefetched(self._source, indices, skip_corrupt=self._skip_corrupt)
        for group in grouped(items, self._job.room):
            if group[0].x is None:
                yield Outcome(group[0].index, None, group[0].problem)
                continue
            for item, (found, further), seconds in self._certified(group):
                digest = (item.digest or "-")[:16]
                row = Row.of(item.index, item.label, found, seconds, input=digest, extra=further)
                told = None
                if found.n and alone():
                    told = guarded(f"input {item.index}", partial(self._job.alone, item.x))
                yield Outcome(item.index, row, alone=told)

    def _certified(self, group: Sequence[Item]) -> Iterator[tuple[Item, Found, float]]:
        """Each input with what was found and its share of the time.

        Several in one forward pass; should that fail, one after the other, which also says at
        which input.
        """
        start = time.perf_counter()
        if len(group) > 1:
            found: list[Found] = []
            with suppress(Exception):
                found = self._job.certify([item.x for item in group], [i.index for i in group])
            if found:
                seconds = (time.perf_counter() - start) / len(group)
                yield from zip(group, found, repeat(seconds))
                return
        for item in group:
            start = time.perf_counter()
            certified = partial(self._job.certify, [item.x], [item.index])
            (one,) = guarded(f"input {item.index}", certified)
            yield item, one, time.perf_counter() - start

    def several(self, indices: Sequence[int], alone: bool) -> list[Outcome]:
        """What comes of inputs up to the first that fails; if that is the first, its error."""
        found: list[Outcome] = []
        try:
            for outcome in self.outcomes(indices, lambda: alone):
                found.append(outcome)
        except ValueError:
            if not found:
                raise
        return found

    def machines(self) -> Sequence[Mapping[str, Any]]:
        return [machine()]


def grouped(items: Iterable[Item], room: Callable[[Any], int]) -> Iterator[Sequence[Item]]:
    """Inputs of one shape that follow each other, as many together as there is room for.

    Fewer than that come one by one: forward passes then have two shapes, and no more.
    """
    group: list[Item] = []
    for item in items:
        if group and (item.x is None or group[0].x is None or group[0].x.shape != item.x.shape):
            yield from ([one] for one in group)
            group = []
        group.append(item)
        if item.x is None or len(group) >= room(item.x):
            yield group
            group = []
    yield from ([one] for one in group)


def facts(job: Task, source: Data) -> dict[str, str]:
    """What worker and writer must agree on."""
    return {
        "method": json.dumps([job.method, dict(job.parameters)], sort_keys=True),
        "data": json.dumps(dict(source.identity), sort_keys=True),
    }
