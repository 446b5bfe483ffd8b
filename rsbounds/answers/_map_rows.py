"""Rows of maps: the classes and counts of many positions as text, and what they say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.decimals import whole_number
from rsbounds.answers._answer import require_rows
from rsbounds.answers._votes import Recorded

NAME = "maps"
#: Of one map: a row of a few bytes may say any number, and all of them are unpacked.
MOST_POSITIONS = 2**25


def runs(values: NDArray[Any]) -> str:
    """Whole numbers as text, runs of equal ones as VALUExTIMES."""
    starts = np.concatenate([[0], np.flatnonzero(np.diff(values)) + 1])
    lengths = np.diff(np.append(starts, len(values)))
    pairs = zip(values[starts], lengths, strict=True)
    return ",".join(f"{v}" if times == 1 else f"{v}x{times}" for v, times in pairs)


def from_runs(text: str) -> NDArray[np.int64]:
    """What :func:`runs` wrote; ValueError for anything else."""
    pairs = [part.partition("x") for part in text.split(",")]
    values = [whole_number(value) for value, _, _ in pairs]
    times = [whole_number(many) if x else 1 for _, x, many in pairs]
    if not (min(times) > 0 and sum(times) <= MOST_POSITIONS and min(values) >= 0):
        raise ValueError(
            f"at most {MOST_POSITIONS} numbers as VALUExTIMES; got {text!r:.40}"
        )
    return np.repeat(np.array(values, dtype=np.int64), times)


def agreement(
    labels: NDArray[Any], truth: NDArray[Any], classes: int
) -> dict[str, str]:
    """Count where a map agrees with the true one.

    Right positions; overlap and union of each class.
    """
    if truth.shape != labels.shape:
        raise ValueError(
            f"the true map must have {labels.size} positions; got {truth.size}"
        )
    numbers = np.arange(classes)[:, None]
    stated = labels == numbers
    true = truth == numbers
    return {
        # a true map may have positions of no class, -1, as one that abstains has
        "right": str(int(((labels == truth) & (labels >= 0)).sum())),
        "overlap": ",".join(map(str, (stated & true).sum(axis=1))),
        "union": ",".join(map(str, (stated | true).sum(axis=1))),
    }


def map_summary(rows: Sequence[Recorded]) -> dict[str, float]:
    """What rows of maps say: certified accuracy, mIoU, share that abstains.

    Parameters
    ----------
    rows : sequence of Row
        Those of a run or of a file.

    Returns
    -------
    dict of str to float
        A position that abstains is of no class. ``accuracy`` and ``miou`` are NaN
        without true maps.

    Raises
    ------
    ValueError
        If rows are of another answer.
    """
    require_rows(rows, NAME, ("certified",))
    positions = sum(from_runs(row.extra["chosen"]).size for row in rows)
    certified = sum(int(row.extra["certified"]) for row in rows)
    summary = {
        "accuracy": np.nan,
        "miou": np.nan,
        "abstain": 1 - certified / positions,
    }
    if all(row.extra["right"] for row in rows):
        right = sum(int(row.extra["right"]) for row in rows)
        overlap = _summed(row.extra["overlap"] for row in rows)
        union = _summed(row.extra["union"] for row in rows)
        seen = union > 0
        summary["accuracy"] = right / positions
        summary["miou"] = float(np.mean(overlap[seen] / union[seen]))
    return summary


def _summed(columns: Any) -> NDArray[Any]:
    """The sums, class by class, of columns of numbers."""
    total: NDArray[Any] = np.sum(
        [[int(number) for number in text.split(",")] for text in columns], axis=0
    )
    return total
