"""Radii where the level lies between two bounds, proved in ball arithmetic."""

from rsbounds.audit._balls import Arb
from rsbounds.audit.schemes._two_point import TwoPointProof


class RangeProof(TwoPointProof):
    """The proof of levels of which only their range is known."""

    method = "range"
    up_to_half = True

    def ends(self, numbers: dict[str, Arb], sigma: Arb, reach: Arb) -> tuple[Arb, Arb]:
        return numbers["sigma_min"], numbers["sigma_max"]
