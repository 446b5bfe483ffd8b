"""Progress on standard error: a bar for people, a line a minute in a log."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")
WATCHED = 0.2  # seconds between two looks of a bar
LOGGED = 60.0  # seconds between two lines of a log, and before its first one


class Progress:
    """Counts items as they are taken: ``done`` of ``total`` were before.

    Parameters
    ----------
    total, done : int
        Number of items, and of those that are done already.
    unit : str
        What an item is.
    shown : bool
        Whether anything is written.
    """

    def __init__(
        self, total: int, unit: str, done: int = 0, *, shown: bool = True
    ) -> None:
        with warnings.catch_warnings():
            # that ipywidgets is missing: a notebook without it has a bar of text
            warnings.filterwarnings("ignore", message="IProgress not found")
            from tqdm.auto import tqdm

        class Bar(tqdm):  # type: ignore[misc]
            monitor_interval = 0  # no thread: it would have to survive a fork

        stream = StandardError()
        notebook = "tqdm.notebook" in {base.__module__ for base in Bar.__mro__}
        watched = notebook or stream.is_rewritten()
        self._bar: Any = Bar(
            total=total,
            initial=done,
            unit=unit,
            file=None if notebook else stream,
            mininterval=WATCHED if watched else LOGGED,
            delay=0.0 if watched else LOGGED,
            dynamic_ncols=watched,
            disable=not shown,
        )

    def over(self, items: Iterable[T]) -> Iterator[T]:
        """The items, counted."""
        try:
            for item in items:
                yield item
                self._bar.update()
        finally:
            self._bar.close()

    def note(self, text: str) -> None:
        """Show a text behind the numbers, from the next look on."""
        self._bar.set_postfix_str(text, refresh=False)


class StandardError:
    """Standard error for a bar: a full or closed log must not end the run."""

    @property
    def encoding(self) -> str:
        return getattr(sys.stderr, "encoding", None) or "ascii"

    def isatty(self) -> bool:
        return sys.stderr is not None and sys.stderr.isatty()

    def is_rewritten(self) -> bool:
        """Whether a line can be written over: at a terminal, and in a notebook."""
        return self.isatty() or type(sys.stderr).__module__.startswith("ipykernel")

    def fileno(self) -> int:
        return sys.stderr.fileno()

    def write(self, text: str) -> int:
        if not self.is_rewritten():  # a log keeps its lines
            text = text.replace("\r", "\n").rstrip(" ")
        with suppress(OSError, ValueError):
            sys.stderr.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            sys.stderr.flush()
