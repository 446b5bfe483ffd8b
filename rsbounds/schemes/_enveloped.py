"""Schemes whose radius follows from an envelope of sigma(x)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from rsbounds import envelope as theory
from rsbounds._numerics.options import Options
from rsbounds.certificate import PROVEN_ENVELOPE
from rsbounds.envelope.internal import event_radius
from rsbounds.schemes._on_grid import widened
from rsbounds.schemes._scheme import Scheme


class EnvelopeScheme(Scheme):
    """A scheme whose radius follows from an envelope of sigma(x), by two points.

    ``envelope`` makes it from the parameters named in ``bounds``, in this order.
    """

    scope = PROVEN_ENVELOPE
    envelope: ClassVar[Callable[..., theory.Envelope]]
    bounds: ClassVar[tuple[str, ...]]

    @classmethod
    def evaluate(
        cls, options: Options, p_a: float, p_b: float | None, scores: bool
    ) -> Any:
        envelope = cls._of_levels(options)
        return theory.radius(
            p_a, options["sigma"], envelope, options["dim"], p_b, scores=scores
        )

    @classmethod
    def _of_levels(cls, options: Options) -> theory.Envelope:
        """How far levels can move, their rounding allowed for."""
        envelope = cls.envelope(*(options[name] for name in cls.bounds))
        return widened(envelope, options)

    def event_radius(self, z: float, least: float, sigma: float) -> float:
        envelope = self._of_levels(self.parameters)
        return event_radius(z, least, sigma, envelope, self.parameters["dim"])
