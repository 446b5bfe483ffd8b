"""Clopper-Pearson bounds on a success probability, from counts.

The lower bound at level 1 - alpha is the p with P(Bin(n, p) >= count) = alpha. It is
solved in whichever of p and q = 1 - p is smaller and rounded outward there, so both
tails keep their relative precision; the upper bound is the same thing for the failures.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special as sc

from rsbounds._numerics.checks import (
    Array,
    are_numbers,
    as_integers,
    broadcast,
    either,
    every,
    operand,
)
from rsbounds._numerics.rounding import EPS, round_down, round_up
from rsbounds._numerics.scores import NDTRI_ERROR, ndtri
from rsbounds._numerics.search import outward
from rsbounds_ext.kernels import evaluate

MAX_N = 10**12
LEAST_LEVEL = 1e-200  # SciPy's beta function underflows in tails below 1e-243


class End(NamedTuple):
    """A lower bound p, its complement q = 1 - p and its score: rounded down, up and down.

    For the failures the same three are an upper bound on the successes: q, and the score -z.
    """

    z: Array
    p: Array
    q: Array


def lower_bound(count: Any, n: Any, alpha: Any, *, scores: bool = False) -> Any:
    """Clopper-Pearson lower confidence bound on a success probability.

    Parameters
    ----------
    count : array_like of int
        Number of successes, 0 <= count <= n.
    n : array_like of int
        Number of independent trials, fixed in advance, 1 <= n <= 1e12.
    alpha : array_like of float
        Probability of error, in (0, 1).
    scores : bool
        Return the normal score z = Phi^-1(p) instead of p. Near p = 1 only the score
        keeps full precision.

    Returns
    -------
    float or ndarray
        At most the exact bound. For alpha >= 1e-100 the smaller of p and 1 - p is within
        2e-11 + 2e-19 n (relative) of the exact one; for a smaller alpha the bound may be 0,
        and below 1e-200 it is unless ``count = n``. ``count = 0`` gives 0 (score -inf) and
        ``count = n`` the closed form alpha**(1/n).

    Raises
    ------
    ValueError
        If an argument is outside its domain or the shapes do not broadcast.

    Notes
    -----
    The bound holds for one look at the data: testing it again with more samples until it
    passes has no level. Use `rsbounds.confidence.SequentialTest` for that.

    References
    ----------
    C. J. Clopper and E. S. Pearson, The use of confidence or fiducial limits illustrated
    in the case of the binomial, Biometrika 26 (1934).

    Examples
    --------
    >>> from rsbounds.confidence import lower_bound
    >>> print(f"{lower_bound(990, 1000, 0.001):.6f}")
    0.976036
    >>> print(f"{lower_bound(100_000, 100_000, 0.001, scores=True):.9f}")
    3.811456563
    """
    p, q = clopper_pearson(*arguments(count, n, alpha))
    return (score(p, q) if scores else p)[()]


def upper_bound(count: Any, n: Any, alpha: Any, *, scores: bool = False) -> Any:
    """Clopper-Pearson upper confidence bound on a success probability, rounded up.

    It is 1 minus the `lower_bound` of the failures, computed from whichever of the two is
    small; parameters, accuracy, errors and reference as there. ``count = n`` gives 1
    (score inf).

    Examples
    --------
    >>> from rsbounds.confidence import upper_bound
    >>> print(f"{upper_bound(0, 1000, 0.001):.8f}")
    0.00688395
    """
    count, n, alpha = arguments(count, n, alpha)
    p, q = clopper_pearson(n - count, n, alpha)
    return (-score(p, q) if scores else q)[()]


def arguments(
    count: Any, n: Any, alpha: Any, name: str = "count", total: str = "n"
) -> tuple[Any, Any, Any]:
    """The three, checked and broadcast."""
    count, n = as_integers(name, count), as_integers(total, n, 1)
    alpha = operand("alpha", alpha, 0.0, 1.0, closed="neither", nan=False)
    if not are_numbers((count, n, alpha)):
        count, n, alpha = broadcast(**{name: count, total: n, "alpha": alpha})
    if not every(n <= MAX_N):
        raise ValueError(f"{total} must be <= {MAX_N:g}; got {n.max()}")
    if not every(count <= n):
        bad = count > n
        first = f"{count[bad].flat[0]} > {n[bad].flat[0]}"
        raise ValueError(f"{name} must be <= {total}; got {first}")
    return count, n, alpha


def clopper_pearson(count: NDArray[Any], n: NDArray[Any], alpha: Array) -> tuple[Array, Array]:
    """(p, q): the lower bound rounded down and its complement rounded up."""
    full, inner = count == n, (count > 0) & (count < n) & (alpha >= LEAST_LEVEL)
    if are_numbers((count, n, alpha)):
        if inner:
            return _of_some(count, n, alpha)
        return _of_all(n, alpha) if full else (np.zeros(()), np.ones(()))
    p, q = np.zeros(count.shape), np.ones(count.shape)
    with np.errstate(under="ignore"):
        p[full], q[full] = _of_all(n[full], alpha[full])
        p[inner], q[inner] = _of_some(count[inner], n[inner], alpha[inner])
    return p, q


def _of_all(n: NDArray[Any], alpha: Array) -> tuple[Array, Array]:
    """Where every trial is a success."""
    return from_log(round_down(np.log(alpha) / n, 4.0 * EPS))


def _of_some(count: NDArray[Any], n: NDArray[Any], alpha: Array) -> tuple[Array, Array]:
    """Where there are successes and failures."""
    k, m = count * 1.0, n * 1.0
    in_p = evaluate(sc.betainc, k, m - k + 1.0, 0.5) > alpha  # the bound is below 1/2
    return both(_solve(k, m, alpha, in_p), in_p)


def end(count: NDArray[Any], n: NDArray[Any], alpha: Array) -> End:
    """The lower bound in all its forms, solved once."""
    p, q = clopper_pearson(count, n, alpha)
    return End(score(p, q), p, q)


def from_log(log_p: Array) -> tuple[Array, Array]:
    """(p, 1 - p) from log p, rounded down and up."""
    q = round_up(-np.expm1(log_p), 2.0 * EPS)
    return round_down(np.exp(log_p), 2.0 * EPS), evaluate(np.minimum, q, 1.0)


def both(x: Array, in_p: NDArray[np.bool_]) -> tuple[Array, Array]:
    """(p, q) from the one of them that ``x`` is, the other rounded down or up."""
    other = 1.0 - x
    p = either(in_p, x, evaluate(np.nextafter, other, 0.0))
    return p, either(in_p, evaluate(np.nextafter, other, 1.0), x)


def score(p: Array, q: Array) -> Array:
    """Phi^-1(p) rounded down."""
    return round_down(either(p < q, ndtri(p), -ndtri(q)), NDTRI_ERROR)


def tail_error(n: Array) -> Array:
    """Error bound of `tail`, as a multiple of its slope.

    The largest found against Arb near a Clopper-Pearson bound: 5e-13 + 2e-20 n. (SciPy's
    inverse beta function, in the same unit, is off by up to 1.4e-17 n.)
    """
    return 5e-12 + 4e-20 * n


def tail(
    k: Array, n: Array, x: Array, in_p: NDArray[np.bool_], at_least: NDArray[np.bool_]
) -> tuple[Array, Array]:
    """P(Bin(n, p) >= k) or, where not ``at_least``, P(Bin(n, p) < k); p = x or 1 - x.

    Also its slope |dP / d log x|, to a few digits.
    """
    return _tail(*_beta(k, n, in_p), x, in_p == at_least)


def _tail(a: Array, b: Array, x: Array, below: NDArray[np.bool_]) -> tuple[Array, Array]:
    """The beta law's probability below x, above it elsewhere, and the slope."""
    value = _function(below, sc.betainc, sc.betaincc, a, b, x)
    log = evaluate(sc.xlogy, a, x) + evaluate(sc.xlog1py, b - 1.0, -x)
    return value, evaluate(np.exp, log - evaluate(sc.betaln, a, b))


