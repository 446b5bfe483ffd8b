"""Radii of two queries of a model under Gaussian noise, proved in ball arithmetic."""

from __future__ import annotations

from math import inf

from rsbounds.audit._balls import Arb, arb
from rsbounds.audit.schemes._proof import Parameters
from rsbounds.audit.schemes.gaussian import GaussianProof


class TwoQueriesProof(GaussianProof):
    """The proof of two levels that together tell inputs apart as one does, in l_inf."""

    method = "two-queries"

    def numbers(self, parameters: Parameters) -> dict[str, Arb]:
        return {**super().numbers(parameters), "norm": arb(inf)}

    def amounts_to(self, parameters: Parameters, level: Arb) -> bool:
        numbers = self.numbers(parameters)
        information = numbers["sigma_1"] ** -2 + numbers["sigma_2"] ** -2
        return bool(level**2 * information <= 1)
