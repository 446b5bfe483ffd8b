"""Radii where a value is kept or becomes any other, proved in balls."""

from __future__ import annotations

from fractions import Fraction

from rsbounds.audit._laws import Cells
from rsbounds.audit.schemes._discrete import Changes, DiscreteProof
from rsbounds.audit.schemes._proof import Parameters

_MOST_OF_VALUES = 4096  # of coordinates of three values or more


class CategoricalProof(DiscreteProof):
    """The proof of changed values: each is the input's or one of the others, alike."""

    method = "categorical"
    most = 2**17

    def kinds(self, parameters: Parameters) -> list[Cells]:
        keep = Fraction(parameters["keep"])
        other = (1 - keep) / (parameters["values"] - 1)
        elsewhere = 1 - keep - other
        return [((keep, other), (other, keep), (elsewhere, elsewhere))]

    def changes(self, parameters: Parameters) -> Changes:
        changes = super().changes(parameters)
        if parameters["values"] > 2:
            changes.most = _MOST_OF_VALUES
        return changes
