"""What an envelope is, and those that the compiled search knows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from rsbounds._numerics.checks import Array, Floats, operand
from rsbounds_ext import kernels


class Envelope(Protocol):
    """Anything with ``bounds(sigma0, distance) -> (low, high)`` on arrays of distances.

    ``low`` non-increasing and ``high`` non-decreasing in the distance, low <= sigma0 <= high;
    a violation seen during the search is refused.
    """

    def bounds(self, sigma0: Array, distance: Array) -> tuple[ArrayLike, ArrayLike]: ...


class Compiled(ABC):
    """An envelope with a search of its own among the kernels."""

    _radius: ClassVar[np.ufunc]  # of (*Budget, *_parameters())
    _branch: ClassVar[np.ufunc]  # of (*Budget, up, *_parameters())
    _sigma_down: ClassVar[bool] = False  # a smaller sigma0 has a smaller radius

    @abstractmethod
    def bounds(self, sigma0: ArrayLike, distance: ArrayLike) -> tuple[Floats, Floats]: ...

    @abstractmethod
    def _parameters(self) -> tuple[Floats, ...]:
        """Checked, rounded to their safe sides."""

    def _levels(self) -> tuple[Floats, Floats]:
        """The smallest and the largest sigma that it allows anywhere."""
        return np.float64(0.0), np.float64(np.inf)


def _at(sigma0: ArrayLike, distance: ArrayLike) -> tuple[Floats, Floats]:
    return operand("sigma0", sigma0, 0.0), operand("distance", distance, 0.0)


class Budget(NamedTuple):
    """The point to be certified, in the order of the kernels' first arguments."""

    z_a: Floats
    z_b: Floats
    gap: Floats  # z_a - z_b, rounded down
    sigma: Floats
    dim: Floats
    mean_lip: Floats


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
        self._parameters()

    def bounds(self, sigma0: ArrayLike, distance: ArrayLike) -> tuple[Floats, Floats]:
        """Smallest and largest sigma at `distance` from a point with sigma0."""
        sigma0, distance = _at(sigma0, distance)
        t = np.multiply(self.rate, distance)
        return np.multiply(sigma0, np.exp(-t)), np.multiply(sigma0, np.exp(t))

    def _parameters(self) -> tuple[Floats, ...]:
        return (operand("rate", self.rate, 0.0, closed="left", nan=False, towards=np.inf),)


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
        self._parameters()

    def bounds(self, sigma0: ArrayLike, distance: ArrayLike) -> tuple[Floats, Floats]:
        """Smallest and largest sigma at `distance` from a point with sigma0."""
        sigma0, distance = _at(sigma0, distance)
        t = np.multiply(self.lip, distance)
        return np.maximum(self.sigma_min, np.subtract(sigma0, t)), np.add(sigma0, t)

    def _parameters(self) -> tuple[Floats, Floats]:
        return (
            operand("lip", self.lip, 0.0, closed="left", nan=False, towards=np.inf),
            operand("sigma_min", self.sigma_min, 0.0, closed="left", nan=False, towards=-np.inf),
        )

    def _levels(self) -> tuple[Floats, Floats]:
        return self._parameters()[1], np.float64(np.inf)


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
        self._parameters()

    def bounds(self, sigma0: ArrayLike, distance: ArrayLike) -> tuple[Floats, Floats]:
        """Smallest and largest sigma, the same at any distance."""
        shape = np.broadcast(*_at(sigma0, distance)).shape
        low, high = (np.broadcast_to(b, shape) for b in (self.sigma_min, self.sigma_max))
        return low[()], high[()]

    def _parameters(self) -> tuple[Floats, Floats]:
        return (
            operand("sigma_min", self.sigma_min, 0.0, closed="right", nan=False, towards=-np.inf),
            operand("sigma_max", self.sigma_max, 0.0, closed="right", nan=False, towards=np.inf),
        )

    def _levels(self) -> tuple[Floats, Floats]:
        return self._parameters()
