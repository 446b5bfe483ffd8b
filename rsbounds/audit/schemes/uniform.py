"""Radii under uniform noise, proved in ball arithmetic."""

from __future__ import annotations

from rsbounds.audit._balls import Arb, Event, arb, event
from rsbounds.audit.schemes._absolute import AbsoluteProof
from rsbounds.audit.schemes._proof import Parameters


class UniformProof(AbsoluteProof):
    """The proof of noise under which an event loses a distance over its width."""

    method = "uniform"

    def half_width(self, parameters: Parameters, sigma: float) -> Arb:
        """Half the width of the law."""
        return arb(sigma)

    def holds(
        self,
        parameters: Parameters,
        sigma: float,
        radius: Arb,
        first: Event,
        second: Event,
    ) -> bool:
        # in whichever tail both are small
        lead = second.q - first.q if second.p > 0.5 else first.p - second.p
        return bool(radius <= self.half_width(parameters, sigma) * lead)

    def least(
        self, parameters: Parameters, sigma: float, radius: float, z: Arb
    ) -> Event:
        here = event(z)
        step = arb(radius) / (2 * self.half_width(parameters, sigma))
        p = here.p - step
        return Event(p, here.q + step) if p > 0 else Event(arb(0), arb(1))
