"""Radii where the level has a Lipschitz constant, proved in ball arithmetic."""

from rsbounds.audit._balls import Arb
from rsbounds.audit.schemes._two_point import TwoPointProof


class LipschitzProof(TwoPointProof):
    """The proof of levels that change by at most lip a over a distance a."""

    method = "lipschitz"
    up_to_half = True

    def ends(self, numbers: dict[str, Arb], sigma: Arb, reach: Arb) -> tuple[Arb, Arb]:
        change = reach * numbers["lip"]
        return (sigma - change).max(numbers["sigma_min"]), sigma + change
