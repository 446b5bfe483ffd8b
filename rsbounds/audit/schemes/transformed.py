"""Radii of a transformation's parameter: those of the law that moves it.

An attack moves the parameter and nothing else, by as much as the radius bounds.
"""

from __future__ import annotations

from collections.abc import Mapping

from rsbounds.audit._balls import Arb, Event
from rsbounds.audit.schemes._proof import Parameters, SchemeProof


class TransformedProof(SchemeProof):
    """The proof of a parameter's radii, by the proofs of the laws that may move it."""

    method = "transformed"
    transports = True

    def __init__(self, laws: Mapping[str, SchemeProof]) -> None:
        self._laws = laws

    def proved(
        self,
        parameters: Parameters,
        sigma: float,
        radius: float,
        z_a: float,
        z_b: float | None = None,
    ) -> bool:
        law = parameters["law"]
        return self._laws[law["method"]].proved(law, sigma, radius, z_a, z_b)

    def least(
        self, parameters: Parameters, sigma: float, radius: float, z: Arb
    ) -> Event:
        law = parameters["law"]
        return self._laws[law["method"]].least(law, sigma, radius, z)

    def least_before(
        self, parameters: Parameters, sigma: float, radius: float, z: Arb
    ) -> Event:
        law = parameters["law"]
        return self._laws[law["method"]].least_before(law, sigma, radius, z)
