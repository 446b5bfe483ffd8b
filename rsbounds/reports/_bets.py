"""Bounds of the mean of bounded values, by bets against each mean that it may have.

Proof and choice of the bets: docs/theory/confidence.md, "The mean of bounded values".
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from rsbounds._numerics.checks import Array

_PARTS = 16
#: Shares of the wealth that bets put at risk, and how much of it bets so: half risks
#: all of its wealth, which loses least where hardly any value differs from the others.
_RISKED = np.append((np.arange(_PARTS) + 0.5) / _PARTS, 1.0)
_STAKES = np.append(np.full(_PARTS, 0.5 / _PARTS), 0.5)
#: Computed logarithms of wealth are off by less: a sum of up to a million logarithms,
#: each below 746, has an error below 3e-6.
_SLACK = 1e-5
_HALVINGS = 60


def lower_mean(values: ArrayLike, counts: ArrayLike, alpha: float) -> Array:
    """Lower bounds of means of values in [0, 1], false with probability alpha at most.

    Whoever thinks that the mean is m multiplies wealth by 1 - f + f v / m at a value v
    and expects to keep it. Wealth that starts as 1 and is spread over several f reaches
    1 / alpha with probability alpha at most (Markov) where the mean is m, and falls in
    m. So the m at which it reaches 1 / alpha is a lower bound. The order of the values
    doesn't matter.

    Parameters
    ----------
    values : array_like, shape (k,)
        Values, or what is nowhere above them.
    counts : array_like, shape (..., k)
        How often each of them was drawn.
    alpha : float
        Probability of error.

    Returns
    -------
    array, shape (...)
        The bounds, rounded down.
    """
    seen = np.asarray(values, dtype=np.float64)
    times = np.asarray(counts, dtype=np.float64)
    high = times @ seen / times.sum(axis=-1)
    low = np.zeros(high.shape)
    needed = math.log(1 / alpha) + _SLACK
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        reached = _log_wealth(seen, times, middle) >= needed
        low = np.where(reached, middle, low)
        high = np.where(reached, high, middle)
    return low


def _log_wealth(values: Array, counts: Array, means: Array) -> Array:
    """The logarithm of the wealth after all bets against each mean; -inf at 0."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        odds = values / means[..., None]
        gains = np.stack(
            [np.log(1 - f + f * odds) * counts for f in _RISKED.tolist()], axis=-2
        )
        # a value that was never drawn changes nothing; against a mean of 0 nobody bets
        logs = np.where(counts[..., None, :] > 0, gains, 0.0).sum(axis=-1)
        logs = np.where(means[..., None] > 0, logs, -np.inf)
        largest = np.maximum(logs.max(axis=-1, keepdims=True), -1e300)
        wealth = np.exp(logs - largest) @ _STAKES
        total: Array = largest[..., 0] + np.log(wealth)
    return total
