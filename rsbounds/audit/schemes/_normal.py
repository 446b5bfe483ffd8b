"""What the proofs under Gaussian noise share: parameters as balls, and their norms."""

from __future__ import annotations

from math import inf

from rsbounds.audit._balls import Arb, arb
from rsbounds.audit.schemes._proof import Parameters, SchemeProof
from rsbounds.schemes import METHODS

#: Bits of what is proved at one level.
PRECISION = 160


class NormalProof(SchemeProof):
    """The proof of a scheme whose noise is Gaussian, of one level or of several."""

    def numbers(self, parameters: Parameters) -> dict[str, Arb]:
        """The parameters that radii depend on."""
        domains = METHODS[self.method].domains
        return {name: arb(parameters[name]) for name in domains if name in parameters}


def inner(numbers: dict[str, Arb]) -> Arb:
    """The radius of the ball of the norm inside the unit ball that scores certify."""
    norm = numbers.get("norm", arb(2))
    if "inner" in numbers or norm <= 2:
        return numbers.get("inner", arb(1))
    return numbers["dim"] ** ((0 if norm == inf else 1 / norm) - arb(0.5))


def gap(z_a: float, z_b: float | None) -> Arb:
    """How far two scores are apart; None stands for -z_a."""
    return arb(z_a) + (arb(z_a) if z_b is None else -arb(z_b))
