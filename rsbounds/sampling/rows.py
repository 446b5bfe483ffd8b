"""Whether what a classifier returns are scores, and each row's its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray


def checked_scores(returned: Any, rows: int) -> NDArray[Any]:
    """What a classifier of NumPy batches returned, if these are scores of so many rows."""
    try:
        scores = np.asarray(returned)
    except ValueError as error:  # rows of different lengths
        raise ValueError(_expected(rows, f"{type(returned).__name__} ({error})")) from None
    if scores.ndim != 2 or scores.shape[0] != rows or scores.shape[1] < 2:
        hint = " (labels? scores have a column for each class)" if scores.shape == (rows,) else ""
        raise ValueError(_expected(rows, f"shape {scores.shape}{hint}"))
    if scores.dtype.kind not in "biuf":
        raise ValueError(_expected(rows, f"type {scores.dtype}"))
    return scores


def _expected(rows: int, got: str) -> str:
    return (
        f"the model must return scores of shape ({rows}, classes), at least two classes, for a "
        f"batch of {rows}; got {got}"
    )


class Scored:
    """A classifier of NumPy batches, whose scores are checked.

    Their shape and type at every batch; once, at the first of two rows or more, that a row's
    scores are the same in a batch that holds nothing else. They may differ by the square root of
    the machine epsilon of their type, relative to the largest of the row.
    """

    def __init__(self, classifier: Callable[[NDArray[np.float32]], Any]) -> None:
        self.classifier = classifier
        self._classes = 0
        self._rows_checked = False

    def checked(self, returned: Any, rows: int) -> NDArray[Any]:
        """What was returned, if these are scores of so many rows and always as many classes."""
        scores = checked_scores(returned, rows)
        if self._classes not in (0, scores.shape[1]):
            raise ValueError(
                f"the model must always return scores of as many classes; got {self._classes} and "
                f"then {scores.shape[1]}"
            )
        self._classes = scores.shape[1]
        return scores

    def scores(self, batch: NDArray[np.float32]) -> NDArray[Any]:
        """Scores of a batch, shape (count, classes)."""
        first = not self._rows_checked and len(batch) > 1
        middle = len(batch) // 2
        if first:  # before the model sees the batch, which it may change, as it may its scores
            copies = np.repeat(batch[middle : middle + 1], len(batch), axis=0)
            alone = self.checked(self.classifier(copies), len(batch))[middle].copy()
        scores = self.checked(self.classifier(batch), len(batch))
        if first:
            tolerance = np.finfo(scores.dtype).eps ** 0.5 if scores.dtype.kind == "f" else 0.0
            require_same_row(alone, scores[middle], len(batch), float(tolerance))
            self._rows_checked = True
        return scores


def require_same_row(alone: NDArray[Any], among: NDArray[Any], rows: int, tolerance: float) -> None:
    """ValueError if a row's scores in a batch of its copies aren't those among other rows."""
    alone, among = alone.astype(np.float64), among.astype(np.float64)
    largest = np.abs(among[np.isfinite(among)]).max(initial=0.0)
    with np.errstate(invalid="ignore"):  # of two infinities
        apart = np.abs(alone - among)
    same = (alone == among) | (np.isnan(alone) & np.isnan(among))
    if not (same | (apart <= tolerance * largest)).all():
        raise ValueError(
            "the model must score each row for itself, without chance; the scores of a row "
            f"among {rows - 1} others differ by {apart[~same].max():.3g} from those in a batch of "
            "its copies (batch statistics, or random layers?)"
        )
