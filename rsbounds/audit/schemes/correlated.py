"""Radii under Gaussian noise of any covariance, proved in ball arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from rsbounds.audit._balls import Arb, arb, ctx, flint
from rsbounds.audit.schemes._normal import PRECISION
from rsbounds.audit.schemes._proof import Parameters
from rsbounds.audit.schemes.gaussian import GaussianProof

#: Bits that each row of an elimination may cost.
_BITS = 1


class CorrelatedProof(GaussianProof):
    """The proof of noise A Z whose level no singular value of A is below."""

    method = "correlated"

    def amounts_to(self, parameters: Parameters, level: Arb) -> bool:
        return _stretches(tuple(map(tuple, parameters["matrix"])), float(level))


@lru_cache(maxsize=8)
def _stretches(matrix: tuple[tuple[float, ...], ...], level: float) -> bool:
    """Whether |A v| >= level |v| for all v: A^T A - level^2 I has no root below 0."""
    with ctx.workprec(PRECISION + _BITS * len(matrix)):
        by_row = flint.arb_mat([[arb(value) for value in row] for row in matrix])
        square = (by_row.transpose() * by_row).tolist()
        excess = [row[place:] for place, row in enumerate(square)]
        for row in excess:
            row[0] -= arb(level) ** 2
        return _is_nonnegative(excess)


def _is_nonnegative(form: Sequence[Sequence[Arb]]) -> bool:
    """Whether a symmetric matrix is seen to be so, by its pivots.

    Of each row the numbers from the diagonal on are handed in.
    """
    while form:
        (pivot, *beside), *form = form
        if pivot > 0:
            form = [
                _without(row, over / pivot, beside[place:])
                for place, (row, over) in enumerate(zip(form, beside, strict=True))
            ]
        elif not (pivot == 0 and all(value == 0 for value in beside)):
            return False
    return True


def _without(row: Sequence[Arb], factor: Arb, other: Sequence[Arb]) -> list[Arb]:
    """A row less a multiple of another."""
    return [value - factor * over for value, over in zip(row, other, strict=True)]
