"""What the proofs of noise that is added to every number share, in l_1."""

from __future__ import annotations

from abc import abstractmethod
from math import inf

from rsbounds.audit._balls import Arb, Event, arb, ctx, event
from rsbounds.audit.schemes._proof import Parameters, SchemeProof

_PRECISION = 160


class AbsoluteProof(SchemeProof):
    """The proof of radii in l_1, by the curve of one number's law."""

    transports = True

    @abstractmethod
    def holds(
        self,
        parameters: Parameters,
        sigma: float,
        radius: Arb,
        first: Event,
        second: Event,
    ) -> bool:
        """Whether the first class leads the second within a radius."""

    def proved(
        self,
        parameters: Parameters,
        sigma: float,
        radius: float,
        z_a: float,
        z_b: float | None = None,
    ) -> bool:
        with ctx.workprec(_PRECISION):
            first = _event_of(z_a)
            second = first.complement() if z_b is None else _event_of(z_b)
            return self.holds(parameters, sigma, arb(radius), first, second)


def _event_of(z: float) -> Event:
    """An event of Phi(z), infinite scores included."""
    if z == inf:
        return Event(arb(1), arb(0))
    return Event(arb(0), arb(1)) if z == -inf else event(arb(z))
