"""Rows of values: ranks proved, ends compared with each other.

The samples are not in the row: what the order statistics are is taken as stated, unless
rows are drawn again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from math import inf
from typing import Any

import numpy as np

from rsbounds._numerics.decimals import number, whole_number
from rsbounds._numerics.scores import ndtri
from rsbounds.answers import Answer
from rsbounds.answers.internal import BOUND
from rsbounds.audit import _bounds
from rsbounds.audit._balls import arb, ctx, event
from rsbounds.audit._finding import Kind, Remark
from rsbounds.audit._proof import Claim, Proof
from rsbounds.audit.schemes import RADII, TRANSPORTED
from rsbounds.results import Manifest, Row


class ValuesProof(Proof):
    """The proof of intervals of real outputs."""

    answer = "values"
    methods = TRANSPORTED
    shown_by_rerun = ("outputs",)

    def computed(self, row: Row, answer: Answer, manifest: Manifest) -> Row:
        certificate = answer.unclassified(
            manifest.procedure,
            sigma=row.sigma,
            bound=BOUND,
            void=row.void,  # of the samples, which the row doesn't hold
        )
        return Row.of(row.idx, row.label, certificate, 0.0, extra=row.extra)

    def compared(self, claim: Claim) -> Iterator[Remark]:
        yield from super().compared(claim)
        row, manifest, answer, _ = claim
        if row.radius:
            yield Kind.CONTRADICTION, f"radius is {row.radius}; its rows have none"
        if not 0 <= row.void <= row.n:
            yield Kind.CONTRADICTION, f"void is {row.void} of {row.n} samples"
        ranks = _ranks(row)
        computed = answer.ranks(manifest.procedure, row.sigma)
        if ranks != computed:
            yield Kind.CONTRADICTION, f"ranks are {ranks}, {computed} by the radii"
            return
        yield from _ends(row, np.array(ranks))

    def proved(self, claim: Claim) -> Iterator[Remark]:
        row, manifest, answer, _ = claim
        for radius, (below, above) in zip(answer.radii, _ranks(row), strict=False):
            if not _ranked(manifest, row.sigma, radius, answer.p, below, above):
                yield (
                    Kind.BOUND,
                    f"ranks {below},{above} are more than {row.n} samples show",
                )


def _ranks(row: Row) -> list[tuple[int, int]]:
    """The ranks of the two ends at each radius, as the row states them."""
    ranks = []
    for pair in row.extra["ranks"].split(";"):
        below, above = map(whole_number, pair.split(","))
        ranks.append((below, above))
    return ranks


def _table(text: str, *, nan: bool = False) -> Any:
    """The numbers of a column, read as strictly as all others; ``nan``: also "nan"."""
    return np.array(
        [
            [
                math.nan if nan and cell == "nan" else number(cell)
                for cell in part.split(",")
            ]
            for part in text.split(";")
        ]
    )


def _ends(row: Row, ranks: Any) -> Iterator[Remark]:
    """Ends that contradict the quantile, their ranks or each other."""
    low, high = (_table(row.extra[name]) for name in ("low", "high"))
    middle = _table(row.extra["quantile"], nan=row.void == row.n)[0]
    if low.shape != high.shape or low.shape != (len(ranks), len(middle)):
        raise ValueError(
            f"quantile, low and high have shapes {middle.shape}, {low.shape} and "
            f"{high.shape}"
        )
    none = ranks == 0
    inside = (low <= high) & ~(low > middle) & ~(high < middle)
    unreached = (low[none[:, 0]] == -inf).all() and (high[none[:, 1]] == inf).all()
    if not (inside.all() and unreached):
        yield (
            Kind.CONTRADICTION,
            "an end is on the wrong side of the quantile, or n can't show it",
        )
    # a smaller rank is further out
    for ends, column, sign in ((low, 0, 1), (high, 1, -1)):
        order = np.argsort(ranks[:, column], kind="stable")
        if not (np.diff(sign * ends[order], axis=0) >= 0).all():
            yield Kind.CONTRADICTION, "intervals don't grow as their ranks do"


def _ranked(
    manifest: Manifest, sigma: float, radius: float, p: float, below: int, above: int
) -> bool:
    """Whether fewer than k samples below each end have probability alpha/2 at most."""
    procedure = manifest.procedure
    with ctx.workprec(_bounds.PRECISION):
        proof, noise = RADII[manifest.method], (manifest.parameters, sigma, radius)
        middle = float(ndtri(np.asarray(p)))
        for k, z, q in ((below, middle, arb(p)), (above, -middle, 1 - arb(p))):
            start = arb(z) - abs(arb(z)) * 4e-15  # proposed; the ball decides
            if not event(start).p <= q:
                return False
            at = proof.least_before(*noise, start)
            shown = 2 * _bounds.tail(procedure.n - k + 1, procedure.n, at.q, at.p)
            if k and not shown <= arb(procedure.alpha):
                return False
    return True
