"""Noise with one mean and one level on every axis, the same for all inputs.

The noise is isotropic in the coordinates divided by a fixed shape; ``inner`` is the
radius of the l_p ball inside the ellipsoid of all delta with |delta/shape| <= 1.

References
----------
Hong, Hong, Certified adversarial robustness via anisotropic randomized smoothing.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rsbounds import anisotropic as theory
from rsbounds import gaussian
from rsbounds._numerics.answered import By
from rsbounds._numerics.checks import as_floats
from rsbounds._numerics.domains import NORM, POSITIVE
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.options import Option, Options, Shared
from rsbounds._numerics.parameters import OF_CODE, Parameter, Type, Usual
from rsbounds._numerics.rounding import EPS, product, round_down
from rsbounds.anisotropic.internal import transport
from rsbounds.certificate import FIXED_NOISE
from rsbounds.noises import Noise
from rsbounds.noises.internal import checked_scores
from rsbounds.noises.shaped import ColumnNoise, ShapedNoise
from rsbounds.schemes._given import Given
from rsbounds.schemes._on_grid import UNSTATED
from rsbounds.schemes._scheme import Scheme

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

    ``noise`` says where copies lie: its ``law``, ``shape`` and ``centre(x)``, as those
    of :class:`rsbounds.noises.shaped.ColumnNoise`.
    """

    name = "anisotropic"
    scope = FIXED_NOISE
    law = UNSTATED
    follows_input = False
    self_inverse = True
    made_by = "the noise itself"
    help = "a noise level for each coordinate"
    declared: ClassVar[tuple[Parameter, ...]] = (
        Parameter(
            "noise",
            "the code of the noise, its hashes",
            answered_by=By.NOISE,
            option=replace(NOISE_OPTION, default=None),
            parts=OF_CODE,
            type=Type.OBJECT,
        ),
        Parameter(
            "levels_of",
            option=Option(
                "levels_of",
                "the level of each number is SIGMA times its standard deviation in x "
                "of this file, such as the training data",
                type=Path,
                default=None,
                metavar="FILE.npz",
            ),
        ),
        Parameter(
            "levels",
            "how levels follow from deviations",
            answered_by=By.NOISE,
            parts=("law", "of", "factor", "least_deviation"),
            type=Type.OBJECT,
        ),
        Parameter(
            "sigma",
            option=replace(
                Shared.LEVEL, help="with levels_of: the factor", default=None
            ),
            input=Option("sigma", "noise level of each coordinate", nargs="+"),
        ),
        Usual.NORM,
        Parameter("inner", "the least axis of the noise's shape", POSITIVE, By.NOISE),
        Parameter("dim", "numbers of an input", answered_by=By.WRITER),
    )
    noise: Any = None

    def drawn_by(self, noise: Any) -> None:
        """Let samples be of ``noise``; its law is then the scheme's."""
        self.noise, self.law = noise, noise.law

    @property
    def drawn(self) -> Noise | None:
        """Made anew each time: noise of a subclass is not known for being the same."""
        if self.noise is None:
            return None
        drawn = ShapedNoise(self.noise)
        return drawn if self.grid is None else drawn.rounded(self.grid)

    def radius(self, z_a: float, sigma: float, z_b: float | None = None) -> float:
        first, second = checked_scores(z_a, z_b)
        sigma = POSITIVE.one("sigma", sigma)
        return self._stretched(gaussian.radius(first, sigma, second, scores=True))

    def transport(
        self, z: Any, radius: Any, sigma: float | None = None
    ) -> tuple[Any, Any]:
        level = self.fixed_level(sigma)
        inner = self.parameters["inner"]
        return transport(z, radius, level, inner=inner)

    @property
    def own_level(self) -> float | None:
        """Level of the reference axis; the others are multiples of it."""
        level: float | None = getattr(self.noise, "level", None)
        return super().own_level if level is None else level

    def _stretched(self, reach: Any) -> float:
        radius = float(round_down(product(reach, self.parameters["inner"]), 2 * EPS))
        # NaN where the processor takes a denormal ``inner`` for 0, and all is certain
        return radius if radius > 0 else 0.0

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
        scheme: Scheme = noise.scheme(options["norm"])
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
        Standard deviation of the noise of each number, > 0, in its own unit. A matrix
        has a level for each number of a matrix, and is no covariance.
    norm : float
        The p of the l_p norm that measures the radius, in [1, inf].

    Raises
    ------
    ValueError
        If a level isn't positive and finite, or their ratios are beyond float32; when
        sampled, for an input of another shape.

    Warns
    -----
    RuntimeWarning
        For a matrix that could be a covariance: symmetric and positive definite.

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
    _warn_of_covariance(noise.shape)
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


def _warn_of_covariance(levels: NDArray[Any]) -> None:
    """Warn of levels that are symmetric and positive definite, as a covariance is."""
    if levels.ndim != 2 or len(levels) < 2 or levels.shape != levels.T.shape:
        return
    matrix = levels.astype(np.float64)
    if not (matrix == matrix.T).all():
        return
    least = float(np.linalg.eigvalsh(matrix)[0])
    if least > len(matrix) * np.finfo(np.float32).eps * matrix.max():
        warnings.warn(
            f"levels of shape {levels.shape} are a level for each number of an input "
            "of that shape; they look like a covariance, which this noise can't have: "
            "give the standard deviation of each number",
            RuntimeWarning,
            stacklevel=3,
        )
