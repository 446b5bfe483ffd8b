"""Noise with one mean and one level on every axis, the same for all inputs.

The noise is isotropic in the coordinates divided by a fixed shape; ``inner`` is the
radius of the l_p ball inside the ellipsoid of all delta with |delta/shape| <= 1.

References
----------
Hong, Hong, Certified adversarial robustness via anisotropic randomized smoothing.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from rsbounds import anisotropic as theory
from rsbounds import gaussian
from rsbounds._numerics.checks import as_floats
from rsbounds._numerics.domains import NORM, POSITIVE, Domains
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.options import Option, Options, Shared
from rsbounds._numerics.rounding import EPS, product, round_down
from rsbounds.certificate import FIXED_NOISE
from rsbounds.noises import checked_scores
from rsbounds.sampling import Sampler
from rsbounds.sampling.shaped_noise import ColumnNoise
from rsbounds.schemes._scheme import Given, Scheme

__all__ = ["Anisotropic", "anisotropic"]

NOISE_OPTION = Option(
    "noise",
    "CALLABLE() returns the noise: NoiseMaps or FixedNoise (anisotropic), "
    "CertifiedGenerator (generator)",
    type=str,
    metavar="MODULE:CALLABLE",
)


class Anisotropic(Scheme):
    """Noise of a fixed shape.

    See :func:`anisotropic` and ``rsbounds.torch.FixedNoise.scheme``.

    ``noise`` draws it: ``sampler(model, **options)``, with the name ``law``.
    """

    name = "anisotropic"
    scope = FIXED_NOISE
    sound = True  # the level is the same number at every input
    domains: ClassVar[Domains] = {"norm": NORM, "inner": POSITIVE}
    made_by = "the noise itself"
    help = "a noise level for each coordinate"
    options = (
        replace(NOISE_OPTION, default=None),
        Option(
            "levels_of",
            "the level of each number is SIGMA times its standard deviation in x of "
            "this file, such as the training data",
            type=Path,
            default=None,
            metavar="FILE.npz",
        ),
        replace(Shared.LEVEL, help="with levels_of: the factor", default=None),
        Shared.NORM,
    )
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
        first, second = checked_scores(z_a, z_b)
        sigma = POSITIVE.one("sigma", sigma)
        return self._stretched(gaussian.radius(first, sigma, second, scores=True))

    def transport(
        self, z: Any, radius: Any, sigma: float | None = None
    ) -> tuple[Any, Any]:
        level = self.fixed_level(sigma)
        inner = self.parameters["inner"]
        return theory.transport(z, radius, level, inner=inner)

    @property
    def own_level(self) -> float | None:
        """Level of the reference axis; the others are multiples of it."""
        level: float | None = getattr(self.noise, "level", None)
        return super().own_level if level is None else level

    def _stretched(self, reach: Any) -> float:
        return float(round_down(product(reach, self.parameters["inner"]), 2 * EPS))

    @classmethod
    def from_options(cls, options: Options, given: Given) -> Scheme:
        spec, data = options["noise"], options["levels_of"]
        if data is not None:
            if spec is not None:
                raise ArgumentError("levels_of", "takes no noise beside it")
            if options["sigma"] is None:
                raise ArgumentError("levels_of", "needs sigma, the factor")
            return cls._of_deviations(options, given)
        if spec is None:
            raise ArgumentError(
                "noise", "must be given, or a file whose deviations levels follow"
            )
        if options["sigma"] is not None:
            raise ArgumentError("sigma", "has no meaning for noise that states levels")
        noise, description = given.noise("noise", spec)
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
    def _of_deviations(cls, options: Options, given: Given) -> Scheme:
        """Levels that are multiples of the standard deviations in a file."""
        inputs, digest = given.inputs(options["levels_of"])
        deviations = inputs.std(axis=0)
        if not (deviations > 0).all():
            raise ArgumentError(
                "levels_of",
                f"must have no number that is the same in all inputs; "
                f"{int((deviations <= 0).sum())} of {deviations.size} are, the first "
                f"at {int((deviations <= 0).argmax())}",
            )
        sigma = POSITIVE.one("sigma", options["sigma"])
        levels = (sigma * deviations).reshape(given.shape)
        scheme = anisotropic(levels, norm=options["norm"])
        scheme.parameters["levels"] |= {
            "of": digest,
            "factor": sigma,
            "least_deviation": float(deviations.min()),
        }
        return scheme

    @classmethod
    def evaluate(
        cls, options: Options, p_a: float, p_b: float | None, scores: bool
    ) -> Any:
        return theory.radius(
            p_a, options["sigma"], p_b, norm=options["norm"], scores=scores
        )


def anisotropic(levels: ArrayLike, *, norm: float = 2.0) -> Scheme:
    """Gaussian noise with a level for each number of an input, the same at every input.

    For tables whose columns have units: levels that are multiples of the columns'
    standard deviations. The certified set of an input is the ellipsoid of all delta
    with sum (delta_i/levels_i)^2 < K^2, K = (z_a - z_b)/2; the radius is that of the
    largest l_p ball in it, in the unit of the numbers, which sees the smallest level
    alone for norms up to 2: K times that.

    Parameters
    ----------
    levels : array_like, shape of one input
        Standard deviation of the noise of each number, > 0, in its own unit.
    norm : float
        The p of the l_p norm that measures the radius, in [1, inf].

    Raises
    ------
    ValueError
        If a level isn't positive and finite, or their ratios are beyond float32; when
        sampled, for an input of another shape.

    References
    ----------
    Hong, Hong, Certified adversarial robustness via anisotropic randomized smoothing.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.certify import certify
    >>> from rsbounds.schemes import anisotropic
    >>> def classifier(batch):
    ...     return np.stack([batch[:, 0], -batch[:, 0]], axis=1)
    >>> c = certify(classifier, [0.5, 100.0], anisotropic([0.5, 50.0]), n=10_000)
    >>> c.predict, 0.45 < c.radius < 0.5  # the truth is 0.5
    (0, True)
    """
    noise = ColumnNoise(levels)
    norm = NORM.one("norm", norm)
    axes = as_floats("levels", noise.shape).ravel()
    inner = float(theory.radius(1.0, axes, norm=norm, scores=True))
    parameters = {
        "norm": norm,
        "inner": inner,
        "dim": axes.size,
        "levels": {"law": noise.law},
    }
    scheme = Anisotropic(parameters, level=noise.level_at)
    scheme.drawn_by(noise)
    return scheme
