"""The list of bounds, and the pair from two counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from rsbounds._numerics.checks import broadcast, choice, every, flag
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.levels import warn_of_confidence
from rsbounds._numerics.registry import Registry
from rsbounds.confidence.bound import Bound, capped_end, check_entry, half
from rsbounds.confidence.counts import CLOPPER_PEARSON, arguments
from rsbounds.confidence.exact import EXACT
from rsbounds.confidence.sequential import ANYTIME
from rsbounds.confidence.soft import BETTING, CHERNOFF, MAURER_PONTIL
from rsbounds.confidence.staged import STAGED

#: The bounds by name; installed packages add to them through the entry points
#: ``rsbounds.bounds``.
BOUNDS: Registry[Bound] = Registry(
    "rsbounds.bounds",
    [
        CLOPPER_PEARSON,
        ANYTIME,
        STAGED,
        EXACT,
        CHERNOFF,
        MAURER_PONTIL,
        BETTING,
    ],
    check_entry,
)


def pair_bounds(
    count_a: Any,
    count_b: Any,
    n: Any,
    alpha: Any,
    *,
    scores: bool = False,
    method: str = CLOPPER_PEARSON.name,
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
        "anytime": from `anytime_lower_bound` and `anytime_upper_bound`, alpha <= 1/2.
        The bounds hold after every trial together, so sampling may stop at any time,
        for any reason, and the runner-up may be another class at every look.

    Returns
    -------
    p_a, p_b : float or ndarray
        Lower bound for A and upper bound for B, the latter capped at 1 - p_a; both hold
        together with probability at least 1 - alpha.

    Raises
    ------
    ValueError
        If an argument is out of its domain, or the shapes do not broadcast.

    Examples
    --------
    >>> from rsbounds.confidence import pair_bounds
    >>> for method in "clopper-pearson", "anytime":
    ...     p_a, p_b = pair_bounds(900, 60, 1000, 0.001, method=method)
    ...     print(f"{method:15} {p_a:.6f} {p_b:.6f}")
    clopper-pearson 0.865225 0.088655
    anytime         0.852594 0.098780
    """
    bounds = {bound.name: bound for bound in (CLOPPER_PEARSON, ANYTIME)}
    bound = bounds[choice("method", method, tuple(bounds))]
    count_a, n_a, alpha_a = arguments(count_a, n, alpha, "count_a")
    count_b, n, alpha = arguments(count_b, n_a, alpha_a, "count_b")
    if not every(alpha <= bound.most_alpha):
        raise ArgumentError(
            "alpha", f"must be in (0, {bound.most_alpha:g}]; got {np.max(alpha)}"
        )
    count_a, count_b, n = broadcast(count_a=count_a, count_b=count_b, n=n)
    if not every(count_a <= n - count_b):
        raise ValueError("count_a + count_b must be <= n; got a larger sum")
    warn_of_confidence(alpha, stacklevel=2)
    level = half(alpha)
    lower = bound.lower(count_a, n, level)
    upper = bound.lower(n - count_b, n, level)
    z_b, p_b = capped_end(lower, upper)
    if flag("scores", scores):
        return lower.z[()], z_b[()]
    return lower.p[()], p_b[()]
