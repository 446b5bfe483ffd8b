"""Noise that moves the parameter of a transformation, and finite groups gone through.

See :mod:`rsbounds.transforms` for the transformations, :mod:`rsbounds.schemes` for what
is certified. A copy of an input is T_a x, with one a for each copy.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.errors import ArgumentError
from rsbounds.noises import AddedNoise, Bits, Noise, noise_level, single
from rsbounds.transforms import (
    FiniteGroup,
    Transform,
    applied,
    column,
    is_own,
    require_composition,
)

#: Numbers of a law, in an array of a shape.
Offsets = Callable[[tuple[int, ...], Any], Any]


class TransformedNoise(Noise):
    """Copies T_a x of an input, a of a law; a is rounded to float32, as copies are.

    Parameters
    ----------
    transform : Transform
        One that isn't this package's is tried at every input:
        ArgumentError("transform", ...) where T_a T_b and T_(a + b) are seen to differ.
    offsets : callable
        Draws numbers of the law of a, as :meth:`AddedNoise.offsets` does.
    law : str
        Names the law of a.
    level : float
        Its level.
    of_bits : bool
        Whether ``offsets`` takes no normal numbers.
    """

    whole = False

    def __init__(
        self,
        transform: Transform,
        offsets: Offsets,
        *,
        law: str,
        level: float,
        of_bits: bool,
    ) -> None:
        self.transform = transform
        self.level: float = level
        self.law = f"{transform.name} of {law}"
        self._offsets = offsets
        self.of_bits = of_bits

    def checked(self, x: Any) -> NDArray[np.float32]:
        point = self.transform.checked(x)
        if not is_own(self.transform):
            require_composition(self.transform, point, self.level)
        return point

    def noisy(self, x: Any, sigma: float, size: int, bits: Bits) -> Any:
        with np.errstate(over="ignore", under="ignore"):
            a = bits.single(self._offsets((size, self.transform.dim), bits))
            copies = applied(self.transform, x, a, bits.xp)
        if is_own(self.transform):
            return copies  # new, and in float32
        # a copy: another's function may keep what it returns, or return x itself
        return bits.single(copies)


class AffineNoise(Noise):
    """Copies e^k x + b, with k and b of independent normal laws.

    Parameters
    ----------
    brightness, contrast : float
        Standard deviations of b and of k; the first is the level.
    """

    whole = False

    def __init__(self, brightness: float, contrast: float) -> None:
        self.level: float = noise_level(brightness, "sigma_brightness")
        self.contrast = contrast
        self.law = f"brightness of sigma={brightness!r}, contrast of sigma={contrast!r}"

    def checked(self, x: Any) -> NDArray[np.float32]:
        return single(x)

    def noisy(self, x: Any, sigma: float, size: int, bits: Bits) -> Any:
        with np.errstate(over="ignore", under="ignore"):
            k = bits.single(self.contrast * bits.normal((size,)))
            b = bits.single(self.level * bits.normal((size,)))
            return column(bits.xp.exp(k), x) * x + column(b, x)


class OrbitNoise(Noise):
    """Copies of an input by every element of a finite group, each once.

    Parameters
    ----------
    group : FiniteGroup
        The group.
    order : int
        How many elements it has for the inputs that it is for.
    """

    whole = False
    level = 1.0

    def __init__(self, group: FiniteGroup, order: int) -> None:
        self.group = group
        self.outcomes: int = order
        self.law = f"all of {group.name}, {order} elements"

    def checked(self, x: Any) -> NDArray[np.float32]:
        point = self.group.checked(x)
        order = self.group.order(point.shape)
        if order != self.outcomes:
            raise ArgumentError(
                "x",
                f"must have {self.outcomes} copies by {self.group.name}; one of shape "
                f"{point.shape} has {order}",
            )
        return point

    def noisy(self, x: Any, sigma: float, size: int, bits: Bits) -> Any:
        raise NotImplementedError("all elements are gone through")

    def all_outcomes(self, x: Any, first: int, size: int, bits: Bits) -> Any:
        return bits.single(self.group.apply(x, first, size, bits.xp))


def gaussian_offsets(sigma: float) -> Offsets:
    """What draws numbers of N(0, sigma^2)."""
    return partial(_normal, noise_level(sigma))


def _normal(sigma: float, shape: tuple[int, ...], bits: Bits) -> Any:
    return sigma * bits.normal(shape)


def offsets_of(noise: AddedNoise) -> Offsets:
    """What draws numbers of a law that is added to every coordinate."""
    return noise.offsets
