"""A file without counts: whether any count could have earned its radii, as they are
printed.
"""

import os
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import numpy as np

from rsbounds._numerics import checks
from rsbounds._numerics.checks import Array
from rsbounds._numerics.extras import need
from rsbounds.audit import _bounds
from rsbounds.audit._balls import arb, ctx, event
from rsbounds.audit._finding import Audit, Finding, Kind
from rsbounds.confidence import lower_bound
from rsbounds.procedure import Procedure
from rsbounds.results import Row, read_rows


def verify_printed(
    path: str | os.PathLike[str], *, sigma: float, n: int, alpha: float
) -> Audit:
    """Audit l2 radii of fixed Gaussian noise in a file that has no manifest and no
    counts.

    Each radius must be one that some count of ``n`` samples earns by Clopper and
    Pearson's bound at level ``alpha``, with 1 - p_a for the rest, as the field
    certifies. Where a file prints three digits or four decimals, only counts whose
    radius prints as the row's are taken for it: a row is a finding if it is above the
    exact radius of each of them, proved in ball arithmetic.

    Parameters
    ----------
    path : path-like
        A result file, also in the formats of others that ``rsbounds.results.read``
        reads.
    sigma, n, alpha
        As the file's paper states them.

    Raises
    ------
    ValueError, OSError
        If the file is damaged, or a number out of its domain; if the file can't be
        read.

    Examples
    --------
    >>> verify_printed("sigma_0.50", sigma=0.5, n=100000, alpha=0.001)  # doctest: +SKIP
    """
    need("flint", "an audit")
    own, rows = Procedure(n=n, alpha=alpha), read_rows(Path(path))
    level = checks.number("sigma", sigma, 0, closed="neither")
    radii, style, findings = (
        level * earned(own.n, own.alpha),
        style_of(rows),
        list[Finding](),
    )
    for line, row in enumerate(rows, start=2):
        if not row.radius:
            continue
        k = count_of(row.radius, radii, style)
        top = own.n if k is None else k
        with ctx.workprec(_bounds.PRECISION):
            at = event(arb(row.radius) / arb(level))
            if _bounds.tail(top, own.n, *at) > arb(own.alpha):
                which = (
                    "any count shows"
                    if k is None
                    else f"{k} of {own.n}, which print so, show"
                )
                text = f"radius is {row.radius}, more than {which}: {radii[top]:.9g}"
                findings.append(Finding(Kind.RADIUS, row.idx, text, line))
    return Audit(
        tuple(findings), ("sigma", "n", "alpha"), len(rows), len(rows), 0, (), 0
    )


def earned(n: int, alpha: float) -> Array:
    """The scores z_a of all counts from 0 to n, in order."""
    scores: Array = lower_bound(np.arange(n + 1), n, alpha, scores=True)
    return scores


def count_of(radius: float, radii: Array, style: str) -> int | None:
    """The largest count whose radius prints as this one; None if none does."""
    half = 0.6e-4 if style == ".4f" else 1e-6 * radius
    if style == ".3":
        half = 0.6 * 10.0 ** (Decimal(repr(radius)).adjusted() - 2)
    k = int(np.searchsorted(radii, radius + half, "right")) - 1
    while k >= 0 and radii[k] >= radius - half:
        if not style or float(f"{radii[k]:{style}}") == radius:
            return k
        k -= 1
    return None


def style_of(rows: Sequence[Row]) -> str:
    """How a file prints radii: three digits, four decimals, or "" for all digits."""
    styles = (".3", ".4f")
    fits = (
        s for s in styles if all(float(f"{r.radius:{s}}") == r.radius for r in rows)
    )
    return next(fits, "")
