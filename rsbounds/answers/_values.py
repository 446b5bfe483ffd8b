"""Intervals for quantiles of real outputs under noise.

Where the p-quantile at x' is below a value L, the event "output < L" has probability at
least p at x', so at least Phi(z - R/sigma) at x, z = Phi^-1(p). The k-th smallest of n
samples is such an L unless fewer than k of them fall where that event ends: P(Bin(n,
Phi(z - R/sigma)) <= k - 1). "Below" and "at most" are kept apart, so ties and infinite
outputs need no assumption.
"""

import warnings
from functools import lru_cache
from typing import Any

import numpy as np

from rsbounds._numerics.checks import Array, as_floats, operand
from rsbounds._numerics.rounding import round_down, round_up
from rsbounds._numerics.scores import NDTRI_ERROR, ndtri
from rsbounds.confidence import upper_bound
from rsbounds.schemes import Scheme

Ranks = tuple[int, int]  # from below and from above, 1 ... n; 0: n does not reach


def value_interval(
    samples: Any,
    radius: float,
    *,
    p: float = 0.5,
    alpha: float,
    scheme: Scheme,
    sigma: float | None = None,
) -> tuple[Any, Any]:
    """Where the p-quantile of a real output stays within a radius.

    Parameters
    ----------
    samples : array_like, shape (n,) or (n, outputs)
        Outputs of the model on n independent noisy copies of the input; infinities and
        ties are allowed. A NaN counts against both ends.
    radius : float
        How far the input moves, >= 0.
    p : float
        Which quantile, in (0, 1): 0.5 is the median.
    alpha : float
        Probability that the interval of one output is wrong, in (0, 1). For all outputs
        together give alpha/outputs.
    scheme, sigma
        As in :func:`top_k_radius`.

    Returns
    -------
    low, high : float, or ndarray of shape (outputs,)
        With probability 1 - alpha every p-quantile anywhere within the radius lies
        between. -inf or inf where n samples can't show an end, of which a
        RuntimeWarning tells.

    References ---------- Chiang et al., Detection as regression: certified object
    detection with median smoothing, 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.answers import value_interval
    >>> from rsbounds.schemes import gaussian
    >>> samples = 0.25 * np.random.default_rng(0).standard_normal(10_000)  # of f(x) = x at 0
    >>> low, high = value_interval(samples, 0.125, alpha=0.001, scheme=gaussian(0.25))
    >>> bool(-0.15 < low < -0.125 < 0.125 < high < 0.15)  # the truth: -0.125 and 0.125
    True
    """
    ordered = sorted_samples(samples)
    n = len(ordered)
    ranks = order_ranks(n, radius, p, alpha, scheme, sigma)
    if 0 in ranks:
        warnings.warn(beyond(n, radius), RuntimeWarning, stacklevel=2)
    low, high = interval(ordered, ranks)
    return (low, high) if np.ndim(samples) > 1 else (low[0], high[0])


def sorted_samples(samples: Any) -> Array:
    """The samples of each output in increasing order, NaN last, shape (n, outputs)."""
    array = as_floats("samples", samples, exact=True)
    if array.ndim not in (1, 2) or not array.size:
        raise ValueError(
            f"samples must have shape (n,) or (n, outputs), at least one; got {array.shape}"
        )
    return np.asarray(np.sort(array.reshape(len(array), -1), axis=0))


def order_ranks(
    n: int,
    radius: float,
    p: float,
    alpha: float,
    scheme: Scheme,
    sigma: float | None = None,
) -> Ranks:
    """How far from below and from above the order statistics of the two ends lie; 0:
    nowhere.
    """
    quantile = operand("p", p, 0.0, 1.0, closed="neither", nan=False)
    level = float(operand("alpha", alpha, 0.0, 1.0, closed="neither", nan=False)) / 2.0
    as_floats("radius", radius, 0.0, nan=False)
    z = ndtri(quantile)
    low = scheme.transport(round_down(z, NDTRI_ERROR), radius, sigma)[0]
    high = scheme.transport(round_up(z, NDTRI_ERROR), radius, sigma)[1]
    return _rank(n, level, float(low)), _rank(n, level, -float(high))


@lru_cache(maxsize=4096)
def _rank(n: int, level: float, z: float) -> int:
    """The largest k with P(Bin(n, Phi(z)) <= k - 1) <= level; 0 if there is none."""

    def shown(count: int) -> bool:
        return float(upper_bound(count, n, level, scores=True)) <= z

    least, most = -1, n  # of these counts the first is shown, the second is not
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (middle, most) if shown(middle) else (least, middle)
    return least + 1


def interval(ordered: Array, ranks: Ranks) -> tuple[Array, Array]:
    """The order statistics of the ranks; void samples are below the low and above the
    high end.
    """
    (below, above), n, outputs = ranks, *ordered.shape
    void, column = np.isnan(ordered).sum(axis=0), np.arange(outputs)
    place = below - 1 - void  # NaN is sorted last
    low = np.where(
        (below > 0) & (place >= 0), ordered[np.maximum(place, 0), column], -np.inf
    )
    high = np.full(outputs, np.inf)
    if above:
        high = np.where(above > void, ordered[n - above], np.inf)
    return low, high


def at_input(ordered: Array, p: float) -> Array:
    """The p-quantiles of the samples themselves, void ones left out; NaN where all are."""
    valid = (~np.isnan(ordered)).sum(axis=0)
    place = np.maximum(np.ceil(p * valid).astype(np.int64) - 1, 0)
    return np.asarray(ordered[place, np.arange(ordered.shape[1])])


def table(text: str) -> list[list[float]]:
    """The numbers of a row's column: one list for each radius."""
    return [[float(v) for v in part.split(",")] for part in text.split(";")]


def beyond(n: int, radius: float) -> str:
    """The message for a radius beyond what n samples show."""
    return f"{n} samples can't show both ends at radius {radius:g}: the interval is infinite"
