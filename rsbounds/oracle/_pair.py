"""Bounds on the top class and the runner-up together, from exact binomial tails."""

from __future__ import annotations

from mpmath import mp

from rsbounds.oracle._confidence import lower_score, upper_score
from rsbounds.oracle._normal import GUARD, Mpf, Real, exact


def pair_scores(
    count_a: int, count_b: int, n: int, alpha: Real, *, dps: int = 30
) -> tuple[Mpf, Mpf]:
    """Scores of the lower bound for A and the upper for B, at alpha/2 each, B's capped."""
    with mp.workdps(dps + GUARD):
        half = exact(alpha) / 2
    z_a = lower_score(count_a, n, half, dps=dps)
    return z_a, min(upper_score(count_b, n, half, dps=dps), -z_a)
