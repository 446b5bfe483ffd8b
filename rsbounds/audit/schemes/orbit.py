"""Radii of a finite group that is gone through, proved by the votes alone."""

from __future__ import annotations

from rsbounds.audit.schemes._proof import Parameters, SchemeProof


class OrbitProof(SchemeProof):
    """The proof of votes that are the same at every element of the group."""

    method = "orbit"

    def proved(
        self,
        parameters: Parameters,
        sigma: float,
        radius: float,
        z_a: float,
        z_b: float | None = None,
    ) -> bool:
        return bool(z_a > (-z_a if z_b is None else z_b))