def _beta(k: Array, n: Array, in_p: NDArray[np.bool_]) -> tuple[Array, Array]:
    """The parameters of the beta law of p or, elsewhere, of q."""
    other = n - k + 1.0
    return either(in_p, k, other), either(in_p, other, k)


def _function(first: Any, f: np.ufunc, g: np.ufunc, *args: Array) -> Any:
    """f(*args) where ``first``, g(*args) elsewhere; for numbers the one of them alone."""
    if isinstance(first, np.bool_):
        return evaluate(f if first else g, *args)
    return np.where(first, f(*args), g(*args))


def _solve(k: Array, n: Array, alpha: Array, in_p: NDArray[np.bool_]) -> Array:
    """The smaller of p and q, rounded outward: p down where ``in_p``, q up elsewhere.

    From SciPy's inverse a step outward by twice the tail's error, on the smaller tail. The point
    is taken if the tail there is beyond its target by one to three times that error.
    """
    small = alpha <= 0.5
    target = either(small, alpha, 1.0 - alpha)
    rising = in_p == small  # the smaller tail increases with x
    a, b = _beta(k, n, in_p)
    root: Array = _function(rising, sc.betaincinv, sc.betainccinv, a, b, target)
    error = tail_error(n)
    margin = either(in_p, -2.0 * error, 2.0 * error)

    def found(x: Array) -> tuple[Array, Array, Array]:
        """The tail at x; how far it is beyond its target; how far its error reaches."""
        value, slope = _tail(a, b, x, rising)
        beyond = either(small, target - value, value - target)
        return value, beyond, evaluate(np.multiply, error, slope)

    x: Array = evaluate(np.multiply, root, 1.0 + margin)
    at_x = found(x)
    if every(_near(*at_x)):
        return x
    with np.errstate(all="ignore"):
        for _ in range(2):  # SciPy's inverse is off for large n: Newton's steps
            value, _, reach = at_x
            step = either(rising, -value, value) * np.log(value / target) * error / reach + margin
            step = np.clip(step, -1e-3, 1e-3)
            root = np.where(_near(*at_x) | np.isnan(step), root, root * np.exp(step))
            at_x = found(root * (1.0 + margin))

        def accepted(x: Array) -> NDArray[np.bool_]:
            _, beyond, reach = found(x)
            good: NDArray[np.bool_] = beyond >= reach
            return good

        return outward(root, margin, accepted)


def _near(value: Array, beyond: Array, reach: Array) -> Any:
    return (beyond >= reach) & (beyond <= 3.0 * reach)
