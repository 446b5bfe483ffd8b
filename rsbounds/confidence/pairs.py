"""Two bounds together: the top class from below, the runner-up from above."""

from __future__ import annotations

from typing import Any

import numpy as np

from rsbounds._numerics.checks import Array, broadcast, choice, either, every, operand
from rsbounds.confidence import joint
from rsbounds.confidence.counts import End, arguments, end, proved
from rsbounds.confidence.sequential import anytime_arguments, anytime_end, probability


def pair_bounds(
    count_a: Any,
    count_b: Any,
    n: Any,
    alpha: Any,
    *,
    scores: bool = False,
    rigorous: bool = False,
    method: str = "clopper-pearson",
) -> tuple[Any, Any]:
    """Joint bounds for the top class and the runner-up, at alpha/2 each.

    ``count_b`` is the largest count among the other classes. Its upper bound covers the
    true runner-up, whichever class that is, because the bound increases with the count:
    no union over the classes is needed. Class A itself must come from other samples.

    Parameters
    ----------
    count_a, count_b : array_like of int
        Counts of the top class and of the largest other class; count_a + count_b <= n.
    n, alpha, scores, rigorous
        As in `lower_bound`; alpha >= 1e-323, so that it can be halved.
    method : {"clopper-pearson", "joint"}
        "joint": Buehler's limit of z_a - z_b, one test of both counts at the whole alpha;
        n <= 1e6, one or two seconds a pair at n = 1e5. It bounds the difference and
        nothing else: what is returned is the pair (z, -z) with this difference, as good as
        any in the radius of a Gaussian (sigma/2)(z_a - z_b), and **no bounds on the two
        probabilities**, so for no other scheme. (0, 0) where nothing is certified.

    Returns
    -------
    p_a, p_b : float or ndarray
        Lower bound for A and upper bound for B, the latter capped at 1 - p_a; both hold
        together with probability at least 1 - alpha.

    Raises
    ------
    ValueError
        If an argument is outside its domain, the counts sum to more than n, or the shapes
        do not broadcast.

    References
    ----------
    Clopper and Pearson 1934, as for `lower_bound`. R. J. Buehler, Confidence intervals for the
    product of two binomial parameters, JASA 52 (1957), for the kind of limit that "joint" is.

    Examples
    --------
    >>> from rsbounds.confidence import pair_bounds
    >>> p_a, p_b = pair_bounds(900, 60, 1000, 0.001)
    >>> print(f"{p_a:.6f} {p_b:.6f}")
    0.865225 0.088655

    Half the difference of the scores, in units of sigma the radius of a Gaussian:

    >>> for method in "clopper-pearson", "joint":
    ...     z_a, z_b = pair_bounds(450, 70, 1000, 0.001, scores=True, method=method)
    ...     print(f"{method:15} {(z_a - z_b) / 2:.4f}")
    clopper-pearson 0.5107
    joint           0.5422
    """
    method = choice("method", method, ("clopper-pearson", "joint"))
    count_a, n_a, alpha_a = arguments(count_a, n, alpha, "count_a")
    count_b, n, alpha = arguments(count_b, n_a, alpha_a, "count_b")
    count_a, count_b, n = _apart(count_a, count_b, n)
    if method == "joint":
        if rigorous:
            raise ValueError(
                "rigorous must be False for a joint limit, which has no proof; got True"
            )
        found = joint_end(count_a, count_b, n, alpha)
        return (found.z[()], -found.z[()]) if scores else (found.p[()], found.q[()])
    level = half(alpha)
    lower, upper = end(count_a, n, level), end(n - count_b, n, level)
    if rigorous:
        lower = End(
            *(proved(v, form, count_a, n, level) for v, form in zip(lower, "zpq", strict=True))
        )
        upper = End(
            *(proved(v, form, n - count_b, n, level) for v, form in zip(upper, "zpq", strict=True))
        )
    z_b, p_b = capped_end(lower, upper)
    return (lower.z[()], z_b[()]) if scores else (lower.p[()], p_b[()])


def anytime_pair_bounds(
    hits_a: Any, hits_b: Any, trials: Any, alpha: Any, *, scores: bool = False
) -> tuple[Any, Any]:
    """Bounds for the top class and the runner-up that hold at all sample sizes at once.

    As `pair_bounds`, from `anytime_lower_bound` and `anytime_upper_bound` at alpha/2 each:
    sampling may stop at any time, for any reason, for instance once z_a - z_b is enough.
    The largest other count may belong to another class after every look.

    Parameters
    ----------
    hits_a, hits_b : array_like of int
        Counts so far of the top class, chosen from other samples, and of the largest other
        class; hits_a + hits_b <= trials.
    trials, alpha, scores
        As in `anytime_lower_bound`.

    Returns
    -------
    p_a, p_b : float or ndarray
        Lower bound for A and upper bound for B, the latter capped at 1 - p_a; with
        probability at least 1 - alpha both hold after every trial.

    Raises
    ------
    ValueError
        If an argument is outside its domain, the counts sum to more than the trials, or
        the shapes do not broadcast.

    Examples
    --------
    >>> from rsbounds.confidence import anytime_pair_bounds
    >>> p_a, p_b = anytime_pair_bounds(900, 60, 1000, 0.001)
    >>> print(f"{p_a:.6f} {p_b:.6f}")
    0.852594 0.098780
    """
    hits_a, trials_a, alpha_a = anytime_arguments(hits_a, trials, alpha, "hits_a")
    hits_b, trials, alpha = anytime_arguments(hits_b, trials_a, alpha_a, "hits_b")
    hits_a, hits_b, trials = _apart(hits_a, hits_b, trials, ("hits_a", "hits_b", "trials"))
    level = half(alpha)
    lower, upper = anytime_end(hits_a, trials, level), anytime_end(trials - hits_b, trials, level)
    z_b, p_b = capped_end(lower, upper)
    return (lower.z[()], z_b[()]) if scores else (lower.p[()], p_b[()])


def joint_end(count_a: Any, count_b: Any, n: Any, alpha: Any) -> End:
    """Half of Buehler's limit as a score; each argument of one shape."""
    if not np.all(n <= joint.MAX_N):
        raise ValueError(f"n must be <= {joint.MAX_N:g} for a joint limit; got {np.max(n)}")
    cases = zip(*(np.ravel(v).tolist() for v in (count_a, count_b, n, alpha)), strict=True)
    z = np.array([joint.joint_difference(*case) for case in cases]).reshape(np.shape(count_a)) / 2.0
    return End(z, *probability(z))


def half(alpha: Any) -> Array:
    """``alpha``/2, or ValueError where that isn't above 0."""
    return operand("alpha", alpha, 1e-323, nan=False) / 2.0


def capped_end(lower: End, upper: End) -> tuple[Array, Array]:
    """(z_b, p_b) from the failures' end of B, capped at the complement of A's lower end."""
    capped = upper.z <= lower.z
    return either(capped, -lower.z, -upper.z), either(capped, lower.q, upper.q)


def _apart(
    a: Any, b: Any, total: Any, names: tuple[str, str, str] = ("count_a", "count_b", "n")
) -> list[Any]:
    a, b, total = broadcast(**dict(zip(names, (a, b, total), strict=True)))
    if not every(a <= total - b):
        raise ValueError(f"{names[0]} + {names[1]} must be <= {names[2]}; got a larger sum")
    return [a, b, total]
