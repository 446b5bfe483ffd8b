"""A scheme under a suite: what it is held to, and what is known of its noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.extras import need
from rsbounds.sampling import Sampler, as_sampler
from rsbounds.schemes import Scheme
from rsbounds.testing._properties import quiet

#: Normal scores of probabilities, in increasing order.
SCORES = (-math.inf, -6.0, -1.0, -1e-3, 0.0, 1e-6, 0.1, 0.5, 1.0, 2.0, 3.7, 6.0)
#: Pairs of scores at which radii are compared with exact classifiers.
PAIRS = ((0.5, None), (2.0, None), (3.0, 1.0), (-0.5, -1.5))
#: What two roundings outward may take from a number: twice the error bound of radii.
ROUNDING = 2e-11
#: The probability that a comparison of frequencies is wrong.
LEVEL = 1e-9
SAMPLES = 20_000
#: Decimal digits of exact radii, and of the worst classifiers, which take longer.
DIGITS, FEW_DIGITS = 40, 15
REACHES = (0.0, 1e-3, 0.3, 1.0, 5.0)  # distances, in noise levels
CHANGES = (0.0, 1.0, 2.0, 3.0, 5.0)  # distances that count changes


def oracle() -> Any:
    """The functions in mpmath, loaded when they are asked for."""
    need("mpmath", "a suite")
    from rsbounds import oracle

    return oracle


@dataclass(frozen=True)
class SchemeCase:
    """A scheme, an input, and what the caller says of its noise."""

    scheme: Scheme
    x: NDArray[np.float32]
    fixed: Mapping[str, Any] | None
    draws: Callable[[Any], Sampler] | None

    @cached_property
    def sigma(self) -> float:
        """The noise level at the input."""
        return self.scheme.sigma(self.x)

    @property
    def dim(self) -> float:
        """How many numbers an input may have."""
        dim: float = self.scheme.parameters.get("dim", self.x.size)
        return dim

    @property
    def reaches(self) -> NDArray[np.float64]:
        """Distances at which transport is looked at."""
        if self.scheme.whole:
            return np.array(CHANGES)
        return np.array(REACHES) * self.sigma

    @property
    def steps(self) -> list[tuple[float, float]]:
        """Pairs of distances that are gone one after the other."""
        if self.scheme.whole:
            return [(1.0, 1.0), (1.0, 3.0)]
        return [(0.3 * self.sigma, 0.7 * self.sigma), (self.sigma, 2 * self.sigma)]

    def radius(self, z_a: float, z_b: float | None = None) -> float:
        """The radius at the input."""
        with quiet():
            return self.scheme.radius(z_a, self.sigma, z_b)

    def transport(self, z: Any, radius: Any) -> tuple[Any, Any]:
        """What scores become within a radius."""
        with quiet():
            return self.scheme.transport(z, radius, self.sigma)

    def inverse(self, z: Any, radius: Any) -> tuple[Any, Any]:
        """What scores within a radius were at the input."""
        with quiet():
            return self.scheme.inverse(z, radius, self.sigma)

    @cached_property
    def inverts(self) -> bool:
        """Whether its scheme states the inverse of its transport."""
        try:
            self.inverse(0.0, 0.0)
        except ArgumentError as error:
            if error.name != "scheme":
                raise
            return False
        return True

    @cached_property
    def transports(self) -> bool:
        """Whether its noise is the same at every input."""
        return type(self.scheme).transport is not Scheme.transport

    @cached_property
    def sampler_of(self) -> Callable[[Any], Sampler] | None:
        """What makes a sampler of a model; None where nothing draws the noise."""
        if self.draws is not None:
            return self.draws
        if self.scheme.law and self.scheme.drawn is None:
            return None
        return lambda model: as_sampler(model, self.scheme)

    def half_space_radius(self, z_a: float, z_b: float | None) -> Any:
        """The distance at which half-spaces change the class; None for other laws.

        Under Gaussian noise that is Cohen's radius, whatever the level is elsewhere:
        the two probabilities are equal in the middle of the two planes.
        """
        if self.scheme.law == "":
            return oracle().gaussian_radius(
                z_a, self.sigma, z_b, norm=self.scheme.norm, dim=self.dim, dps=DIGITS
            )
        if self.scheme.law == "laplace":  # along an axis
            return oracle().laplace_radius(z_a, self.sigma, z_b, dps=DIGITS)
        if self.scheme.name in ("uniform", "splitting"):  # along an axis
            return uniform_radius(z_a, self.sigma, z_b)
        return None


def uniform_radius(z_a: float, half_width: float, z_b: float | None) -> Any:
    """The l_1 distance at which half-spaces across an axis change the class."""
    ndtr = oracle().ndtr
    first = ndtr(z_a, dps=DIGITS)
    second = ndtr(-z_a if z_b is None else z_b, dps=DIGITS)
    return half_width * (first - second)
