"""The error of R_d, all rounding included; derived in docs/theory/lipschitz.md."""

from collections.abc import Iterator

from flint import arb

from .balls import named
from .contour import hull
from .nodes import at_saddle, density, rows_of, scores, worst
from .rounding import U, mills


def ratio() -> Iterator[arb]:
    """Of R_d, relative: a change of the score counts up to 4.8 (1 + |z|) times."""
    solve = arb(named("lipschitz.hpp", "solve_error"))  # the check's, over 1 + |z|
    hazard, one = max(ratio_of_mills(), key=float), arb(1)
    # the score's own: score (small), score
    for c2, name in ((0, "small_score_error"), (30, "score_error")):
        at_point = arb(named("ball.hpp", name))
        for e, share, k in rows_of(c2):
            if share.upper() > 0.99:  # no noncentrality
                if not at_saddle(e, one) > 0.25:
                    raise ArithmeticError(f"nodes: the density at {e}")
                _, off = worst(scores(e, one, k))
                yield (
                    4.8 * (solve + at_point)
                    + off
                    + density(e, one, k)
                    + hazard
                    + 40 * U
                )


def ratio_of_mills() -> Iterator[arb]:
    for i in range(240):
        m = mills(hull(1.06**i, 1.06 ** (i + 1)))
        yield (m.error / (m.value - m.error)).upper()
