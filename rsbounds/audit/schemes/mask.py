"""Radii where coordinates are hidden, proved in balls."""

from __future__ import annotations

from fractions import Fraction

from rsbounds.audit._laws import BallLaw, Cells, chance_of_none
from rsbounds.audit.schemes._discrete import Box, Changes, DiscreteProof, common
from rsbounds.audit.schemes._proof import Parameters


class MaskProof(DiscreteProof):
    """The proof of hidden coordinates, by the chance that all the changed ones are."""

    method = "mask"
    most = 2**53

    def kinds(self, parameters: Parameters) -> list[Cells]:
        return [common(1 - Fraction(parameters["keep_probability"]))]

    def changes(self, parameters: Parameters) -> Changes:
        if "keep_probability" in parameters:
            return super().changes(parameters)
        dim, keep_count = (int(parameters[name]) for name in ("dim", "keep_count"))
        return _Hidden(dim, keep_count, self.most)


class _Hidden(Changes):
    """Changes of coordinates of which a number is left, each subset alike."""

    def __init__(self, dim: int, keep_count: int, most: int) -> None:
        super().__init__([[()]], most)
        self._dim, self._keep_count = dim, keep_count

    def law(self, box: Box) -> BallLaw:
        chance = chance_of_none(self._dim, self._keep_count, box[0].total)
        return BallLaw(chance, chance)
