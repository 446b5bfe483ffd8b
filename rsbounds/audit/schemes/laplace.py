"""Radii under Laplace noise, proved in ball arithmetic."""

from __future__ import annotations

from math import inf

from rsbounds.audit._balls import Arb, Event, arb, event
from rsbounds.audit.schemes._absolute import AbsoluteProof
from rsbounds.audit.schemes._proof import Parameters


class LaplaceProof(AbsoluteProof):
    """The proof of noise whose quantiles move by a distance over its scale."""

    method = "laplace"

    def proved(
        self,
        parameters: Parameters,
        sigma: float,
        radius: float,
        z_a: float,
        z_b: float | None = None,
    ) -> bool:
        if z_a == inf or z_b == -inf:
            return True  # of an event that is sure nothing is lost
        return super().proved(parameters, sigma, radius, z_a, z_b)

    def holds(
        self,
        parameters: Parameters,
        sigma: float,
        radius: Arb,
        first: Event,
        second: Event,
    ) -> bool:
        gap = _quantile(first) - _quantile(second)
        return bool(2 * radius <= arb(sigma) * gap)

    def least(
        self, parameters: Parameters, sigma: float, radius: float, z: Arb
    ) -> Event:
        return _event_below(_quantile(event(z)) - arb(radius) / arb(sigma))


def _quantile(of: Event) -> Arb:
    """The quantile of the standard Laplace law."""
    below, above = (2 * of.p).log(), -(2 * of.q).log()
    if of.p < 0.5:
        return below
    return above if of.p > 0.5 else below.union(above)


def _event_below(quantile: Arb) -> Event:
    """The event that the standard Laplace law falls below a quantile."""
    tail = (-abs(quantile)).exp() / 2
    if quantile < 0:
        return Event(tail, 1 - tail)
    upper = Event(1 - tail, tail)
    return upper if quantile > 0 else Event(upper.p.union(tail), upper.q.union(tail))
