"""Radii under splitting noise, proved in ball arithmetic."""

from __future__ import annotations

from rsbounds.audit._balls import Arb, arb
from rsbounds.audit.schemes._proof import Parameters
from rsbounds.audit.schemes.uniform import UniformProof


class SplittingProof(UniformProof):
    """The proof of splits, whose borders are as far apart as uniform noise is wide."""

    method = "splitting"

    def half_width(self, parameters: Parameters, sigma: float) -> Arb:
        levels = int(parameters["levels"])
        return arb(round(2 * sigma * levels)) / (2 * levels)
