"""Evidence of class counts: as it is drawn, and as a row holds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import as_integers
from rsbounds._numerics.counts import total
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.records import Record

ClassCounts = NDArray[np.int64]


class Recorded(Protocol):
    """What an answer reads of a row of a result file."""

    @property
    def idx(self) -> int: ...
    @property
    def label(self) -> int: ...
    @property
    def sigma(self) -> float: ...
    @property
    def n(self) -> int: ...
    @property
    def select(self) -> tuple[int, ...]: ...
    @property
    def counts(self) -> tuple[int, ...]: ...
    @property
    def void(self) -> int: ...
    @property
    def extra(self) -> Mapping[str, str]: ...


@dataclass(frozen=True, eq=False)
class Votes(Record):
    """Evidence of class counts: of the samples that choose, and of those that estimate.

    What is missing of the samples drawn fell on no class.

    Attributes
    ----------
    sigma : float
        The noise level, > 0, in the input's unit.
    select, counts : ndarray of int64, shape (classes,)
        Class counts of the samples that choose, and of those that estimate.
    n : int
        How many samples estimate.
    classes : int, optional
        How many the model has, where it was asked: rows leave out trailing zeros.
    """

    sigma: float
    select: ClassCounts
    counts: ClassCounts
    n: int
    classes: int | None = None

    @classmethod
    def of(cls, row: Recorded) -> Self:
        """The votes that a row of a result file holds."""
        if not hasattr(row, "counts"):
            raise ArgumentError("row", f"must be a row of a file; got {row!r:.60}")
        # a row leaves out trailing zeros: of void samples alone nothing is left
        select = np.array(row.select or (0,), dtype=np.int64)
        counts = np.array(row.counts or (0,), dtype=np.int64)
        return cls(sigma=row.sigma, select=select, counts=counts, n=row.n)

    def grown(self, counts: ClassCounts, n: int) -> Self:
        """The votes with those of n more samples."""
        return replace(self, counts=self.counts + counts, n=self.n + n)

    def scaled(self, n: int) -> Self:
        """The votes of n samples that fall as these did, rounded down."""
        counts = np.array(
            [scaled_count(count, self.n, n) for count in self.counts.tolist()],
            dtype=np.int64,
        )
        return replace(self, counts=counts, n=n)


def scaled_count(count: int, drawn: int, n: int) -> int:
    """How many of n samples a count of those drawn would be, rounded down."""
    return count * n // drawn


def void_votes(counts: ClassCounts, n: int) -> int:
    """How many samples of n have no class, and so may be any other class's.

    Their scores were within a margin or held a NaN, or their draw decided nothing: by
    chance, as the noise is, so that the samples with a class alone would bound a
    smaller probability. Counts don't tell which.
    """
    return n - total(counts)


def class_counts(sampled: Any) -> ClassCounts:
    """What a sampler returned, as counts of at least two classes.

    Parameters
    ----------
    sampled : array_like of int, shape (classes,)
        Whole numbers.

    Returns
    -------
    ndarray of int64, shape (classes,)

    Raises
    ------
    ValueError
        If they are no counts, or of one class.

    Examples
    --------
    >>> from rsbounds.answers import class_counts
    >>> class_counts([90.0, 10.0])
    array([90, 10])
    """
    counts = as_integers("what the sampler returns", np.asarray(sampled))
    if counts.ndim != 1 or len(counts) < 2:
        raise ValueError(
            "the sampler must return counts of at least two classes, shape (classes,); "
            f"got shape {counts.shape}"
        )
    return counts


def drawn_counts(name: str, counts: Any, samples: int) -> ClassCounts:
    """Class counts that so many samples can have left, or ValueError."""
    result = as_integers(name, counts)
    if result.ndim != 1:
        raise ValueError(f"{name} must have shape (classes,); got shape {result.shape}")
    require_drawn(name, result, samples)
    return result


def require_drawn(name: str, counts: ClassCounts, samples: int) -> None:
    """ValueError for class counts that sum to more than was drawn."""
    drawn = total(counts)
    if not drawn <= samples:
        raise ArgumentError(name, f"sum to {drawn} of {samples} samples")
