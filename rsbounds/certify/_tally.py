"""Running totals of a run, and what is said of them while it goes on."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

from rsbounds.certificate import ABSTAIN
from rsbounds.certify._progress import Progress
from rsbounds.certify._tasks import Counts
from rsbounds.results import Row


class Tally:
    """Running accuracy, void samples, and the base accuracies after the first inputs."""

    FIRST = 10

    def __init__(
        self,
        notify: Callable[[str], object] | None,
        progress: Progress,
        before: Sequence[Row] = (),
    ) -> None:
        self._notify, self._progress = notify, progress
        self._new = self._void = 0
        self._rows, self._which = len(before), "next" if before else "first"
        self._correct = sum(row.correct for row in before)
        self._abstained = sum(row.predict == ABSTAIN for row in before)
        self._clean = self._noisy = 0.0

    def wants_alone(self) -> bool:
        """Whether counts without noise are asked for: of the first inputs of this call."""
        return self._notify is not None and self._new < self.FIRST

    def add(self, row: Row, alone: Counts | None) -> None:
        """One more row, and the counts of its input without noise."""
        first = self.wants_alone()
        self._rows += 1
        self._new += 1
        self._correct += row.correct
        self._abstained += row.predict == ABSTAIN
        if row.void and not self._void:
            warnings.warn(
                f"input {row.idx}: {row.void} samples are void (their scores hold NaN) and "
                "count for no class",
                RuntimeWarning,
                stacklevel=2,
            )
        self._void += row.void
        share = f"accuracy {self._correct / self._rows:.3f}"
        self._progress.note = f"{share}, {self._abstained / self._rows:.3f} abstain"
        if self._notify is None or not first or alone is None:
            return
        self._clean += row.label < len(alone) and alone[row.label] == 1
        counted = row.counts[row.label] if row.label < len(row.counts) else 0
        self._noisy += counted / row.n
        if self._new == self.FIRST:
            clean, noisy = self._clean / self.FIRST, self._noisy / self.FIRST
            self._notify(
                f"{self._which} {self.FIRST} inputs: base accuracy {clean:.3f} without noise, "
                f"{noisy:.3f} under noise"
            )
