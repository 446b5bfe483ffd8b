"""The envelopes that the compiled search knows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rsbounds._numerics.checks import Floats, operand, real
from rsbounds.envelope._port import Compiled
from rsbounds_ext import kernels


@dataclass(frozen=True)
class SemiElastic(Compiled):
    """log sigma is `rate`-Lipschitz: sigma0 exp(-rate R) <= sigma <= sigma0 exp(rate R).

    Examples
    --------
    >>> low, high = SemiElastic(0.1).bounds(0.25, 1.0)
    >>> print(f"{low:.6f} {high:.6f}")
    0.226209 0.276293
    """

    _radius = kernels.semielastic_radius
    _branch = kernels.semielastic_branch
    _sigma_down = True  # the ratios of sigma stay, and distances count for more

    rate: ArrayLike

    def __post_init__(self) -> None:
        real("rate", self.rate, 0.0, closed="left", nan=False)

    def bounds(self, sigma0: ArrayLike, distance: ArrayLike) -> tuple[Floats, Floats]:
        """Smallest and largest sigma at `distance` from a point with sigma0."""
        t = np.multiply(self.rate, distance)
        return np.multiply(sigma0, np.exp(-t)), np.multiply(sigma0, np.exp(t))

    def _parameters(self) -> tuple[ArrayLike, ...]:
        return (operand("rate", self.rate, towards=np.inf),)


@dataclass(frozen=True)
class LipschitzSigma(Compiled):
    """sigma is `lip`-Lipschitz and at least `sigma_min` (0 for no floor).

    Examples
    --------
    >>> low, high = LipschitzSigma(0.5, 0.2).bounds(0.25, 1.0)
    >>> float(low), float(high)
    (0.2, 0.75)
    """

    _radius = kernels.lipschitz_radius
    _branch = kernels.lipschitz_branch

    lip: ArrayLike
    sigma_min: ArrayLike = 0.0

    def __post_init__(self) -> None:
        real("lip", self.lip, 0.0, closed="left", nan=False)
        real("sigma_min", self.sigma_min, 0.0, closed="left", nan=False)

    def bounds(self, sigma0: ArrayLike, distance: ArrayLike) -> tuple[Floats, Floats]:
        """Smallest and largest sigma at `distance` from a point with sigma0."""
        t = np.multiply(self.lip, distance)
        return np.maximum(self.sigma_min, np.subtract(sigma0, t)), np.add(sigma0, t)

    def _parameters(self) -> tuple[ArrayLike, ...]:
        return operand("lip", self.lip, towards=np.inf), self._levels()[0]

    def _levels(self) -> tuple[ArrayLike, ArrayLike]:
        return operand("sigma_min", self.sigma_min, towards=-np.inf), np.inf


@dataclass(frozen=True)
class SigmaRange(Compiled):
    """sigma lies in [sigma_min, sigma_max] everywhere.

    Examples
    --------
    >>> low, high = SigmaRange(0.2, 0.3).bounds(0.25, 1.0)
    >>> float(low), float(high)
    (0.2, 0.3)
    """

    _radius = kernels.range_radius
    _branch = kernels.range_branch

    sigma_min: ArrayLike
    sigma_max: ArrayLike

    def __post_init__(self) -> None:
        real("sigma_min", self.sigma_min, 0.0, closed="right", nan=False)
        real("sigma_max", self.sigma_max, 0.0, closed="right", nan=False)

    def bounds(self, sigma0: ArrayLike, distance: ArrayLike) -> tuple[Floats, Floats]:
        """Smallest and largest sigma, the same at any distance."""
        shape = np.broadcast_shapes(np.shape(sigma0), np.shape(distance))
        low, high = (np.broadcast_to(b, shape) for b in (self.sigma_min, self.sigma_max))
        return low[()], high[()]

    def _parameters(self) -> tuple[ArrayLike, ...]:
        return self._levels()

    def _levels(self) -> tuple[ArrayLike, ArrayLike]:
        return (
            operand("sigma_min", self.sigma_min, towards=-np.inf),
            operand("sigma_max", self.sigma_max, towards=np.inf),
        )
