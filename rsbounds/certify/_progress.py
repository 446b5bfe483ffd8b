"""Signs of life of a long run: a line on a terminal, else one a minute; running totals."""

import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import TypeVar

from rsbounds.certificate import ABSTAIN
from rsbounds.results import Row

T = TypeVar("T")
INTERVAL, LIVE = 60.0, 0.2  # seconds between lines, also on a terminal


class Progress:
    """Counts items on standard error as they are taken: ``done`` of ``total`` were before."""

    def __init__(self, total: int, unit: str, done: int = 0) -> None:
        self.total, self.done, self.unit = total, done, unit
        self.note = ""
        self._start = self._printed = time.monotonic()
        self._before = done
        self._live = bool(sys.stderr) and sys.stderr.isatty()

    def over(self, items: Iterable[T]) -> Iterator[T]:
        """The items, counted."""
        try:
            for item in items:
                yield item
                self.step()
        finally:
            if self._live:
                self._print("\n")

    def step(self) -> None:
        """One more is done."""
        self.done += 1
        if time.monotonic() - self._printed >= (LIVE if self._live else INTERVAL):
            self._print("\r" if self._live else "\n")

    def line(self) -> str:
        """How far it is, at what rate, for how long still."""
        elapsed = time.monotonic() - self._start
        rate = (self.done - self._before) / elapsed if elapsed > 0 else 0.0
        left = timedelta(seconds=round((self.total - self.done) / rate)) if rate else "?"
        text = f"{self.done} of {self.total} {self.unit}s, {rate:.3g} a second, {left} left"
        return f"{text}, {self.note}" if self.note else text

    def _print(self, end: str) -> None:
        self._printed = time.monotonic()
        clear = "\x1b[K" if self._live else ""  # to the line's end, of a longer one before
        with suppress(OSError):  # a full or closed log must not end the run
            print(f"{self.line()}{clear}", end=end, file=sys.stderr, flush=True)


class Tally:
    """Running accuracy, void samples, and the base accuracy of the first inputs under noise."""

    FIRST = 10

    def __init__(
        self, notify: Callable[[str], object] | None, progress: Progress, before: Sequence[Row]
    ) -> None:
        self._notify, self._progress = notify, progress
        self._rows, self._which = len(before), "next" if before else "first"
        self._correct = sum(row.correct for row in before)
        self._abstained = sum(row.predict == ABSTAIN for row in before)
        self._void = False
        self._base: list[float] = []  # shares of samples that fell on the label

    def add(self, row: Row) -> None:
        """One more row."""
        if row.void and not self._void:
            self._void = True
            warnings.warn(
                f"input {row.idx}: {row.void} samples are void (their scores hold NaN) and "
                "count for no class",
                RuntimeWarning,
                stacklevel=2,
            )
        self._rows += 1
        self._correct += row.correct
        self._abstained += row.predict == ABSTAIN
        share = f"accuracy {self._correct / self._rows:.3f}"
        self._progress.note = f"{share}, {self._abstained / self._rows:.3f} abstain"
        if self._notify is None or not row.counts or len(self._base) == self.FIRST:
            return
        self._base.append((row.counts[row.label] if row.label < len(row.counts) else 0) / row.n)
        if len(self._base) == self.FIRST:
            share = f"base accuracy {sum(self._base) / self.FIRST:.3f} under noise"
            self._notify(f"{self._which} {self.FIRST} inputs: {share}")
