"""Radii in edits where elements of a sequence are deleted, proved in balls."""

from __future__ import annotations

from fractions import Fraction

from rsbounds.audit._laws import Cells
from rsbounds.audit.schemes._discrete import DiscreteProof, common
from rsbounds.audit.schemes._proof import Parameters


class DeletionProof(DiscreteProof):
    """The proof of edits.

    One is at most one element of x and one of x' outside of what they share.
    """

    method = "deletion"
    most = 2**53

    def kinds(self, parameters: Parameters) -> list[Cells]:
        return [common(Fraction(parameters["delete"]))]
