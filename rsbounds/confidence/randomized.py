"""The randomized Clopper-Pearson bound: exact level, at the price of a random number."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import Array
from rsbounds._numerics.rounding import EPS, round_down, round_up
from rsbounds.confidence.counts import End, arguments, clopper_pearson, from_log, score


def randomized_lower_bound(
    count: Any, n: Any, alpha: Any, seed: Any, *, scores: bool = False
) -> Any:
    """Randomized Clopper-Pearson lower bound: never below `lower_bound`.

    The p with P(X > count) + U P(X = count) = alpha for X ~ Bin(n, p) and one uniform U
    for each element, drawn from ``seed``. It lies between the Clopper-Pearson bounds for
    ``count`` and for ``count + 1``, and errs with probability exactly alpha, where
    Clopper-Pearson errs less often.

    Parameters
    ----------
    count, n, alpha, scores
        As in `lower_bound`.
    seed : int or sequence of int or numpy.random.Generator
        Source of U. Fix it before the counts are seen, one for each input (say
        ``[seed, index]``): choosing among several draws has no level.

    Returns
    -------
    float or ndarray
        At most the exact bound, and at least the Clopper-Pearson bound.

    Notes
    -----
    With ``count = n`` the equation reads U p^n = alpha: with probability alpha it has no
    solution below 1, and an infinite radius would be certified. There the bound is capped
    at alpha**(1/(n + 1)), the bound that one more success would have given. A cap can only
    lower the bound, so the level stands.

    References
    ----------
    W. L. Stevens, Fiducial limits of the parameter of a discontinuous distribution,
    Biometrika 37 (1950). V. Voracek, Treatment of statistical estimation problems in
    randomized smoothing for adversarial robustness, NeurIPS 2024.

    Examples
    --------
    >>> from rsbounds.confidence import lower_bound, randomized_lower_bound
    >>> print(f"{randomized_lower_bound(990, 1000, 0.001, [7, 0]):.6f}")
    0.976802
    >>> print(f"{lower_bound(990, 1000, 0.001):.6f}")
    0.976036
    """
    count, n, alpha = arguments(count, n, alpha)
    u = 1.0 - np.asarray(np.random.default_rng(seed).random(count.shape))
    result = randomized_end(count, n, alpha, u)
    return (result.z if scores else result.p)[()]


def randomized_end(count: NDArray[Any], n: NDArray[Any], alpha: Array, u: Array) -> End:
    """The lower bound in all its forms, for the uniforms ``u`` in (0, 1]."""
    p, q = map(np.array, clopper_pearson(count, n, alpha))
    full, none = count == n, count == 0
    p_full, q_full = from_log(_log_all(n[full], alpha[full], u[full]))
    p[full], q[full] = np.maximum(p[full], p_full), np.minimum(q[full], q_full)
    some = none & (u < alpha)
    q[some], p[some] = _from_none(n[some], alpha[some], u[some])
    inner = ~full & ~none
    some = count[inner], n[inner], alpha[inner]
    more_p, less_q = clopper_pearson(*some, u[inner])
    p[inner], q[inner] = np.maximum(p[inner], more_p), np.minimum(q[inner], less_q)
    return End(score(p, q), p, q)


def _log_all(n: NDArray[Any], alpha: Array, u: Array) -> Array:
    """log p where every trial was a success, capped; rounded down."""
    log_p = (np.log(alpha) - np.log(u)) / n
    error = 4.0 * EPS * (np.abs(np.log(alpha)) + np.abs(np.log(u))) / n
    cap = round_down(np.log(alpha) / (n + 1.0), 4.0 * EPS)
    return np.asarray(np.minimum(log_p - error, cap))


def _from_none(n: NDArray[Any], alpha: Array, u: Array) -> tuple[Array, Array]:
    """(q, p) where no trial was a success and u < alpha: (1 - u) (1 - p)^n = 1 - alpha."""
    log_q = (np.log1p(-alpha) - np.log1p(-u)) / n
    error = 4.0 * EPS * (np.abs(np.log1p(-alpha)) + np.abs(np.log1p(-u))) / n
    log_q = np.minimum(log_q + error, 0.0)
    q = np.minimum(round_up(np.exp(log_q), 2.0 * EPS), 1.0)
    return q, round_down(-np.expm1(log_q), 2.0 * EPS)
