"""Radii under one-sided exponential noise, proved in ball arithmetic."""

from __future__ import annotations

from rsbounds.audit._balls import Arb, Event, arb, event
from rsbounds.audit.schemes._absolute import AbsoluteProof
from rsbounds.audit.schemes._proof import Parameters


class ExponentialProof(AbsoluteProof):
    """The proof of noise that is at least 0, for changes that are at least 0."""

    method = "exponential"

    def holds(
        self,
        parameters: Parameters,
        sigma: float,
        radius: Arb,
        first: Event,
        second: Event,
    ) -> bool:
        # A's complement and B may grow until they fill what is there
        rest = first.q + second.p
        return bool(rest * (radius * arb(parameters["rate"])).exp() <= 1)

    def least(
        self, parameters: Parameters, sigma: float, radius: float, z: Arb
    ) -> Event:
        # what lies outside of the event grows by the largest ratio of densities
        q = event(z).q * (arb(radius) * arb(parameters["rate"])).exp()
        return Event(1 - q, q) if q < 1 else Event(arb(0), arb(1))

    def least_before(
        self, parameters: Parameters, sigma: float, radius: float, z: Arb
    ) -> Event:
        # the input has the changed one's noise, times the least ratio of densities
        p = event(z).p * (-arb(radius) * arb(parameters["rate"])).exp()
        return Event(p, 1 - p)
