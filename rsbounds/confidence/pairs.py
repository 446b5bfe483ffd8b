"""Two bounds together: the top class from below, the runner-up from above."""

from typing import Any

from rsbounds._numerics.checks import Array, broadcast, choice, either, every, operand
from rsbounds.confidence.counts import End, arguments, end
from rsbounds.confidence.sequential import anytime_end, anytime_level


def pair_bounds(
    count_a: Any,
    count_b: Any,
    n: Any,
    alpha: Any,
    *,
    scores: bool = False,
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
    n, alpha, scores
        As in `lower_bound`; alpha >= 1e-323, so that it can be halved.
    method : {"clopper-pearson", "anytime"}
        "anytime": from `anytime_lower_bound` and `anytime_upper_bound`, alpha <= 1/2. The
        bounds hold after every trial together, so sampling may stop at any time, for any
        reason, and the runner-up may be another class at every look.

    Returns
    -------
    p_a, p_b : float or ndarray
        Lower bound for A and upper bound for B, the latter capped at 1 - p_a; both hold
        together with probability at least 1 - alpha.

    Examples
    --------
    >>> from rsbounds.confidence import pair_bounds
    >>> for method in "clopper-pearson", "anytime":
    ...     p_a, p_b = pair_bounds(900, 60, 1000, 0.001, method=method)
    ...     print(f"{method:15} {p_a:.6f} {p_b:.6f}")
    clopper-pearson 0.865225 0.088655
    anytime         0.852594 0.098780
    """
    anytime = choice("method", method, ("clopper-pearson", "anytime")) == "anytime"
    if anytime:
        anytime_level(alpha)
    count_a, n_a, alpha_a = arguments(count_a, n, alpha, "count_a")
    count_b, n, alpha = arguments(count_b, n_a, alpha_a, "count_b")
    count_a, count_b, n = broadcast(count_a=count_a, count_b=count_b, n=n)
    if not every(count_a <= n - count_b):
        raise ValueError("count_a + count_b must be <= n; got a larger sum")
    level, bound = half(alpha), anytime_end if anytime else end
    lower, upper = bound(count_a, n, level), bound(n - count_b, n, level)
    z_b, p_b = capped_end(lower, upper)
    return (lower.z[()], z_b[()]) if scores else (lower.p[()], p_b[()])


def half(alpha: Any) -> Array:
    """``alpha``/2, or ValueError where that isn't above 0."""
    return operand("alpha", alpha, 1e-323, nan=False) / 2.0


def capped_end(lower: End, upper: End) -> tuple[Array, Array]:
    """(z_b, p_b) from the failures' end of B, capped at the complement of A's lower end."""
    capped = upper.z <= lower.z
    return either(capped, -lower.z, -upper.z), either(capped, lower.q, upper.q)
