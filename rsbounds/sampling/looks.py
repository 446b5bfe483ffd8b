"""Looks at the rows of a batch: each scored for itself, by one function of its input.

A certificate needs samples that are independent of each other, of one function. At the
first block of two rows or more, and at one in 1024 from then on, the scores of a row
among others are compared with its scores among copies of itself, and those of a row of
the call's first block with what they were. They may differ by eps^(2/3), relative to
the largest (2.4e-5 in float32): another order of summation passes, batch statistics
don't.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rsbounds._numerics.checks import Array
from rsbounds.sampling.bits import ODD, Stream
from rsbounds.sampling.system_bits import Randomness, SystemBits

# A look at a block costs two forward passes: at one in 1024 a fifth of a percent.
_LOOKS = 2**32 // 1024


def is_due(number: int) -> bool:
    """Whether rows are to be compared again, at a sampler's block of that number.

    The numbers are 1, 2, ...: those at which a look is due are spread evenly.
    """
    return number * ODD % 2**32 < _LOOKS


def place_of(generator: Randomness, number: int) -> str:
    """Which block of which input, as far as the stream tells."""
    if isinstance(generator, Stream | SystemBits):
        return f", at block {number} of input {generator.index}"
    return f", at block {number}"


def require_same_row(
    alone: Array, among: Array, rows: int, eps: float, place: str = ""
) -> None:
    """ValueError if a row's scores among copies of it aren't those among other rows."""
    apart = _apart(alone, among, eps)
    if apart:
        raise ValueError(
            "the model must score each row for itself, without chance; the scores of a "
            f"row among {rows - 1} others differ by {apart:.3g} from those in a batch "
            f"of its copies{place} (batch statistics, or random layers?)"
        )


def require_same_sequence(short: Array, padded: Array, eps: float, place: str) -> None:
    """ValueError if a sequence's scores depend on the padding behind it.

    How long that is tells the length of the input, which a function of what is left of
    it does not know.
    """
    apart = _apart(short, padded, eps)
    if apart:
        raise ValueError(
            "the model must not see how much padding stands behind a sequence; the "
            f"scores of a row differ by {apart:.3g} with less of it{place} (give its "
            "forward an attention_mask, or the noise the model's padding)"
        )


def require_same_function(before: Array, again: Array, eps: float, place: str) -> None:
    """ValueError if a row's scores aren't those that it had before."""
    apart = _apart(before, again, eps)
    if apart:
        raise ValueError(
            "the model must be one function of its input; the scores of a row of the "
            f"first block differ by {apart:.3g} when it is asked again{place} (a state "
            "that calls change?)"
        )


def _apart(one: Array, other: Array, eps: float) -> float:
    """The largest difference of two rows of scores, 0.0 if rounding explains it.

    Rounding is what another order of sums may do: eps^(2/3) of the largest score.
    """
    largest = np.abs(other[np.isfinite(other)]).max(initial=0.0)
    with np.errstate(invalid="ignore"):  # of two infinities
        differences: Any = np.abs(one - other)
    same = (one == other) | (np.isnan(one) & np.isnan(other))
    close = same | (differences <= eps ** (2 / 3) * largest)
    if close.all():
        return 0.0
    # a NaN beside a number, or two infinities: no difference to speak of
    return float(np.nan_to_num(differences[~close], nan=np.inf).max())
