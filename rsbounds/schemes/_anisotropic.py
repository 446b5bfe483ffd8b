"""Noise with one mean and one level on every axis, the same for all inputs.

The noise is isotropic in the coordinates divided by a fixed shape; ``inner`` is the
radius of the l_p ball inside the ellipsoid of all delta with |delta/shape| <= 1.

References
----------
Hong, Hong, Certified adversarial robustness via anisotropic randomized smoothing.
"""

from typing import Any, ClassVar

from rsbounds import anisotropic, gaussian
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.rounding import EPS, product, round_down
from rsbounds.certificate import FIXED_NOISE
from rsbounds.sampling import Sampler
from rsbounds.schemes._domains import NORM, POSITIVE, Domains
from rsbounds.schemes._options import Given, Option, Options, Shared
from rsbounds.schemes._scheme import Scheme

__all__ = ["Anisotropic"]

NOISE_OPTION = Option(
    "noise",
    "CALLABLE() returns the noise: NoiseMaps or FixedNoise (anisotropic), "
    "CertifiedGenerator (generator)",
    type=str,
    metavar="MODULE:CALLABLE",
)


class Anisotropic(Scheme):
    """Noise of a fixed shape, made by ``rsbounds.torch.FixedNoise.scheme``.

    ``noise`` draws it: ``sampler(model, **options)``, with the name ``law``.
    """

    name = "anisotropic"
    scope = FIXED_NOISE
    sound = True  # the level is the same number at every input
    domains: ClassVar[Domains] = {"norm": NORM, "inner": POSITIVE}
    made_by = "the noise itself"
    help = "a noise level for each coordinate"
    options = (NOISE_OPTION, Shared.NORM)
    inputs: ClassVar[tuple[Option, ...]] = (
        Option("sigma", "noise level of each coordinate", nargs="+"),
        Shared.NORM,
    )
    noise: Any = None

    def drawn_by(self, noise: Any) -> None:
        """Let ``noise`` draw the samples; its law is then the scheme's."""
        self.noise, self.law = noise, noise.law

    def sampler(self, model: Any, **options: Any) -> Sampler:
        if self.noise is None:
            raise ValueError(
                f"a scheme of method {self.name!r} needs the noise that made it"
            )
        sampler: Sampler = self.noise.sampler(model, **options)
        return sampler

    def radius(self, z_a: float, sigma: float, z_b: float | None = None) -> float:
        return self._stretched(gaussian.radius(z_a, sigma, z_b, scores=True))

    def transport(
        self, z: Any, radius: Any, sigma: float | None = None
    ) -> tuple[Any, Any]:
        level = self.fixed_level(sigma)
        inner = self.parameters["inner"]
        return anisotropic.transport(z, radius, level, inner=inner)

    @property
    def own_level(self) -> float | None:
        """That of the noise, whose other axes are multiples of it."""
        level: float | None = getattr(self.noise, "level", None)
        return super().own_level if level is None else level

    def _stretched(self, reach: Any) -> float:
        return float(round_down(product(reach, self.parameters["inner"]), 2 * EPS))

    @classmethod
    def from_options(cls, options: Options, given: Given) -> Scheme:
        noise, description = given.noise("noise", options["noise"])
        scheme: Scheme = noise.scheme(options["norm"], sound=given.sound)
        if scheme.name != cls.name:
            raise ArgumentError(
                "noise",
                f"{options['noise']} must return noise of the method {cls.name}; got "
                f"noise of {scheme.name}",
            )
        scheme.parameters["noise"] = description
        return scheme

    @classmethod
    def evaluate(
        cls, options: Options, p_a: float, p_b: float | None, scores: bool
    ) -> Any:
        return anisotropic.radius(
            p_a, options["sigma"], p_b, norm=options["norm"], scores=scores
        )
