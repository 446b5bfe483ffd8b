"""Rows of maps: the classes and counts of many positions as text, and what they say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import as_integers
from rsbounds._numerics.decimals import whole_number
from rsbounds._numerics.errors import ArgumentError
from rsbounds.answers._answer import require_rows
from rsbounds.answers._map_labels import Labels, holm
from rsbounds.answers._votes import Recorded
from rsbounds.certificate import ABSTAIN

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
    certified = labels == numbers
    true = truth == numbers
    return {
        # a true map may have positions of no class, -1, as one that abstains has
        "right": str(int(((labels == truth) & (labels >= 0)).sum())),
        "overlap": ",".join(map(str, (certified & true).sum(axis=1))),
        "union": ",".join(map(str, (certified | true).sum(axis=1))),
    }


def map_summary(rows: Sequence[Recorded]) -> dict[str, float]:
    """What :meth:`Maps.figures` returns."""
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


def certified_labels(
    rows: Sequence[Recorded],
    tau: float,
    alpha: float,
    shape: Sequence[int] | None = None,
) -> Labels:
    """What :meth:`Maps.certified` returns."""
    require_rows(rows, NAME, ("certified",))
    maps = [_labels(row, tau, alpha) for row in rows]
    sizes = {labels.size for labels in maps}
    if len(sizes) > 1:
        raise ArgumentError("rows", f"must be of one size; got {sorted(sizes)}")
    stacked = np.stack(maps)
    if shape is None:
        return stacked
    sides = tuple(as_integers("shape", shape, 1).ravel().tolist())
    if math.prod(sides) != stacked.shape[1]:
        raise ArgumentError(
            "shape", f"must be of {stacked.shape[1]} positions; got {sides}"
        )
    return stacked.reshape(len(stacked), *sides)


def _labels(row: Recorded, tau: float, alpha: float) -> Labels:
    """The certified classes of a row; ValueError if it certified more or fewer."""
    chosen = from_runs(row.extra["chosen"])
    certified = holm(from_runs(row.extra["hits"]), row.n, tau, alpha)
    if certified.sum() != int(row.extra["certified"]):
        raise ArgumentError(
            "tau and alpha",
            f"must be those of the run; input {row.idx} has {row.extra['certified']} "
            f"certified positions, and {certified.sum()} by these",
        )
    return np.where(certified, chosen, ABSTAIN)
