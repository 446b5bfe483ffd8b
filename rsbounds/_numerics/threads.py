"""Run compiled ufuncs on several threads, and compute results ahead of their use."""

from __future__ import annotations

import os
import platform
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from functools import cache, partial
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from rsbounds._numerics.checks import Floats
from rsbounds._numerics.errors import ArgumentError
from rsbounds_ext.kernels import scalar

T = TypeVar("T")
U = TypeVar("U")


def apply(ufunc: Any, *args: Any, cost: float) -> Floats:
    """Return ``ufunc(*args)`` without warnings, computed on several threads.

    ``cost`` is the time of one element in microseconds.

    NumPy releases the GIL, so work of more than a few milliseconds is cut into pieces,
    four for each core. Arguments that have ways of their own with ufuncs, such as
    masked arrays, keep them and are not cut.
    """
    number = scalar(ufunc, *args)
    if number is not None:
        return number
    size = np.broadcast(*args).size
    pieces = min(4 * cores(), int(size * cost / 1000))
    with np.errstate(all="ignore"):
        if pieces < 2 or cores() == 1 or not all(map(_is_plain, args)):
            result: Floats = ufunc(*args)
            return result
        arrays = np.broadcast_arrays(*args)
        if not all(np.can_cast(a.dtype, np.float64, "safe") for a in arrays):
            return ufunc(*args)  # type: ignore[no-any-return]  # its own TypeError
        flat = [np.ascontiguousarray(a, dtype=np.float64).reshape(-1) for a in arrays]
        out = np.empty(size)
        edges = np.linspace(0, size, pieces + 1).astype(int)
        tasks = []
        with ThreadPoolExecutor(cores()) as pool:
            for start, stop in pairwise(edges):
                part = slice(start, stop)
                work = partial(ufunc, *(a[part] for a in flat), out[part])
                # each in a context of its own: NumPy keeps the error state there
                tasks.append(pool.submit(copy_context().run, work))
        for task in tasks:
            task.result()  # raises what its piece raised
    return out.reshape(arrays[0].shape)


def _is_plain(value: Any) -> bool:
    if type(value) in (np.ndarray, float, int) or isinstance(value, np.generic):
        return True
    return not hasattr(value, "__array_ufunc__")


@cache
def cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def require_started(name: str, number: int) -> None:
    """ArgumentError for more processes or threads than a machine is asked to start.

    That is four for each of its cores, and 16 on a small machine.
    """
    most = max(4 * (os.cpu_count() or 1), 16)
    if number > most:
        raise ArgumentError(
            name,
            f"must be at most {most} on this machine, four for each core and at least "
            f"16; got {number}",
        )


@cache
def processor() -> str:
    """The processor's model."""
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def one_behind(started: Iterable[Callable[[], T]]) -> Iterator[T]:
    """The results of calls that were started, each read once the next is started.

    What a device was asked for is read while it is at work on what comes next. Where
    a start fails, the results of those before it come first.
    """
    waiting: Callable[[], T] | None = None
    starts = iter(started)
    while True:
        failed: Exception | None = None
        following: Callable[[], T] | None = None
        try:
            following = next(starts, None)
        except Exception as error:
            failed = error
        if waiting is not None:
            yield waiting()
        if failed is not None:
            raise failed
        if following is None:
            return
        waiting = following


def ahead(function: Callable[[T], U], things: Iterable[T], most: int) -> Iterator[U]:
    """``map(function, things)`` by a thread that keeps up to ``most`` results."""
    waiting: deque[Future[U]] = deque()
    pool = ThreadPoolExecutor(1, "rsbounds-ahead")
    try:
        for thing in things:
            waiting.append(pool.submit(function, thing))
            if len(waiting) > most:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
