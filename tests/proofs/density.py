"""The error of a density, quadrature and rounding, and with it that of R_d.

Derived in docs/theory/quadrature-proof.md ("Rounding") and in docs/theory/lipschitz.md.
"""

import re
from collections.abc import Iterator

from flint import arb

from .balls import HEADERS
from .contour import PI, beyond, guess, hull, line, over, step
from .nodes import ORDERS, cells, degrees, nodes, rows_of, scores, worst, wrong
from .rounding import U, mills


def at_saddle(e: arb, share: arb) -> arb:
    """A lower bound of the density there, times sqrt(c2)."""
    total = arb(0, 1e-9)
    for x, _, cosine, sine, width in cells(e, share):
        total += (cosine - e * x * sine) * width
    return (2 / PI * total).lower()


def density(e: arb, share: arb, k: arb | None) -> arb:
    """The error of the density, relative: quadrature and rounding."""
    table = k is not None
    wrong_by = sum((line(guess(e, share, k, s), e, share, k, s)[2] for s in (1, -1)), arb(0))
    size, _, _, reach = beyond(e, share, k)
    wrong_by += size * (1 + reach)
    step_of = over(step, e) if k is None else k
    rounded = arb(0)
    for first in (arb(1) / 2, arb(1)) if table else (arb(1) / 2,):
        total = arb(0)
        for p in nodes(e, share, step_of, first, table):
            (cosine, sine), turn, q = wrong(p), p.angle.min(1), e * p.x
            total += cosine + q * sine + (1 + p.more) * p.size * (1 + q * turn)
        rounded = max(rounded, (2 / PI * step_of * total).upper(), key=float)
    error = (wrong_by + U * rounded) / at_saddle(e, share) + 3 * U + (ORDERS if table else 0)
    if not error.is_finite():
        raise ArithmeticError(f"nodes: no density at {e}, {share}")
    return error.upper()


def density_errors(c2: int, df: float = 0) -> Iterator[arb]:
    return (density(*row) for row in rows_of(c2) if degrees(*row[:2]) >= df)


def ratio() -> Iterator[arb]:
    """Of R_d, relative: a change of the score counts up to 4.8 (1 + |z|) times."""
    text = (HEADERS / "lipschitz.hpp").read_text(encoding="utf-8")
    solve = arb(re.search(r"solve_error = ([-\d.e]+)", text)[1])  # the check's, over 1 + |z|
    hazard, one = max(ratio_of_mills(), key=float), arb(1)
    for c2, at_point in (
        (0, arb("1.7e-14")),
        (30, arb("4e-15")),
    ):  # the score's own: score (small), score
        for e, share, k in rows_of(c2):
            if share.upper() > 0.99:  # no noncentrality
                if not at_saddle(e, one) > 0.25:
                    raise ArithmeticError(f"nodes: the density at {e}")
                _, off = worst(scores(e, one, k))
                yield 4.8 * (solve + at_point) + off + density(e, one, k) + hazard + 40 * U


def ratio_of_mills() -> Iterator[arb]:
    for i in range(240):
        m = mills(hull(1.06**i, 1.06 ** (i + 1)))
        yield (m.error / (m.value - m.error)).upper()
