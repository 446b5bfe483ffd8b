"""Radii of groups of columns, each under a noise of its own, proved in balls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rsbounds.audit._balls import Arb, Event, arb
from rsbounds.audit._laws import Cells
from rsbounds.audit.schemes._discrete import Changes, DiscreteProof
from rsbounds.audit.schemes._mixed import Mixed
from rsbounds.audit.schemes._proof import Parameters, SchemeProof
from rsbounds.audit.schemes.gaussian import GaussianProof


class BlocksProof(DiscreteProof):
    """The proof of blocks, by the proofs of the noises that they may have.

    Beside a Gaussian block radii are l_2 ones, and hold together with the ``changes``
    of the parameters.
    """

    method = "blocks"
    most = 1024

    def __init__(self, parts: Mapping[str, SchemeProof]) -> None:
        self._parts = parts

    def kinds(self, parameters: Parameters) -> list[Cells]:
        return [cells for group in self._groups(parameters) for cells in group]

    def changes(self, parameters: Parameters) -> Changes:
        return Changes(self._groups(parameters), self.most)

    def _groups(self, parameters: Parameters) -> list[list[Cells]]:
        """What comes out of one changed coordinate of each discrete block."""
        groups = []
        for block in parameters["blocks"]:
            part = self._parts[block["method"]]
            if isinstance(part, DiscreteProof):
                groups.append(part.kinds(block))
        return groups

    def proved(
        self,
        parameters: Parameters,
        sigma: float,
        radius: Any,
        z_a: float,
        z_b: float | None = None,
    ) -> bool:
        mixed = self._mixed(parameters)
        if mixed is None:
            return super().proved(parameters, sigma, radius, z_a, z_b)
        return self._proved_beside(
            mixed, parameters, radius, _further_changes(parameters), z_a, z_b
        )

    def least(
        self, parameters: Parameters, sigma: float, radius: float, z: Arb
    ) -> Event:
        mixed, changes = self._mixed(parameters), _further_changes(parameters)
        if mixed is None:
            return super().least(parameters, sigma, radius, z)
        if radius == 0:
            return super().least(parameters, sigma, float(changes), z)
        return mixed.least(radius, changes, z)

    def least_at(
        self, parameters: Parameters, sigma: float, entry: str, z: Arb
    ) -> Event:
        mixed = self._mixed(parameters)
        if mixed is None:
            return super().least_at(parameters, sigma, entry, z)
        radius, changes = entry.split(",")
        if mixed.too_many(int(changes)) or not float(radius) >= 0:
            return Event(arb(0), arb(1))
        if float(radius) == 0:
            return super().least(parameters, sigma, float(changes), z)
        return mixed.least(float(radius), int(changes), z)

    def too_many(self, parameters: Parameters, radius: float) -> bool:
        mixed = self._mixed(parameters)
        if mixed is None:
            return super().too_many(parameters, radius)
        return mixed.too_many(_further_changes(parameters))

    def counts_changes(self, parameters: Parameters) -> bool:
        return self._mixed(parameters) is None

    def entry_proved(
        self, parameters: Parameters, entry: str, z_a: float, z_b: float | None
    ) -> bool:
        mixed = self._mixed(parameters)
        if mixed is None:
            return super().entry_proved(parameters, entry, z_a, z_b)
        radius, changes = entry.split(",")
        return self._proved_beside(
            mixed, parameters, float(radius), int(changes), z_a, z_b
        )

    def _mixed(self, parameters: Parameters) -> Mixed | None:
        """The Gaussian block beside the discrete ones, if there is one."""
        for block in parameters["blocks"]:
            if isinstance(self._parts[block["method"]], GaussianProof):
                return Mixed(float(block["sigma"]), self.changes(parameters))
        return None

    def _proved_beside(
        self,
        mixed: Mixed,
        parameters: Parameters,
        radius: float,
        changes: int,
        z_a: float,
        z_b: float | None,
    ) -> bool:
        """Whether scores certify an l_2 radius together with so many changes."""
        if mixed.too_many(changes) or not radius >= 0:
            return False
        if not z_a > (-z_a if z_b is None else z_b):
            return False
        if radius == 0:
            return super().proved(parameters, 0.0, float(changes), z_a, z_b)
        return mixed.proved(radius, changes, z_a, z_b)


def _further_changes(parameters: Parameters) -> int:
    """The number of changes beside which the radii of rows are stated."""
    return int(parameters.get("changes", 0))
