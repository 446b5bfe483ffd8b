"""Rows of runs that look at fixed numbers of samples: each as the row of its look."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from math import nextafter

from rsbounds._numerics.decimals import whole_number
from rsbounds.audit._finding import Kind, Remark
from rsbounds.audit._proof import Proof
from rsbounds.procedure import Procedure
from rsbounds.results import Manifest, Row

#: By the name of the bound: that of one look, and for each look its share of n and its
#: share of alpha, which sum to 1.
LOOKS: Mapping[str, tuple[str, tuple[tuple[Fraction, Fraction], ...]]] = {
    "staged": (
        "clopper-pearson",
        (
            (Fraction(1, 100), Fraction(1, 100)),
            (Fraction(3, 100), Fraction(1, 100)),
            (Fraction(10, 100), Fraction(3, 100)),
            (Fraction(30, 100), Fraction(5, 100)),
            (Fraction(100, 100), Fraction(90, 100)),
        ),
    ),
}


def levels_of(procedure: Procedure) -> dict[int, float]:
    """The level of each number of samples that the procedure looks at."""
    _, looks = LOOKS[procedure.bound]
    exact: dict[int, Fraction] = {}
    for share, level in looks:
        samples = -(-share.numerator * procedure.n // share.denominator)
        exact[samples] = exact.get(samples, Fraction(0)) + level
    levels = {}
    for samples, level in exact.items():
        alpha = float(level * Fraction(procedure.alpha))
        if Fraction(alpha) > level * Fraction(procedure.alpha):
            alpha = nextafter(alpha, 0.0)
        levels[samples] = alpha
    return levels


def findings(
    row: Row, manifest: Manifest, proof: Proof, prove: bool
) -> Iterator[Remark]:
    """What is wrong with a row, of which the proof is that of its look alone.

    The certificates of all looks hold together, so that the row may be of any of them,
    whatever was drawn after it.
    """
    procedure = manifest.procedure
    levels = levels_of(procedure)
    if row.bound != procedure.bound:
        text = f"bound is {row.bound!r}, {procedure.bound!r} in the manifest"
        yield Kind.CONTRADICTION, text
    if row.n not in levels:
        text = f"n is {row.n}, which is no look of n = {procedure.n}: {list(levels)}"
        yield Kind.CONTRADICTION, text
        return
    drawn = whole_number(row.extra["drawn"])
    if not (drawn in levels and drawn >= row.n):
        text = f"drawn is {drawn}, which is no look from {row.n} samples on"
        yield Kind.CONTRADICTION, text
    bound, _ = LOOKS[procedure.bound]
    alone = replace(
        procedure, n=row.n, alpha=levels[row.n], bound=bound, tolerance=None
    )
    yield from proof.findings(
        replace(row, bound=bound), replace(manifest, procedure=alone), prove
    )
