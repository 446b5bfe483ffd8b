"""Rows of a run whose workers are simulated: what the one process that writes can take.

    python benchmarks/pages/crowd.py OUT ROWS WORKERS

writes a file of so many rows, each synced to the disk, by the dealer and the writer of
a real run: workers answer at once, all that wait together, so that nothing but these
two is timed. A second call goes on with the file.
"""

import sys
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rsbounds.certify._run import with_more
from rsbounds.certify.internal import Outcome
from rsbounds.cluster._deal import AHEAD, Dealt
from rsbounds.results import Manifest, Row
from rsbounds.results.internal import Writer

SLOW = "0:00:03.000000"  # of each row: slow enough that it is dealt alone


class Crowd:
    """Workers that have done by the next look all that they were given."""

    def __init__(self, count: int, together: int) -> None:
        self.count, self._together = count, together
        self._calls: dict[object, tuple[str, tuple[Any, ...]]] = {}
        self._waiting: deque[object] = deque()

    def call(self, worker: int, name: str, *args: Any) -> object:
        ticket = object()
        self._calls[ticket] = name, args
        self._waiting.append(ticket)
        return ticket

    def finished(self) -> Iterable[object]:
        some = min(self._together, len(self._waiting))
        return [self._waiting.popleft() for _ in range(some)]

    def result(self, ticket: Any) -> Any:
        name, args = self._calls.pop(ticket)
        if name == "machines":
            return []
        return [Outcome(i, row(i)) for i in args[0]]

    def close(self) -> None:
        self._waiting.clear()


def row(index: int) -> Row:
    return Row(index, 7, 7, 0.75, True, "fixed noise", time=SLOW)


def run(path: Path, rows: int, workers: int, together: int) -> None:
    """Write the rows that are missing; ``together`` answers come at one time."""
    with Writer(path, Manifest(data={"inputs": rows})) as writer:
        there = {one.idx for one in writer.rows}
        missing = [i for i in range(rows) if i not in there]
        dealt = Dealt(Crowd(workers, together))
        for outcome, more in with_more(dealt.carried_out(missing, lambda: False)):
            assert outcome.row is not None
            writer.append(outcome.row, more=more)


if __name__ == "__main__":
    place, count, number = sys.argv[1:]
    run(Path(place), int(count), int(number), AHEAD * int(number))
