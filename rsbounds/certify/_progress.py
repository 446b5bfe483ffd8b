"""Signs of life of a long run: a bar on a terminal, else a line a minute."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Any, TypeVar

T = TypeVar("T")
INTERVAL = 60.0  # seconds between lines


class Progress:
    """Counts items on standard error as they are taken.

    Parameters
    ----------
    total : int
        How many there are in all.
    done : int
        How many were done before.
    unit : str
        What they are called.
    """

    def __init__(self, total: int, unit: str, done: int = 0) -> None:
        self.total, self.done, self.unit = total, done, unit
        self.note = ""
        self._start = self._said = time.monotonic()
        self._before = done
        self._bar = self._terminal()

    def over(self, items: Iterable[T]) -> Iterator[T]:
        """The items, counted."""
        try:
            for item in items:
                yield item
                self.step()
        finally:
            if self._bar is not None:
                self._bar.close()

    def step(self) -> None:
        """One more is done."""
        self.done += 1
        if self._bar is not None:
            if self.note:
                self._bar.set_postfix_str(self.note, refresh=False)
            self._bar.update()
        elif time.monotonic() - self._said >= INTERVAL:
            self._said = time.monotonic()
            with suppress(OSError):  # a full or closed log must not end the run
                print(self.line(), file=sys.stderr, flush=True)

    def line(self) -> str:
        """How far it is, at what rate, for how long still."""
        elapsed = time.monotonic() - self._start
        rate = (self.done - self._before) / elapsed if elapsed > 0 else 0.0
        left = timedelta(seconds=round((self.total - self.done) / rate)) if rate else "?"
        text = f"{self.done} of {self.total} {self.unit}s, {rate:.3g} a second, {left} left"
        return f"{text}, {self.note}" if self.note else text

    def _terminal(self) -> Any:
        if not sys.stderr or not sys.stderr.isatty():
            return None
        try:
            from tqdm import tqdm
        except ImportError:
            return None
        return tqdm(initial=self.done, total=self.total, unit=self.unit)
