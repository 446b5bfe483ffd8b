"""Radii where the logarithm of the level has a rate, proved in ball arithmetic."""

from rsbounds.audit._balls import Arb
from rsbounds.audit.schemes._two_point import TwoPointProof


class SemiElasticProof(TwoPointProof):
    """The proof of levels that grow or fall by at most e^(rate a) over a distance a."""

    method = "semi-elastic"
    up_to_half = True

    def ends(self, numbers: dict[str, Arb], sigma: Arb, reach: Arb) -> tuple[Arb, Arb]:
        factor = (reach * numbers["rate"]).exp()
        return sigma / factor, sigma * factor
