"""What a noise is, and chance that is exact: comparisons of whole numbers."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import check, on_host
from rsbounds._numerics.errors import ArgumentError

_BITS = 16  # of a draw in :func:`happens`; more are drawn where these don't decide
_MOST = 2**24  # whole numbers up to here are numbers of float32


class Noise(ABC):
    """A law of noisy copies of one input.

    Attributes
    ----------
    law : str
        Names the law with its parameters. A sampler has the law of its noise, and a
        scheme that of its radii: nothing is certified unless they agree.
    level : float or None
        The ``sigma`` that a sampler of it is called with: the width or scale, 1.0 where
        the noise has none. None: any.
    whole : bool
        Whether inputs may be whole numbers. Copies are then whole numbers too, int64;
        copies of an input in floating point are float32.
    outcomes : int or None
        How many outcomes it has, where a sampler goes through all of them, each once;
        None where copies are drawn by chance.
    sound : bool
        Whether it is Gaussian noise on a grid, which whole numbers decide.
    """

    law: str
    level: float | None = 1.0
    whole: bool = True
    outcomes: int | None = None
    sound: bool = False

    @abstractmethod
    def checked(self, x: Any) -> Any:
        """One input in the form that copies are drawn from; ArgumentError("x", ...)."""

    @abstractmethod
    def noisy(
        self, x: Any, sigma: float, size: int, generator: np.random.Generator
    ) -> tuple[Any, Any]:
        """``size`` copies of a checked input, and which of them are void.

        A void copy, whose draw decides nothing, counts for no class.
        """

    def all_outcomes(self, x: Any, first: int, size: int) -> Any:
        """Copies number ``first`` and following, where all outcomes are gone through.

        Beyond the last one they begin again.
        """
        raise NotImplementedError(f"{type(self).__name__} draws by chance")

    def numbers(self, x: Any) -> int:
        """How many numbers one copy holds, which blocks are measured by."""
        return int(x.size)

    def presented(self, batch: Any) -> Any:
        """What a function of NumPy batches is called with."""
        return batch

    def __repr__(self) -> str:
        return f"<noise {self.law}>"


def require_level(noise: Noise, sigma: float) -> None:
    """ValueError unless a sampler is called with the level of its noise."""
    if noise.level is not None and float(sigma) != noise.level:
        raise ArgumentError(
            "sigma", f"must be the level of the noise, {noise.level}; got {sigma}"
        )


def spelled(value: Fraction) -> str:
    """A rational number as a law names it: the shortest float that equals it, or p/q.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from rsbounds.sampling.noises._noise import spelled
    >>> spelled(Fraction(0.8)), spelled(Fraction(4, 5)), spelled(Fraction(1))
    ('0.8', '4/5', '1')
    """
    if value.denominator == 1:
        return str(value.numerator)
    return repr(float(value)) if Fraction(float(value)) == value else str(value)


def happens(
    chance: Fraction, shape: int | tuple[int, ...], generator: np.random.Generator
) -> NDArray[np.bool_]:
    """Independent events of exactly this probability.

    The first 16 bits of a uniform number are compared with those of the probability.
    Where they are equal, which is rare, the next 16 decide, and so on: there is no
    rounding, and a rational number without an end in base 2 has its own probability.
    """
    scaled = chance * 2**_BITS
    threshold = math.floor(scaled)
    if threshold == 2**_BITS:
        return np.ones(shape, np.bool_)
    drawn = generator.integers(0, 2**_BITS, size=shape, dtype=np.uint16)
    events: NDArray[np.bool_] = drawn < threshold
    rest = scaled - threshold
    if rest:
        tied = np.nonzero(drawn == threshold)
        if len(tied[0]):
            events[tied] = happens(rest, len(tied[0]), generator)
    return events


def as_array(x: Any) -> NDArray[Any]:
    """One input as an array of real numbers, at least one, all finite."""
    if hasattr(x, "tocsr"):
        raise ArgumentError(
            "x", "must be an array: sparse matrices are inputs of flips alone"
        )
    given = np.asarray(on_host("x", x))
    if given.dtype.kind not in "biuf" or not given.size:
        raise ArgumentError(
            "x",
            f"must be numbers, at least one; got {given.dtype} of shape {given.shape}",
        )
    if given.dtype.kind == "f":
        check("x", given, np.isfinite(given), "finite")
    return given


def as_whole(x: Any, high: int | None = None, low: int = 0) -> NDArray[Any]:
    """One input of whole numbers, in the type of its copies.

    int64, or float32 where it came in floating point. ArgumentError for any that aren't
    whole or lie outside of [low, high].
    """
    given = as_array(x)
    floating = given.dtype.kind == "f"
    top = min(2**62 if high is None else high, _MOST if floating else 2**62)
    good = (low <= given) & (given <= top)
    if floating:
        good &= given == np.floor(given)
    check("x", given, good, f"whole numbers in [{low}, {top}]")
    return given.astype(np.float32 if floating else np.int64)


def as_real(x: Any) -> NDArray[Any]:
    """One input of any finite numbers, in the type of its copies."""
    given = as_array(x)
    if given.dtype.kind in "biu":
        return as_whole(given, low=-(2**62))
    with np.errstate(over="ignore"):
        single = given.astype(np.float32)
    check("x", given, np.isfinite(single), "within the range of float32")
    return single
