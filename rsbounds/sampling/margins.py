"""Votes that hold for the exact network, and how far scores of two settings differ.

A sample is void unless its largest score leads the second by more than a margin delta.
If each computed score is within delta/2 of that of exact arithmetic, the largest score
of a sample that counts is the largest of the exact network too: it leads by more than
delta - 2 delta/2. So a class's votes are at most the exact network's votes for it, and
its votes and all void ones together at least those. The same holds for each machine,
batch size, compiler or precision whose scores are within delta/2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from math import isfinite, nextafter
from typing import Any

import numpy as np

from rsbounds._numerics.checks import Array
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.threads import cores
from rsbounds.sampling import numpy_arrays
from rsbounds.sampling.port import Arrays

#: Rows of the other batches that scores are compared with.
FEW = 7
#: A measured margin is this many times the largest difference that was seen: errors of
#: scores up to half as many times that leave every vote that counts as it is.
MULTIPLE = 16

#: Is shown a block of noisy inputs and the scores that a sampler got for it.
Watch = Callable[[Any, Any], None]


def leads(scores: Any, margin: float, arrays: Arrays = numpy_arrays) -> Any:
    """Where the largest score along axis 1 leads the second by more than the margin.

    Never where that can't be told: with a NaN, an infinite lead (a score that
    overflowed is at no finite distance of the exact one), or a score that float64
    doesn't hold, of whole numbers or of a longer type. The difference is formed in
    float64 and rounded to the nearest, which keeps the order with ``margin``.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.sampling.margins import leads
    >>> leads(np.array([[3.0, 1.0], [1.5, 1.0], [np.nan, 1.0]]), 0.5).tolist()
    [True, False, False]
    """
    wide, exact = arrays.wide(scores)
    first, second = arrays.two_largest(wide)
    with np.errstate(invalid="ignore"):  # of two infinities
        lead = first - second  # NaN if one of the scores is: it is the largest
    known = arrays.isfinite(lead) & (lead > margin)
    return arrays.beside(known if exact is None else known & exact, scores)


@dataclass
class Difference:
    """How the scores of some samples differ from those of other settings.

    Attributes
    ----------
    margin : float
        By which votes count.
    samples, counted : int
        Samples compared, and of them those that count (for maps: positions).
    changed : int
        Votes that count and are for another class under another setting.
    largest : float
        The largest difference of two scores.
    settings : dict
        Which settings were compared, in order.
    """

    margin: float
    samples: int = 0
    counted: int = 0
    changed: int = 0
    largest: float = 0.0
    settings: dict[str, None] = field(default_factory=dict)

    def add(self, scores: Array, others: Array, setting: str) -> None:
        """Compare the scores of a block with those of another setting."""
        new = not self.settings or setting == next(iter(self.settings))
        self.settings[setting] = None
        scores = np.asarray(scores, dtype=np.float64)
        others = np.asarray(others, dtype=np.float64)
        counts = leads(scores, self.margin)
        if new:
            self.samples += counts.size
            self.counted += int(counts.sum())
        self.changed += int((counts & (scores.argmax(1) != others.argmax(1))).sum())
        same = (scores == others) | (np.isnan(scores) & np.isnan(others))
        with np.errstate(invalid="ignore"):
            apart = np.abs(scores - others)[~same]
        # a NaN beside a number, or an infinity: no margin covers that
        largest = np.nan_to_num(apart, nan=np.inf).max(initial=0.0)
        self.largest = max(self.largest, float(largest))

    def merge(self, other: Difference) -> None:
        """Add the samples of another input."""
        self.samples += other.samples
        self.counted += other.counted
        self.changed += other.changed
        self.largest = max(self.largest, other.largest)
        self.settings |= other.settings

    def times(self, multiple: int) -> float:
        """The largest difference so many times, rounded up.

        ValueError where scores of two settings are at no finite distance.
        """
        margin = multiple * self.largest
        if not isfinite(margin):
            raise ArgumentError(
                "margin", "can't be measured: scores of two settings differ by infinity"
            )
        return nextafter(margin, np.inf) if margin else 0.0


@contextmanager
def other_blas_threads() -> Iterator[str]:
    """NumPy's sums by one thread, or by several where one is usual; says which.

    "" where nothing can change their number: without the package ``threadpoolctl``, or
    without a library of sums that has threads.
    """
    try:
        threadpoolctl = import_module("threadpoolctl")
    except ImportError:
        yield ""
        return
    pools = threadpoolctl.threadpool_info()
    blas = [pool["num_threads"] for pool in pools if pool["user_api"] == "blas"]
    if not blas:
        yield ""
        return
    several = max(blas) > 1
    name = "one thread of BLAS" if several else "several threads of BLAS"
    with threadpoolctl.threadpool_limits(1 if several else max(cores(), 2), "blas"):
        yield name


def with_margin(sampler: Any, margin: float | None) -> Any:
    """A sampler whose votes count by a margin; None leaves it as it is.

    ArgumentError for a sampler that doesn't look at scores of classes.
    """
    if margin is None:
        return sampler
    if not hasattr(sampler, "with_margin") or getattr(sampler, "kind", "") == "values":
        raise ArgumentError(
            "margin",
            "needs the scores of a model; got the sampler "
            f"{type(sampler).__name__}, which returns no votes by them",
        )
    return sampler.with_margin(margin)


def require_compared(sampler: Any) -> Any:
    """A sampler whose scores can be compared; ArgumentError for any other."""
    if not hasattr(sampler, "compared") or getattr(sampler, "kind", "") == "values":
        raise ArgumentError(
            "margin",
            "can be measured on scores of classes alone; got the sampler "
            f"{type(sampler).__name__}",
        )
    return sampler
