"""Clopper-Pearson bounds on a success probability, from counts.

The lower bound at level 1 - alpha is the p with P(Bin(n, p) >= count) = alpha. It is
solved in whichever of p and q = 1 - p is smaller, so both keep their relative
precision, and at the point returned the tail is below alpha by more than the error
bound that is computed with it (docs/theory/confidence.md). The upper bound is the same
thing for the failures.
"""

from __future__ import annotations

from typing import Any, NamedTuple

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
from rsbounds._numerics.levels import warn_of_confidence
from rsbounds._numerics.rounding import EPS, round_down, round_up
from rsbounds._numerics.scores import NDTRI_ERROR, ndtri
from rsbounds._numerics.threads import apply
from rsbounds.confidence.bound import Bound, End
from rsbounds_ext import kernels
from rsbounds_ext.kernels import evaluate, scalar

MAX_N = 10**15
_WHOLE = frozenset({int, np.int64})


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
        At most the exact bound. The score is that of a p whose smaller side, p or
        1 - p, is within 1e-11 (relative) of the exact one (1e-10 for alpha above 1 -
        1e-14), or of the least normal double; p itself is within that or 1e-15.
        ``count = 0`` gives 0 (score -inf) and ``count = n`` the closed form
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
    scores = flag("scores", scores)
    kernel = kernels.share_lower_score if scores else kernels.share_lower
    number = _of_numbers(kernel, count, n, alpha)
    if number is None:
        p, q = clopper_pearson(*arguments(count, n, alpha))
        number = (score(p, q) if scores else p)[()]
    warn_of_confidence(alpha, stacklevel=2)
    return number


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
    scores = flag("scores", scores)
    kernel = kernels.share_upper_score if scores else kernels.share_upper
    number = _of_numbers(kernel, count, n, alpha)
    if number is None:
        count, n, alpha = arguments(count, n, alpha)
        p, q = clopper_pearson(n - count, n, alpha)
        number = (-score(p, q) if scores else q)[()]
    warn_of_confidence(alpha, stacklevel=2)
    return number


def _of_numbers(kernel: Any, count: Any, n: Any, alpha: Any) -> Any:
    """What the checked way returns for most numbers; None where it must be asked."""
    if type(count) not in _WHOLE or type(n) not in _WHOLE:
        return None
    number = scalar(kernel, count, n, alpha)
    return number if number is not None and number == number else None


class Interval(NamedTuple):
    """Both ends of a confidence interval: lower rounded down, upper rounded up."""

    lower: Any
    upper: Any


def interval(count: Any, n: Any, alpha: Any, *, scores: bool = False) -> Interval:
    """Clopper-Pearson interval: both bounds, each with half of `alpha`.

    The true probability is outside with probability at most `alpha`. The ends are
    `lower_bound` and `upper_bound` at alpha/2; parameters, accuracy, errors and
    reference as there.

    Examples
    --------
    >>> from rsbounds.confidence import interval
    >>> lower, upper = interval(9, 10, 0.05)
    >>> print(f"{lower:.8f} {upper:.8f}")
    0.55498388 0.99747142
    """
    count, n, alpha = arguments(count, n, alpha)
    warn_of_confidence(alpha, stacklevel=2)
    half = 0.5 * alpha
    lower = lower_bound(count, n, half, scores=scores)
    return Interval(lower, upper_bound(count, n, half, scores=scores))


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
    count: NDArray[Any], n: NDArray[Any], alpha: Array
) -> tuple[Array, Array]:
    """(p, q): the lower bound rounded down and its complement rounded up."""
    full = count == n
    inner = (count > 0) & (count < n)
    if are_numbers((count, n, alpha)):
        if inner:
            return signed(evaluate(kernels.binomial_bound, count, n, alpha))
        return _of_all(n, alpha) if full else (np.zeros(()), np.ones(()))
    p = np.zeros(count.shape)
    q = np.ones(count.shape)
    p[full], q[full] = _of_all(n[full], alpha[full])
    p[inner], q[inner] = signed(_solved(count[inner], n[inner], alpha[inner]))
    return p, q


def _solved(count: NDArray[Any], n: NDArray[Any], alpha: Array) -> Array:
    """The kernel's bounds, each count once where the other numbers are one."""
    one_law = count.size > 1 and (n == n[0]).all() and (alpha == alpha[0]).all()
    if not one_law:
        law = count * 1.0, n * 1.0, alpha
        return np.asarray(apply(kernels.binomial_bound, *law, cost=5.0))
    distinct, place = np.unique(count, return_inverse=True)
    bounds = apply(
        kernels.binomial_bound, distinct * 1.0, float(n[0]), float(alpha[0]), cost=5.0
    )
    return np.asarray(bounds)[place]


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


CLOPPER_PEARSON = Bound("clopper-pearson", "counts", end)
