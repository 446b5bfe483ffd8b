"""Progress of a run: accuracy, abstentions, void samples, base accuracies."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

from rsbounds._numerics.progress import Progress
from rsbounds.certificate import ABSTAIN
from rsbounds.results import Results, Row

FIRST = 10  # inputs whose base accuracies are told


class Tally(Progress):
    """Progress with what the rows say so far.

    Parameters
    ----------
    total, done : int
        Inputs of this run, and those that have a row.
    before : sequence of Row
        The rows that were there.
    classes : int
        How many the model has.
    classifies : bool
        Whether rows predict classes.
    notify : callable or None
        Called with the line of base accuracies.
    expects_void : bool
        Whether void samples are what was asked for: votes by a margin.
    shown : bool
        Whether the progress is written to standard error.
    """

    def __init__(
        self,
        total: int,
        done: int,
        *,
        before: Sequence[Row],
        classes: int,
        classifies: bool,
        notify: Callable[[str], object] | None,
        expects_void: bool = False,
        shown: bool = True,
    ) -> None:
        super().__init__(total, "input", done, shown=shown)
        self._warns_of_void = not expects_void
        self._notify = notify
        self._classes = classes
        self._classifies = classifies
        self._which = "next" if before else "first"
        counted = Results("", before).counted
        self._rows = counted.rows
        self._correct = len(counted.radii)
        self._left_out = counted.left_out
        self._abstained = counted.abstained
        self._warned_of_void = False
        self._base: list[tuple[float, float]] = []  # without noise and under noise

    def end(self) -> None:
        """A short run tells its base accuracies at its end."""
        if 0 < len(self._base) < FIRST:
            self._tell_base()

    def wants_alone(self) -> bool:
        """Whether counts without noise are asked for: of the first inputs."""
        told = self._notify is None or not self._classifies
        return not told and len(self._base) < FIRST

    def add(self, row: Row, alone: Sequence[int] | None) -> None:
        """One more row, and the counts of its input without noise."""
        if row.void and self._warns_of_void and not self._warned_of_void:
            self._warned_of_void = True
            warnings.warn(
                f"input {row.idx}: {row.void} samples are void (their scores hold NaN) "
                "and count for no class",
                RuntimeWarning,
                stacklevel=2,
            )
        if not self._classifies:
            return
        left_out = row.is_left_out
        self._rows += 1
        self._correct += row.correct
        self._left_out += left_out
        self._abstained += row.predict == ABSTAIN and not left_out
        accuracy = self._correct / self._rows
        abstained = self._abstained / max(self._rows - self._left_out, 1)
        self.note(f"accuracy {accuracy:.3f}, {abstained:.3f} abstain")
        if alone is not None and self.wants_alone():
            self._add_base(row, alone)

    def _add_base(self, row: Row, alone: Sequence[int]) -> None:
        clean = alone[row.label] if row.label < len(alone) else 0
        noisy = row.counts[row.label] if row.label < len(row.counts) else 0
        self._base.append((clean, noisy / row.n))
        if len(self._base) == FIRST:
            self._tell_base()

    def _tell_base(self) -> None:
        """A line of the base accuracies, and one more where they are below chance."""
        if self._notify is None:
            return
        number = len(self._base)
        clean_share, noisy_share = (
            sum(shares) / number for shares in zip(*self._base, strict=True)
        )
        inputs = f"{number} inputs" if number > 1 else "input"
        self._notify(
            f"{self._which} {inputs}: base accuracy {clean_share:.3f} without "
            f"noise, {noisy_share:.3f} under noise"
        )
        if max(clean_share, noisy_share) < 1 / self._classes:
            self._notify(
                f"warning: that is below chance, 1 in {self._classes}: are the labels "
                "the model's classes, counted from 0, and the inputs in its unit?"
            )
