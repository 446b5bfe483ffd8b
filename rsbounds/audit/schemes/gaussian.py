"""Radii under one fixed Gaussian noise, proved in ball arithmetic."""

from __future__ import annotations

from rsbounds.audit._balls import Arb, Event, arb, ctx, event
from rsbounds.audit.schemes._normal import PRECISION, NormalProof, gap, inner
from rsbounds.audit.schemes._proof import Parameters


class GaussianProof(NormalProof):
    """The proof of noise of one level, whose scores move by a distance over it."""

    method = "gaussian"
    transports = True

    def amounts_to(self, parameters: Parameters, level: Arb) -> bool:
        """Whether the noise tells inputs apart no better than one of this level."""
        return True

    def proved(
        self,
        parameters: Parameters,
        sigma: float,
        radius: float,
        z_a: float,
        z_b: float | None = None,
    ) -> bool:
        with ctx.workprec(PRECISION):
            numbers = self.numbers(parameters)
            level, reach = arb(sigma), arb(radius) / inner(numbers)
            earned = bool(2 * reach <= level * gap(z_a, z_b))
            return earned and self.amounts_to(parameters, level)

    def least(
        self, parameters: Parameters, sigma: float, radius: float, z: Arb
    ) -> Event:
        if not self.amounts_to(parameters, arb(sigma)):
            return Event(arb(0), arb(1))
        numbers = self.numbers(parameters)
        return event(z - arb(radius) / (inner(numbers) * arb(sigma)))
