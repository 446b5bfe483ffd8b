"""What a run tells of itself while it goes on."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

from rsbounds.certificate import ABSTAIN, Certificate
from rsbounds.certify._progress import Progress
from rsbounds.certify._tasks import Task
from rsbounds.loading import guarded
from rsbounds.results import Row


class Told:
    """Running accuracy, void samples, and the base accuracies after the first inputs."""

    FIRST = 10

    def __init__(self, sane: Callable[[str], object] | None, job: Task, progress: Progress) -> None:
        self._sane, self._job, self._progress = sane, job, progress
        self._rows = self._correct = self._abstained = self._void = 0
        self._clean = self._noisy = 0.0

    def of(self, row: Row, x: Any, found: Certificate) -> None:
        """One more row."""
        self._rows += 1
        self._correct += row.correct
        self._abstained += row.predict == ABSTAIN
        if found.void and not self._void:
            warnings.warn(
                f"input {row.idx}: {found.void} samples are void (their scores hold NaN) and "
                "count for no class",
                RuntimeWarning,
                stacklevel=2,
            )
        self._void += found.void
        share = f"accuracy {self._correct / self._rows:.3f}"
        self._progress.note = f"{share}, {self._abstained / self._rows:.3f} abstain"
        if self._sane is None or self._rows > self.FIRST or found.n == 0:
            return
        alone = guarded(f"input {row.idx}", partial(self._job.alone, x))
        self._clean += row.label < len(alone) and alone[row.label] == 1
        counted = found.counts[row.label] if row.label < len(found.counts) else 0
        self._noisy += counted / found.n
        if self._rows == self.FIRST:
            self._sane(
                f"first {self.FIRST} inputs: base accuracy {self._clean / self.FIRST:.3f} without "
                f"noise, {self._noisy / self.FIRST:.3f} under noise"
            )
