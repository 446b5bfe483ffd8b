"""Noise with a mean and level on every axis that follow the input within bounds."""

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from rsbounds import envelope
from rsbounds._numerics.answered import By
from rsbounds._numerics.domains import NOT_NEGATIVE, POSITIVE, SLACK
from rsbounds._numerics.parameters import Parameter
from rsbounds._numerics.rounding import EPS, round_down, round_up
from rsbounds.certificate import PROVEN_MAPS
from rsbounds.noises.internal import checked_scores
from rsbounds.schemes._anisotropic import Anisotropic
from rsbounds.schemes._lipschitz import Lipschitz
from rsbounds.schemes._on_grid import widened
from rsbounds.schemes._scheme import Scheme

__all__ = ["Generator"]

#: Asked for as noise of a fixed shape is, with the bounds of a level that follows.
_OF_BOTH = {
    parameter.name: replace(parameter, input=None) for parameter in Anisotropic.declared
} | {
    parameter.name: replace(parameter, option=None, input=None)
    for parameter in Lipschitz.declared
    if parameter.by is not None
}


class Generator(Anisotropic):
    """Noise that follows the input.

    ``rsbounds.torch.CertifiedNoise.scheme`` makes it.
    """

    name = "generator"
    scope = PROVEN_MAPS
    follows_input = True
    help = "mean and level on every axis by maps with proven bounds"
    declared: ClassVar[tuple[Parameter, ...]] = (
        *_OF_BOTH.values(),
        Parameter("mean_lip", "Lipschitz constant of the mean", NOT_NEGATIVE, By.NOISE),
        Parameter("shift", "what a mean is off by", SLACK, By.NOISE),
    )

    transport = Scheme.transport  # undefined: the noise follows the input

    def radius(self, z_a: float, sigma: float, z_b: float | None = None) -> float:
        first, second = checked_scores(z_a, z_b)
        sigma = POSITIVE.one("sigma", sigma)
        parameters = self.parameters
        mean_lip = parameters["mean_lip"]
        bounds: Any = envelope.LipschitzSigma(
            parameters["lip"], parameters["sigma_min"]
        )
        bounds = widened(bounds, parameters)
        reach = envelope.radius(
            first,
            sigma,
            bounds,
            parameters["dim"],
            second,
            mean_lip=mean_lip,
            scores=True,
        )
        shift = parameters.get("shift", 0.0)
        if shift:  # the centres may be further apart by that than (1 + mean_lip) reach
            lost = round_up(shift / (1 + mean_lip), EPS)
            reach = np.maximum(round_down(reach - lost, EPS), 0.0)
        return self._stretched(reach)
