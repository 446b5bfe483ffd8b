"""Deal inputs to workers that stand for a model, and repeat those of a lost worker."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from queue import SimpleQueue
from typing import Any, NamedTuple, Protocol, TypeVar

from rsbounds._numerics.errors import ArgumentError
from rsbounds.certify.internal import Build, Counts, Here, Outcome, Work
from rsbounds.procedure import Procedure

AHEAD = 2  # calls that a worker has at most: one to do, one to go on with at once
TRIES = 5  # times that a call may lose its worker
HANDFUL = 64  # inputs of one call at most
SECONDS = 0.5  # that a call of several inputs is to take


Ticket = TypeVar("Ticket")


class LostWorker(Exception):
    """A worker ended before its answer."""


class Executor(Protocol):
    """Workers that can be called, ``count`` of them; a lost one is replaced.

    The new worker has the number of the lost one.

    ``call`` starts a method of :class:`rsbounds.certify.internal.Here` and gives a
    ticket, ``finished`` waits until a call has ended and gives those that have, each
    once, in a time that does not grow with the calls that run; ``result`` is what one
    returned, or its ValueError, or :class:`LostWorker`; ``close`` ends all workers,
    whatever they are doing.
    """

    count: int

    def call(self, worker: int, name: str, *args: Any) -> Hashable: ...
    def finished(self) -> Iterable[Any]: ...
    def result(self, ticket: Any) -> Any: ...
    def close(self) -> None: ...


def those_in(queue: SimpleQueue[Ticket]) -> Iterator[Ticket]:
    """Wait until there is one, and give those that are there."""
    yield queue.get()
    for _ in range(queue.qsize()):
        yield queue.get()


class _Call(NamedTuple):
    worker: int
    name: str
    args: tuple[Any, ...]


class Dealt:
    """The :class:`rsbounds.certify.internal.Work` of an executor's workers.

    A worker takes part as soon as it answers for the first time. When no input is left,
    those who are idle repeat what others still have: nobody waits for a straggler or a
    lost machine. What an input costs here does not grow with the number of workers.
    """

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._running: dict[Hashable, _Call] = {}
        self._machines: dict[int, Sequence[Mapping[str, Any]]] = {}
        self._load: Counter[int] = Counter()  # calls of each worker
        # workers that take more, by their load; dicts are sets in order
        self._open: Sequence[dict[int, None]] = [{} for _ in range(AHEAD)]
        self._lost: Counter[Any] = Counter()
        for worker in range(executor.count):
            self._start(worker, "machines")
        while not self._machines:
            list(self._ended())

    def machines(self) -> Sequence[Mapping[str, Any]]:
        distinct: list[Mapping[str, Any]] = []
        for machines in self._machines.values():
            distinct += [machine for machine in machines if machine not in distinct]
        return distinct

    def fingerprint(self, index: int) -> Counts:
        self._start(min(self._machines), "fingerprint", index)
        while True:
            for call, value in self._ended():
                if call.name == "fingerprint":
                    counts: Counts = value
                    return counts

    def carried_out(
        self, indices: Iterable[int], alone: Callable[[], bool]
    ) -> Iterator[Sequence[Outcome]]:
        inputs = _Missing(indices)
        while inputs.missing:
            self._deal(inputs, alone)
            arrived: list[Outcome] = []
            try:
                for call, outcomes in self._ended():
                    if call.name == "several":
                        arrived += inputs.done(call.args[0], outcomes)
            except ValueError:
                yield arrived  # what came before a call that failed is kept
                raise
            yield arrived

    def _deal(self, inputs: _Missing, alone: Callable[[], bool]) -> None:
        """Give the free workers the next inputs.

        When none is left, a worker without any gets a missing input that nobody has
        repeated yet.
        """
        worker = self._free()
        while worker is not None:
            by_itself = alone()
            if inputs.left:
                # at most half of everyone's share, so that all end at about one time
                share = len(inputs.left) // (2 * self._executor.count)
                handed = inputs.following(1 if by_itself else share)
            else:
                handed = () if self._load[worker] else inputs.again()
                if not handed:
                    return
            self._start(worker, "several", handed, by_itself)
            worker = self._free()

    def _start(self, worker: int, name: str, *args: Any) -> None:
        ticket = self._executor.call(worker, name, *args)
        self._running[ticket] = _Call(worker, name, args)
        self._now_has(worker, self._load[worker] + 1)

    def _now_has(self, worker: int, load: int) -> None:
        """A worker has so many calls; it takes part once it has answered."""
        before = self._load[worker]
        self._load[worker] = load
        if before < AHEAD:
            self._open[before].pop(worker, None)
        if load < AHEAD and worker in self._machines:
            self._open[load][worker] = None

    def _free(self) -> int | None:
        """The worker with the least to do, unless that is enough."""
        return next((w for workers in self._open for w in workers), None)

    def _ended(self) -> Iterator[tuple[_Call, Any]]:
        """Wait for calls to end and return their results.

        The calls of lost workers are begun again.
        """
        for ticket in self._executor.finished():
            call = self._running.pop(ticket)
            self._now_has(call.worker, self._load[call.worker] - 1)
            try:
                value = self._executor.result(ticket)
            except LostWorker as error:
                self._begin_again(call, error)
                continue
            if call.name == "machines":
                self._machines[call.worker] = value
                self._now_has(call.worker, self._load[call.worker])
            yield call, value

    def _begin_again(self, call: _Call, error: LostWorker) -> None:
        """A lost worker's call; ValueError where it has lost too many."""
        indices: Any = call.args[0] if call.args else None
        if call.name == "several" and len(indices) > 1:
            # one after the other, to learn which of them ends workers
            for index in indices:
                self._start(call.worker, call.name, (index,), call.args[1])
            return
        self._lost[call.name, call.args] += 1
        if self._lost[call.name, call.args] >= TRIES:
            if indices is None:
                what = "making the model"
            else:
                what = f"input {indices[0] if isinstance(indices, tuple) else indices}"
            raise ValueError(
                f"{what} ended its worker {TRIES} times ({error}): out of memory?"
            ) from None
        self._start(call.worker, call.name, *call.args)


