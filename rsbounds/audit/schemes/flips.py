"""Radii where zeros and ones flip, proved in balls."""

from __future__ import annotations

from fractions import Fraction

from rsbounds.audit._laws import Cells
from rsbounds.audit.schemes._discrete import DiscreteProof
from rsbounds.audit.schemes._proof import Parameters


class FlipsProof(DiscreteProof):
    """The proof of added and deleted ones, each kind with its chance."""

    method = "flips"
    most = 2**17

    def kinds(self, parameters: Parameters) -> list[Cells]:
        add, delete = Fraction(parameters["add"]), Fraction(parameters["delete"])
        added = ((add, 1 - delete), (1 - add, delete))
        return [added, tuple((shifted, mass) for mass, shifted in added)]
