"""Noise with a mean and a level on every axis: the same for all inputs, or following the input.

The noise is isotropic in the coordinates divided by a fixed shape; ``inner`` is the radius of the
l_p ball inside the ellipsoid of all delta with |delta/shape| <= 1.

References
----------
Hong, Hong, Certified adversarial robustness via anisotropic randomized smoothing.
"""

from typing import Any, ClassVar

import numpy as np

from rsbounds import anisotropic, envelope, gaussian
from rsbounds._numerics.checks import as_floats
from rsbounds._numerics.rounding import EPS, product, round_down, round_up
from rsbounds.certificate import FIXED_NOISE, PROVEN_MAPS
from rsbounds.sampling import Sampler
from rsbounds.schemes._domains import DIMENSION, NORM, NOT_NEGATIVE, POSITIVE, SLACK, Domains
from rsbounds.schemes._options import Given, Option, Options, Shared
from rsbounds.schemes._scheme import Scheme

_KINDS = "NoiseMaps or FixedNoise (anisotropic), CertifiedGenerator (generator)"
_NOISE = Option("--noise", f"CALLABLE() returns {_KINDS}", str, metavar="MODULE:CALLABLE")


class Anisotropic(Scheme):
    """Noise of a fixed shape, made by ``rsbounds.torch.FixedNoise.scheme``.

    ``noise`` draws it: ``sampler(model, **options)``, with the name ``law``.
    """

    name = "anisotropic"
    scope = FIXED_NOISE
    sound = True  # the level is the same number at every input
    domains: ClassVar[Domains] = {"norm": NORM, "inner": POSITIVE}
    help = "a noise level for each coordinate"
    options = (_NOISE, Shared.NORM)
    inputs: ClassVar[Any] = (Option("--sigma", "level of each coordinate", nargs="+"), Shared.NORM)
    noise: Any = None

    def drawn_by(self, noise: Any) -> None:
        """Let ``noise`` draw the samples; its law is then the scheme's."""
        self.noise, self.law = noise, noise.law

    def sampler(self, model: Any, **options: Any) -> Sampler:
        if self.noise is None:
            raise ValueError(f"a scheme of method {self.name!r} needs the noise that made it")
        sampler: Sampler = self.noise.sampler(model, **options)
        return sampler

    def radius(self, z_a: float, sigma: float, z_b: float | None = None) -> float:
        return self._stretched(gaussian.radius(z_a, sigma, z_b, scores=True))

    def transport(self, z: Any, radius: Any, sigma: float | None = None) -> tuple[Any, Any]:
        own = getattr(self.noise, "level", None) if sigma is None else sigma
        level = self.fixed_level(own)
        distance = as_floats("radius", radius, 0.0, towards=np.inf) / self.parameters["inner"]
        return gaussian.transport(z, round_up(distance, EPS), level)

    def _stretched(self, reach: Any) -> float:
        return float(round_down(product(reach, self.parameters["inner"]), 2 * EPS))

    @classmethod
    def from_options(cls, options: Options, given: Given) -> Scheme:
        noise, description = given.noise("--noise", options["noise"])
        scheme: Scheme = noise.scheme(options["norm"], sound=given.sound)
        if scheme.name != cls.name:
            raise ValueError(f"--noise {options['noise']} is one of --method {scheme.name}")
        scheme.parameters["noise"] = description
        return scheme

    @classmethod
    def evaluate(cls, options: Options, p_a: float, p_b: float | None, scores: bool) -> Any:
        return anisotropic.radius(p_a, options["sigma"], p_b, norm=options["norm"], scores=scores)


class Generator(Anisotropic):
    """Noise that follows the input, made by ``rsbounds.torch.CertifiedNoise.scheme``."""

    name = "generator"
    scope = PROVEN_MAPS
    sound = False
    domains: ClassVar[Domains] = {
        "norm": NORM,
        "inner": POSITIVE,
        "lip": NOT_NEGATIVE,
        "mean_lip": NOT_NEGATIVE,
        "sigma_min": POSITIVE,
        "dim": DIMENSION,
        "slack": SLACK,
        "shift": SLACK,
    }
    help = "mean and level on every axis by maps with proven bounds"
    inputs = ()

    transport = Scheme.transport  # the noise follows the input: there is none

    def radius(self, z_a: float, sigma: float, z_b: float | None = None) -> float:
        own = self.parameters
        slack, shift, mean_lip = own.get("slack", 0.0), own.get("shift", 0.0), own["mean_lip"]
        bounds: Any = envelope.LipschitzSigma(own["lip"], own["sigma_min"])
        bounds = envelope.Widened(bounds, slack) if slack else bounds
        reach = envelope.radius(z_a, sigma, bounds, own["dim"], z_b, mean_lip=mean_lip, scores=True)
        if shift:  # the centres may be further apart by that than (1 + mean_lip) reach
            reach = np.maximum(round_down(reach - round_up(shift / (1 + mean_lip), EPS), EPS), 0.0)
        return self._stretched(reach)
