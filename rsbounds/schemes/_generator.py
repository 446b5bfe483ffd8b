"""Noise with a mean and level on every axis that follow the input within bounds."""

from typing import Any, ClassVar

import numpy as np

from rsbounds import envelope
from rsbounds._numerics.domains import NOT_NEGATIVE, POSITIVE, SLACK, Domains
from rsbounds._numerics.rounding import EPS, round_down, round_up
from rsbounds.certificate import PROVEN_MAPS
from rsbounds.noises import checked_scores
from rsbounds.schemes._anisotropic import Anisotropic
from rsbounds.schemes._lipschitz import Lipschitz
from rsbounds.schemes._scheme import Scheme

__all__ = ["Generator"]


class Generator(Anisotropic):
    """Noise that follows the input.

    ``rsbounds.torch.CertifiedNoise.scheme`` makes it.
    """

    name = "generator"
    scope = PROVEN_MAPS
    sound = False
    domains: ClassVar[Domains] = {
        **Anisotropic.domains,
        **Lipschitz.domains,
        "mean_lip": NOT_NEGATIVE,
        "shift": SLACK,
    }
    help = "mean and level on every axis by maps with proven bounds"
    inputs = ()

    transport = Scheme.transport  # undefined: the noise follows the input

    def radius(self, z_a: float, sigma: float, z_b: float | None = None) -> float:
        first, second = checked_scores(z_a, z_b)
        sigma = POSITIVE.one("sigma", sigma)
        stated = self.parameters
        mean_lip = stated["mean_lip"]
        bounds: Any = envelope.LipschitzSigma(stated["lip"], stated["sigma_min"])
        slack = stated.get("slack", 0.0)
        if slack:  # computed levels leave the bounds by a factor exp(slack) at most
            bounds = envelope.Widened(bounds, slack)
        reach = envelope.radius(
            first, sigma, bounds, stated["dim"], second, mean_lip=mean_lip, scores=True
        )
        shift = stated.get("shift", 0.0)
        if shift:  # the centres may be further apart by that than (1 + mean_lip) reach
            lost = round_up(shift / (1 + mean_lip), EPS)
            reach = np.maximum(round_down(reach - lost, EPS), 0.0)
        return self._stretched(reach)
