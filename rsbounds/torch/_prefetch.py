"""The next group of noise, drawn while the model looks at this one."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
U = TypeVar("U")


def mapped(make: Callable[[T], U], things: Iterable[T], *, ahead: bool) -> Iterator[U]:
    """``make(thing)`` for each; ``ahead``: by a thread, which makes one while one is in use."""
    if not ahead:
        yield from map(make, things)
        return
    pool = ThreadPoolExecutor(1, "rsbounds-noise")
    try:
        made: deque[Future[U]] = deque()
        for thing in things:
            made.append(pool.submit(make, thing))
            if len(made) > 1:
                yield made.popleft().result()
        while made:
            yield made.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
