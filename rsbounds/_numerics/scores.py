"""Normal scores of probabilities.

Error budget. A radius must be at most its true value and within 1e-11 of it (relative).
Scores come from the package's own ndtri; NDTRI_ERROR is the bound of its relative error
that :func:`rsbounds.special.error_bound` states. A caller adds what its own arithmetic
loses and rounds once with ``round_down`` or ``round_up``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rsbounds._numerics.checks import (
    Array,
    Floats,
    broadcast,
    check,
    either,
    every,
    flag,
    operand,
)
from rsbounds._numerics.rounding import EPS, flag_nan, round_down, round_up
from rsbounds._numerics.threads import apply
from rsbounds_ext import kernels

NDTRI_ERROR = 2e-15
LOG_NDTR_ERROR = 4e-15  # of special.log_ndtr, relative
LOG_GAP_ERROR = (3e-14, 1e-14)  # of special.log_ndtr_gap, absolute and relative
SCORE_LIMIT = 1e6  # of finite scores, in the kernels


class ScorePair(NamedTuple):
    """The scores of p_a and p_b and half their gap, each rounded to its safe side."""

    z_a: Floats  # at most Phi^-1(p_a)
    z_b: Floats  # at least Phi^-1(p_b)
    half: Floats  # at most max(z_a - z_b, 0)/2 of the true scores, within 1e-11 of it

    @classmethod
    def of(
        cls, p_a: ArrayLike, p_b: ArrayLike | None = None, *, scores: bool = False
    ) -> ScorePair:
        """The pair of a lower bound ``p_a`` and an upper bound ``p_b``, broadcast.

        ``p_b=None`` stands for 1 - p_a, so z_b = -z_a exactly. With ``scores=True``
        both arguments are scores already, which are kept as they are. NaN passes.
        """
        scores = flag("scores", scores)
        a = _values("p_a", p_a, scores, -np.inf)
        if p_b is None:
            z = a if scores else ndtri(a)
            half = round_down(
                either(z <= 0.0, 0.0, z), EPS if scores else NDTRI_ERROR + EPS
            )
            z = z if scores else round_down(z, NDTRI_ERROR)
            return cls(z, -z, half)
        a, b = broadcast(p_a=a, p_b=_values("p_b", p_b, scores, np.inf))
        if scores:
            return cls(a, b, _half(a, b, EPS))
        half = flag_nan(apply(kernels.half_gap, a, b, cost=0.2))
        return cls(
            round_down(ndtri(a), NDTRI_ERROR), round_up(ndtri(b), NDTRI_ERROR), half
        )

    def limited(self) -> ScorePair:
        """Move the scores into the range of the kernels, |z| <= SCORE_LIMIT, safely.

        Infinite scores stay; a score that would have to move to the other side becomes
        infinite.
        """
        size_a: Any = abs(self.z_a)
        size_b: Any = abs(self.z_b)
        if every((size_a <= SCORE_LIMIT) & (size_b <= SCORE_LIMIT)):
            return self
        top = np.where(np.isinf(self.z_a), self.z_a, np.minimum(self.z_a, SCORE_LIMIT))
        bottom = np.where(
            np.isinf(self.z_b), self.z_b, np.maximum(self.z_b, -SCORE_LIMIT)
        )
        z_a = np.where(top < -SCORE_LIMIT, -np.inf, top)
        z_b = np.where(bottom > SCORE_LIMIT, np.inf, bottom)
        same = (z_a == self.z_a) & (z_b == self.z_b)
        return ScorePair(z_a, z_b, np.where(same, self.half, _half(z_a, z_b, EPS)))


def score_of(
    name: str, p: ArrayLike, *, scores: bool = False, limit: bool = False
) -> Floats:
    """Score of a probability, relative error NDTRI_ERROR; ``p`` itself if it is one.

    ``limit`` refuses finite scores beyond the range of the kernels.
    """
    scores = flag("scores", scores)
    value = _values(name, p, scores)
    z = value if scores else ndtri(value)
    if limit:
        good = ~(np.abs(z) > SCORE_LIMIT) | np.isinf(z)
        check(name, z, good, "a score in [-1e6, 1e6] or infinite")
    return z


def ndtri(p: Array) -> Floats:
    """Phi^-1 of checked probabilities, relative error NDTRI_ERROR.

    NaN passes without a flag.
    """
    return apply(kernels.ndtri, p, cost=0.03)


def log_gap_below(log: Any) -> Any:
    """A lower bound of the true logarithm, of one that special.log_ndtr_gap returned.

    What :func:`rsbounds.special.error_bound` says of it, without its checks.
    """
    absolute, relative = LOG_GAP_ERROR
    return log - (absolute + relative * np.abs(log))


def moved_scores(z: Floats, step: Floats) -> tuple[Floats, Floats]:
    """Return z - step and z + step, rounded outward; an infinite z stays.

    A NaN in either gives NaN, without the flag.
    """
    # the difference of two infinities, and what is smaller than any double
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        low = np.where(np.isinf(z), z, round_down(z - step, EPS))
        high = np.where(np.isinf(z), z, round_up(z + step, EPS))
    unknown = np.isnan(step)
    low = np.where(unknown, np.nan, low)
    high = np.where(unknown, np.nan, high)
    return low[()], high[()]


def _half(z_a: Floats, z_b: Floats, error: float) -> Floats:
    """max(z_a - z_b, 0)/2, rounded down."""
    if isinstance(z_a, float) and isinstance(z_b, float):
        # Python's numbers, as NumPy's have a flag for halves below any double
        half: Any = np.float64(
            float(z_a) / 2 - float(z_b) / 2 if not z_a <= z_b else 0.0
        )
    else:
        with np.errstate(under="ignore"):
            half = np.subtract(
                z_a / 2, z_b / 2, where=~(z_a <= z_b), out=np.zeros(np.shape(z_a))
            )
    return round_down(half, error)


def _values(
    name: str, value: ArrayLike, scores: bool, towards: float | None = None
) -> Array:
    low, high = (-np.inf, np.inf) if scores else (0.0, 1.0)
    return operand(name, value, low, high, towards=towards)
