"""Predictions by masks in pairs, proved by the votes under all of them alone."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from rsbounds.audit.schemes._proof import Parameters, SchemeProof


class DoubleMaskingProof(SchemeProof):
    """The proof of a class that all pairs of masks agree on."""

    method = "double-masking"

    def proved(
        self,
        parameters: Parameters,
        sigma: float,
        radius: float,
        z_a: float,
        z_b: float | None = None,
    ) -> bool:
        # the bound "exact" gives this score to all of n pairs, and to nothing else
        return z_a == inf

    def chosen(
        self, parameters: Parameters, select: Sequence[int], z_a: float, z_b: float
    ) -> bool:
        return max(select, default=0) == _single_masks(parameters)


def _single_masks(parameters: Parameters) -> int:
    """How many masks cover every patch: as many as begin within a stride of a place."""
    number = 1
    for size in (parameters["rows"], parameters["columns"]):
        places = int(size) - int(parameters["patch"]) + 1
        stride = -(-places // int(parameters["masks"]))
        number *= -(-places // stride)
    return number
