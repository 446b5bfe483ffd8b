"""Workers that are processes of this machine."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any

from rsbounds._numerics.checks import count as whole_count
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.threads import require_started
from rsbounds.certify.internal import Build
from rsbounds.cluster._deal import LostWorker, Member, Workers, those_in


class Processes(Workers):
    """Processes of this machine, each with a model of its own.

    Parameters
    ----------
    build : callable
        As in :class:`Workers`.
    count : int
        How many, in [1, 4 for each core of the machine], up to 16 on a small one; by
        default one for each device.
    devices : sequence of str
        GPUs, as ``CUDA_VISIBLE_DEVICES`` names them or by their place in it, dealt out
        to the processes one each, in turn: to its process a GPU is ``cuda:0``.
    threads : int, optional
        Threads of each, as many at most; by default this machine's cores divided. Sums
        on a CPU may depend on it in their last bit.

    Raises
    ------
    ValueError
        If a number is out of its domain, or a device is not there.

    Examples
    --------
    >>> from rsbounds.cluster import Processes
    >>> workers = Processes(print, devices=["0", "1"])  # not started yet
    >>> workers.count
    2
    """

    def __init__(
        self,
        build: Build,
        count: int | None = None,
        *,
        devices: Sequence[str] = (),
        threads: int | None = None,
    ) -> None:
        super().__init__(build)
        names = _visible(devices, os.environ.get("CUDA_VISIBLE_DEVICES"))
        self.count = whole_count(
            "count", len(names) or 1 if count is None else count, 1
        )
        if count is not None:
            require_started("count", self.count)
        share = max((os.cpu_count() or 1) // self.count, 1)
        threads = whole_count("threads", share if threads is None else threads, 1)
        require_started("threads", threads)
        gpus = [{"CUDA_VISIBLE_DEVICES": name} for name in names] or [{}]
        common = {"OMP_NUM_THREADS": str(threads)}
        self._environments = [common | gpus[i % len(gpus)] for i in range(self.count)]

    def _begun(self, member: Member) -> Pools:
        return Pools(self._environments, member)


class Pools:
    """The :class:`Executor` of processes: a pool each, so that each dies alone."""

    def __init__(
        self, environments: Sequence[Mapping[str, str]], member: Member
    ) -> None:
        self.count = len(environments)
        self._environments = environments
        self._member = member
        self._pools: dict[int, ProcessPoolExecutor] = {}
        self._done: SimpleQueue[Future[Any]] = SimpleQueue()
        self._context = multiprocessing.get_context("spawn")
        self._alive, self._end = self._context.Pipe(duplex=False)

    def call(self, worker: int, name: str, *args: Any) -> Future[Any]:
        future = self._submitted(worker, name, *args)
        future.add_done_callback(self._done.put)
        return future

    def _submitted(self, worker: int, name: str, *args: Any) -> Future[Any]:
        if worker in self._pools:
            try:
                return self._pools[worker].submit(_do, name, *args)
            except BrokenProcessPool:
                self._pools.pop(worker).shutdown()
        pool = ProcessPoolExecutor(
            max_workers=1,
            mp_context=self._context,
            initializer=_begin,
            initargs=(self._alive, self._member),
        )
        self._pools[worker] = pool
        with _inherited(self._environments[worker]):
            return pool.submit(_do, name, *args)  # which starts the process

    def finished(self) -> Iterable[Future[Any]]:
        return those_in(self._done)

    def result(self, ticket: Future[Any]) -> Any:
        try:
            return ticket.result()
        except BrokenProcessPool as error:
            raise LostWorker("the process was ended") from error

    def close(self) -> None:
        self._end.close()  # which ends the processes at once
        for pool in self._pools.values():
            pool.shutdown(cancel_futures=True)
        self._alive.close()


_member: Member  # of a worker's process


def _begin(alive: Connection, member: Member) -> None:
    global _member
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the writing process's to answer
    threading.Thread(target=_end_with, args=(alive,), daemon=True).start()
    _member = member


def _do(name: str, *args: Any) -> Any:
    return _member.do(name, *args)


def _end_with(alive: Connection) -> None:
    """End this process when the writing one closes its end of the pipe, or is gone."""
    alive.poll(None)
    os._exit(0)


def _visible(devices: Sequence[str], visible: str | None) -> list[str]:
    """Names of devices, after looking up places in ``CUDA_VISIBLE_DEVICES``."""
    several = isinstance(devices, Sequence) and not isinstance(devices, str)
    if not several or not all(map(_is_name, devices)):
        raise ArgumentError(
            "devices", f'must be names of GPUs such as ["0", "1"]; got {devices!r}'
        )
    if not visible:
        return list(devices)
    places = visible.split(",")
    for name in devices:
        if name.isdecimal() and int(name) >= len(places):
            raise ArgumentError(
                "devices",
                "must be below the number of GPUs in CUDA_VISIBLE_DEVICES, "
                f"{len(places)}; got {name}",
            )
    return [places[int(name)] if name.isdecimal() else name for name in devices]


def _is_name(device: Any) -> bool:
    return isinstance(device, str) and device != "" and "," not in device


@contextmanager
def _inherited(changes: Mapping[str, str]) -> Iterator[None]:
    """Set these variables for a new process, before any library reads them.

    Ctrl-C goes to the writing process alone.
    """
    mask = getattr(signal, "pthread_sigmask", lambda *_: ())  # Windows has none
    masked = mask(getattr(signal, "SIG_BLOCK", 0), {signal.SIGINT})
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        mask(getattr(signal, "SIG_SETMASK", 0), masked)
