"""Ctrl-C and SIGTERM: the first ends a command in good order, a later one at once."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

#: Seconds in which further signals are taken for a repetition of the first.
PATIENCE = 2.0

_first: tuple[int, float] | None = None


def arrived() -> int | None:
    """The number of the signal that interrupts this process, or None."""
    return None if _first is None else _first[0]


def check() -> None:
    """Raise the interruption again where an import dropped it and went on."""
    if _first is not None:
        raise KeyboardInterrupt


@contextmanager
def told() -> Iterator[None]:
    """Errors after a signal are the interruption.

    A compiled package may drop the KeyboardInterrupt that stops its import and raise an
    error of its own in its place.
    """
    try:
        yield
    except Exception:
        check()
        raise


def _end(number: int, _: FrameType | None) -> None:
    global _first
    if _first is None:
        _first = number, time.monotonic()
        raise KeyboardInterrupt
    # files and workers take long to close
    if time.monotonic() - _first[1] > PATIENCE:
        os._exit(128 + number)


@contextmanager
def handled() -> Iterator[None]:
    """Both signals raise KeyboardInterrupt once; ``nohup`` keeps what it ignores."""
    before = {
        number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)
    }
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, _end)
    try:
        yield
    finally:
        for number, handler in before.items():
            # nothing interrupts an interrupted one's last steps
            signal.signal(number, handler if _first is None else signal.SIG_IGN)
