"""Clopper-Pearson bounds on a success probability, from counts.

The lower bound at level 1 - alpha is the p with P(Bin(n, p) >= count) = alpha. It is
solved in whichever of p and q = 1 - p is smaller, so both keep their relative
precision, and at the point returned the tail is below alpha by more than the error
bound that is computed with it (docs/theory/confidence.md). The upper bound is the same
thing for the failures. The randomized bound has the level exactly, at the price of a
random number.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import (
    Array,
    are_numbers,
    as_integers,
    broadcast,
    either,
    every,
    flag,
    operand,
)
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.rounding import EPS, round_down, round_up
from rsbounds._numerics.scores import NDTRI_ERROR, ndtri
from rsbounds._numerics.threads import apply
from rsbounds.confidence.bound import Bound, End
from rsbounds_ext import kernels
from rsbounds_ext.kernels import evaluate

MAX_N = 10**15


def lower_bound(count: Any, n: Any, alpha: Any, *, scores: bool = False) -> Any:
    """Clopper-Pearson lower confidence bound on a success probability.

    Parameters
    ----------
    count : array_like of int
        Number of successes, 0 <= count <= n.
    n : array_like of int
        Number of independent trials, fixed in advance, 1 <= n <= 1e15.
    alpha : array_like of float
        Probability of error, in (0, 1).
    scores : bool
        Return the normal score z = Phi^-1(p) instead of p. Near p = 1 only the score
        keeps full precision.

    Returns
    -------
    float or ndarray
        At most the exact bound; the smaller of p and 1 - p is within 1e-11 (relative)
        of the exact one (1e-10 for alpha above 1 - 1e-14), or of the least normal
        double. ``count = 0`` gives 0 (score -inf) and ``count = n`` the closed form
        alpha**(1/n).

    Notes
    -----
    The bound holds for one look at the data: testing it again with more samples until
    it passes has no level. Use `rsbounds.confidence.SequentialTest` for that.

    References
    ----------
    C. J. Clopper and E. S. Pearson, The use of confidence or fiducial limits
    illustrated in the case of the binomial, Biometrika 26 (1934).

    Examples
    --------
    >>> from rsbounds.confidence import lower_bound
    >>> print(f"{lower_bound(990, 1000, 0.001):.6f}")
    0.976036
    >>> print(f"{lower_bound(100_000, 100_000, 0.001, scores=True):.9f}")
    3.811456563
    """
    p, q = clopper_pearson(*arguments(count, n, alpha))
    return (score(p, q) if flag("scores", scores) else p)[()]


def upper_bound(count: Any, n: Any, alpha: Any, *, scores: bool = False) -> Any:
    """Clopper-Pearson upper confidence bound on a success probability, rounded up.

    It is 1 minus the `lower_bound` of the failures, computed from whichever of the two
    is small; parameters, accuracy, errors and reference as there. ``count = n`` gives 1
    (score inf).

    Examples
    --------
    >>> from rsbounds.confidence import upper_bound
    >>> print(f"{upper_bound(0, 1000, 0.001):.8f}")
    0.00688395
    """
    count, n, alpha = arguments(count, n, alpha)
    p, q = clopper_pearson(n - count, n, alpha)
    return (-score(p, q) if flag("scores", scores) else q)[()]


def arguments(
    count: Any, n: Any, alpha: Any, name: str = "count", total: str = "n"
) -> tuple[Any, Any, Any]:
    """The three, checked and broadcast."""
    count = as_integers(name, count)
    n = as_integers(total, n, 1)
    # rounded down, a long double has a bound that is lower
    alpha = operand(
        "alpha", alpha, 0.0, 1.0, closed="neither", nan=False, towards=-np.inf
    )
    if not are_numbers((count, n, alpha)):
        count, n, alpha = broadcast(**{name: count, total: n, "alpha": alpha})
    if not every(n <= MAX_N):
        raise ArgumentError(total, f"must be <= {MAX_N:g}; got {n.max()}")
    if not every(count <= n):
        bad = count > n
        first = f"{count[bad].flat[0]} > {n[bad].flat[0]}"
        raise ArgumentError(name, f"must be <= {total}; got {first}")
    return count, n, alpha


@np.errstate(under="ignore")  # bounds may be smaller than any double
def clopper_pearson(
    count: NDArray[Any], n: NDArray[Any], alpha: Array, u: Any = 1.0
) -> tuple[Array, Array]:
    """(p, q): the lower bound rounded down and its complement rounded up.

    With u < 1 for 0 < count < n: of P(X > count) + u P(X = count) = alpha.
    """
    full = count == n
    inner = (count > 0) & (count < n)
    if are_numbers((count, n, alpha)):
        if inner:
            return signed(evaluate(kernels.binomial_bound, count, n, alpha, u))
        return _of_all(n, alpha) if full else (np.zeros(()), np.ones(()))
    p = np.zeros(count.shape)
    q = np.ones(count.shape)
    p[full], q[full] = _of_all(n[full], alpha[full])
    solved = apply(
        kernels.binomial_bound,
        count[inner] * 1.0,
        n[inner] * 1.0,
        alpha[inner],
        np.broadcast_to(u, p.shape)[inner],
        cost=5.0,
    )
    p[inner], q[inner] = signed(solved)
    return p, q


def signed(x: Any) -> tuple[Array, Array]:
    """(p, q) from p >= 0 or p - 1 < 0, the other rounded down or up."""
    in_p = x >= 0.0
    x = abs(x)
    other = 1.0 - x
    p = either(in_p, x, evaluate(np.nextafter, other, 0.0))
    return p, either(in_p, evaluate(np.nextafter, other, 1.0), x)


def _of_all(n: NDArray[Any], alpha: Array) -> tuple[Array, Array]:
    """Where every trial is a success."""
    return from_log(round_down(np.log(alpha) / n, 4.0 * EPS))


def end(count: NDArray[Any], n: NDArray[Any], alpha: Array) -> End:
    """The lower bound in all its forms, solved once."""
    p, q = clopper_pearson(count, n, alpha)
    return End(z=score(p, q), p=p, q=q)


def from_log(log_p: Array) -> tuple[Array, Array]:
    """(p, 1 - p) from log p, rounded down and up."""
    q = round_up(-np.expm1(log_p), 2.0 * EPS)
    return round_down(np.exp(log_p), 2.0 * EPS), evaluate(np.minimum, q, 1.0)


def score(p: Array, q: Array) -> Array:
    """Phi^-1(p) rounded down."""
    near = p < q
    z = ndtri(either(near, p, q))
    return round_down(either(near, z, -z), NDTRI_ERROR)


def randomized_lower_bound(
    count: Any, n: Any, alpha: Any, seed: Any, *, scores: bool = False
) -> Any:
    """Randomized Clopper-Pearson lower bound: never below `lower_bound`.

    The p with P(X > count) + U P(X = count) = alpha for X ~ Bin(n, p) and one uniform U
    for each element, drawn from ``seed``. It lies between the Clopper-Pearson bounds
    for ``count`` and for ``count + 1``, and errs with probability exactly alpha, where
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
    With ``count = n`` the equation reads U p^n = alpha: with probability alpha it has
    no solution below 1, and an infinite radius would be certified. There the bound is
    capped at alpha**(1/(n + 1)), the bound that one more success would have given. A
    cap can only lower the bound, so the level stands.

    References
    ----------
    W. L. Stevens, Fiducial limits of the parameter of a discontinuous distribution,
    Biometrika 37 (1950). V. Voracek, Treatment of statistical estimation problems in
    randomized smoothing for adversarial robustness, NeurIPS 2024.

    Examples
    --------
    >>> from rsbounds.confidence import randomized_lower_bound
    >>> print(f"{randomized_lower_bound(990, 1000, 0.001, [7, 0]):.6f}")  # not .976036
    0.976802
    """
    count, n, alpha = arguments(count, n, alpha)
    try:
        generator = np.random.default_rng(seed)
    except (TypeError, ValueError) as error:
        raise ArgumentError("seed", f"must seed a generator: {error}") from None
    u = 1.0 - np.asarray(generator.random(count.shape))
    result = randomized_end(count, n, alpha, u)
    return (result.z if flag("scores", scores) else result.p)[()]


@np.errstate(under="ignore")  # bounds may be smaller than any double
def randomized_end(count: NDArray[Any], n: NDArray[Any], alpha: Array, u: Array) -> End:
    """The lower bound in all its forms, for the uniforms ``u`` in (0, 1]."""
    p, q = map(np.array, clopper_pearson(count, n, alpha))
    full = count == n
    none = count == 0
    inner = ~full & ~none

    # all successes: u p^n = alpha, capped by the bound of one success more
    log_alpha = np.log(alpha[full])
    log_u = np.log(u[full])
    error = 4.0 * EPS * (np.abs(log_alpha) + np.abs(log_u)) / n[full]
    cap = round_down(log_alpha / (n[full] + 1.0), 4.0 * EPS)
    p_full, q_full = from_log(np.minimum((log_alpha - log_u) / n[full] - error, cap))
    p[full] = np.maximum(p[full], p_full)
    q[full] = np.minimum(q[full], q_full)

    # none: (1 - u) (1 - p)^n = 1 - alpha, where that has a solution above 0
    above = none & (u < alpha)
    log_alpha = np.log1p(-alpha[above])
    log_u = np.log1p(-u[above])
    error = 4.0 * EPS * (np.abs(log_alpha) + np.abs(log_u)) / n[above]
    log_q = np.minimum((log_alpha - log_u) / n[above] + error, 0.0)
    q[above] = np.minimum(round_up(np.exp(log_q), 2.0 * EPS), 1.0)
    p[above] = round_down(-np.expm1(log_q), 2.0 * EPS)

    # the others: never below the bound that is not randomized
    more_p, less_q = clopper_pearson(count[inner], n[inner], alpha[inner], u[inner])
    p[inner] = np.maximum(p[inner], more_p)
    q[inner] = np.minimum(q[inner], less_q)
    return End(z=score(p, q), p=p, q=q)


def _clopper_pearson(k: Any, n: NDArray[Any], alpha: Array, u: float | None) -> End:
    return end(k, n, alpha)


def _randomized(k: Any, n: NDArray[Any], alpha: Array, u: float | None) -> End:
    return randomized_end(k, n, alpha, np.asarray(u))


CLOPPER_PEARSON = Bound("clopper-pearson", "counts", _clopper_pearson)
RANDOMIZED = Bound("randomized", "counts", _randomized, uniform=True)