class _Missing:
    """The inputs of a run: those that nobody has yet, and those without an outcome."""

    def __init__(self, indices: Iterable[int]) -> None:
        self.left = deque(indices)
        self.missing = dict.fromkeys(self.left)  # a set in order
        self._size = 1  # inputs of one call
        self._unrepeated: deque[int] | None = None

    def following(self, most: int) -> tuple[int, ...]:
        """The next inputs, one at least."""
        count = max(min(self._size, most), 1)
        return tuple(self.left.popleft() for _ in range(count))

    def again(self) -> tuple[int, ...]:
        """The first missing input that was not given again before; none is empty."""
        if self._unrepeated is None:
            self._unrepeated = deque(self.missing)
        while self._unrepeated:
            index = self._unrepeated.popleft()
            if index in self.missing:
                return (index,)
        return ()

    def done(
        self, handed: Sequence[int], outcomes: Sequence[Outcome]
    ) -> Iterator[Outcome]:
        """The outcomes that are the first of their inputs."""
        self._size = _handful(outcomes)
        for outcome in outcomes:
            if outcome.index in self.missing:
                del self.missing[outcome.index]
                yield outcome
        # a call ends early where an input fails: the rest begins with that one
        rest = handed[len(outcomes) :]
        self.left.extendleft(i for i in reversed(rest) if i in self.missing)


def _handful(outcomes: Sequence[Outcome]) -> int:
    """How many inputs a call is given, by the time that those of the last one took."""
    times = [outcome.row.seconds for outcome in outcomes if outcome.row is not None]
    if not times:
        return 1
    mean = max(sum(times) / len(times), SECONDS / HANDFUL)  # it may be 0
    return int(min(HANDFUL, SECONDS / mean))


class Member:
    """A worker's side of the port.

    The model is made at the first call, so that its errors come back as answers.
    """

    def __init__(self, *recipe: Any) -> None:
        self._directory = os.getcwd()
        self._recipe = recipe
        self._here: Here | None = None

    def do(self, name: str, *args: Any) -> Any:
        """Call a method of the worker's :class:`rsbounds.certify.internal.Here`."""
        if self._here is None:
            os.chdir(self._directory)
            self._here = Here.built(*self._recipe)
        return getattr(self._here, name)(*args)


class Workers(AbstractContextManager["Workers"], ABC):
    """Workers in place of a model, for :func:`rsbounds.certify_dataset`.

    It is a context manager.

    Parameters
    ----------
    build : callable
        ``build()`` returns (model, data, scheme) as :func:`rsbounds.certify_dataset`
        takes them. It is pickled, and called once in each worker: a function of a
        module that workers can import, or a ``functools.partial`` of one.
    """

    def __init__(self, build: Build) -> None:
        if not callable(build):
            raise ArgumentError(
                "build", f"must be a function without arguments; got {build!r}"
            )
        self.build = build
        self._executor: Executor | None = None

    @abstractmethod
    def _begun(self, member: Member) -> Executor:
        """The workers, each with a copy of the member."""

    def begin(
        self, procedure: Procedure, expected: Mapping[str, Any], skip_corrupt: bool
    ) -> Work:
        """Start them anew, for one call's procedure."""
        self.close()
        self._executor = self._begun(
            Member(self.build, procedure, expected, skip_corrupt)
        )
        return Dealt(self._executor)

    def close(self) -> None:
        """End them."""
        if self._executor is not None:
            executor = self._executor
            self._executor = None  # also where closing it fails
            executor.close()

    def __exit__(self, *_: object) -> None:
        self.close()
