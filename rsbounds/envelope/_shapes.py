"""What an envelope is, those that the compiled search knows, and two others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import ArrayLike

from rsbounds._numerics.checks import Array, Floats, as_floats, operand
from rsbounds._numerics.records import Record
from rsbounds._numerics.rounding import EPS
from rsbounds_ext import kernels

_EDGE = 16 * EPS  # of the bounds that are widened and of this arithmetic


class Envelope(Protocol):
    """Anything with ``bounds(sigma0, distance) -> (low, high)`` on arrays of distances.

    ``low`` non-increasing and ``high`` non-decreasing in the distance, low <= sigma0 <=
    high; a violation seen during the search is refused.
    """

    def bounds(self, sigma0: Array, distance: Array) -> tuple[ArrayLike, ArrayLike]: ...


class Compiled(Record, ABC):
    """An envelope with a search of its own among the kernels.

    Its parameters are checked once, when it is made, and kept as float64, rounded to
    the side on which the envelope is wider.
    """

    _radius: ClassVar[np.ufunc]  # of (*Budget, *_parameters())
    _branch: ClassVar[np.ufunc]  # of (*Budget, up, *_parameters())
    _sigma_down: ClassVar[bool] = False  # a smaller sigma0 has a smaller radius

    @abstractmethod
    def _parameters(self) -> tuple[Floats, ...]:
        """The parameters, in the order of the kernels' last arguments."""

    def _levels(self) -> tuple[Floats, Floats]:
        """The smallest and the largest sigma that it allows anywhere."""
        return np.float64(0.0), np.float64(np.inf)

    def _keep(self, name: str, closed: str, towards: float) -> None:
        """Check a parameter and keep it."""
        value = getattr(self, name)
        checked: Any = operand(
            name, value, 0.0, closed=closed, nan=False, towards=towards
        )
        if checked.ndim:
            # a caller who changes the array later would change what was checked
            checked = np.array(checked)
            checked.setflags(write=False)
        else:
            checked = float(checked)
        object.__setattr__(self, name, checked)


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


@dataclass(frozen=True, eq=False)
class SemiElastic(Compiled):
    """An envelope for a `rate`-Lipschitz log sigma.

    sigma0 exp(-rate R) <= sigma <= sigma0 exp(rate R).

    Parameters
    ----------
    rate : array_like
        Lipschitz constant of log sigma, >= 0, over the unit of distances.

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
        self._keep("rate", "left", np.inf)

    @np.errstate(all="ignore")  # a bound may end at 0 or inf, without a flag
    def bounds(self, sigma0: ArrayLike, distance: ArrayLike) -> tuple[Floats, Floats]:
        """Smallest and largest sigma at `distance` from a point with sigma0."""
        sigma0, distance = _at(sigma0, distance)
        t = np.multiply(self.rate, distance)
        return np.multiply(sigma0, np.exp(-t)), np.multiply(sigma0, np.exp(t))

    def _parameters(self) -> tuple[Floats, ...]:
        return (cast(Floats, self.rate),)


@dataclass(frozen=True, eq=False)
class LipschitzSigma(Compiled):
    """sigma is `lip`-Lipschitz and at least `sigma_min` (0 for no floor).

    Parameters
    ----------
    lip : array_like
        Lipschitz constant of sigma, >= 0.
    sigma_min : array_like
        Floor of sigma, >= 0, in the unit of sigma.

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
        self._keep("lip", "left", np.inf)
        self._keep("sigma_min", "left", -np.inf)

    @np.errstate(all="ignore")  # a bound may end at 0 or inf, without a flag
    def bounds(self, sigma0: ArrayLike, distance: ArrayLike) -> tuple[Floats, Floats]:
        """Smallest and largest sigma at `distance` from a point with sigma0."""
        sigma0, distance = _at(sigma0, distance)
        t = np.multiply(self.lip, distance)
        low = np.maximum(self.sigma_min, np.subtract(sigma0, t))
        return low, np.add(sigma0, t)

    def _parameters(self) -> tuple[Floats, Floats]:
        return cast(Floats, self.lip), cast(Floats, self.sigma_min)

    def _levels(self) -> tuple[Floats, Floats]:
        return cast(Floats, self.sigma_min), np.float64(np.inf)


@dataclass(frozen=True, eq=False)
class SigmaRange(Compiled):
    """sigma lies in [sigma_min, sigma_max] everywhere.

    Parameters
    ----------
    sigma_min, sigma_max : array_like
        Ends of the range, 0 <= sigma_min <= sigma_max.

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
        self._keep("sigma_min", "right", -np.inf)
        self._keep("sigma_max", "right", np.inf)

    def bounds(self, sigma0: ArrayLike, distance: ArrayLike) -> tuple[Floats, Floats]:
        """Smallest and largest sigma, the same at any distance."""
        shape = np.broadcast(*_at(sigma0, distance)).shape
        low = np.broadcast_to(self.sigma_min, shape)
        high = np.broadcast_to(self.sigma_max, shape)
        return low[()], high[()]

    def _parameters(self) -> tuple[Floats, Floats]:
        return cast(Floats, self.sigma_min), cast(Floats, self.sigma_max)

    def _levels(self) -> tuple[Floats, Floats]:
        return self._parameters()


@dataclass(frozen=True, eq=False)
class TableEnvelope(Record):
    """An envelope given by arrays: sigma in [low[i], high[i]] within distance[i].

    Between two tabulated distances the wider interval, that of the further one, is
    used; beyond the last distance nothing is known and nothing is certified.

    Parameters
    ----------
    distance : array_like
        Increasing distances, >= 0.
    low, high : array_like
        Smallest sigma (non-increasing, > 0) and largest sigma (non-decreasing) there.

    Examples
    --------
    >>> table = TableEnvelope([0.5, 1.0], [0.24, 0.23], [0.26, 0.27])
    >>> low, high = table.bounds(0.25, 0.7)
    >>> float(low), float(high)
    (0.23, 0.27)
    """

    distance: ArrayLike
    low: ArrayLike
    high: ArrayLike

    def __post_init__(self) -> None:
        # each to the side on which the envelope is wider
        distance = self._as_read_only("distance", -np.inf)
        low = self._as_read_only("low", -np.inf)
        high = self._as_read_only("high", np.inf)
        if not distance.shape == low.shape == high.shape or distance.ndim != 1:
            shapes = f"distance {distance.shape}, low {low.shape}, high {high.shape}"
            raise ValueError(
                f"distance, low and high must be 1-d of one length; got {shapes}"
            )
        falls = np.all(np.diff(low) <= 0)
        rises = np.all(np.diff(high) >= 0)
        if not (np.all(np.diff(distance) > 0) and falls and rises):
            raise ValueError(
                "distance must increase, low must not increase and high must not "
                "decrease: the envelope is not monotone"
            )

    def _as_read_only(self, name: str, towards: float) -> Array:
        value = as_floats(name, getattr(self, name), 0.0, nan=False, towards=towards)
        frozen = np.array(np.atleast_1d(value))
        frozen.setflags(write=False)
        object.__setattr__(self, name, frozen)
        return frozen

    def bounds(self, sigma0: ArrayLike, distance: ArrayLike) -> tuple[Floats, Floats]:
        """Smallest and largest sigma at `distance`; (0, inf) beyond the table."""
        place = np.searchsorted(self.distance, as_floats("distance", distance, 0.0))
        same = 0 * as_floats("sigma0", sigma0, 0.0)  # of its shape
        low = np.append(self.low, 0.0)[place] + same
        high = np.append(self.high, np.inf)[place] + same
        return low, high


@dataclass(frozen=True, eq=False)
class Widened(Record):
    """`envelope` with both ends further out by a factor exp(slack).

    Where the sigma that is drawn is within a factor exp(slack/2) of one that obeys
    `envelope` from every point, it obeys this. At distance 0 it still allows a jump, so
    the radius is 0 where p_a is very near 1/2. Source: the theory page on sound noise.

    Parameters
    ----------
    envelope : Envelope
        What the ideal sigma obeys.
    slack : array_like
        How far the logarithms of two computed levels may be apart beyond it, in [0,
        inf).

    Notes
    -----
    The bounds are rounded outward: where sigma changes by less than a factor 2, a
    radius is at least that of a slack larger by 2e-14.

    Examples
    --------
    >>> from rsbounds.envelope import SemiElastic, Widened, radius
    >>> plain, wide = (radius(0.99, 0.25, e, 150528)
    ...                for e in (SemiElastic(0.01), Widened(SemiElastic(0.01), 1e-12)))
    >>> print(f"{1 - wide / plain:.0e}")
    2e-10
    """

    envelope: Envelope
    slack: ArrayLike

    def __post_init__(self) -> None:
        slack = as_floats(
            "slack", self.slack, 0.0, closed="left", nan=False, towards=np.inf
        )
        object.__setattr__(self, "slack", np.array(slack)[()])

    @property
    def monotone(self) -> bool:
        """Whether that needs no watching, as that of a user's own envelope does."""
        return isinstance(self.envelope, Compiled)

    @np.errstate(all="ignore")  # a bound may end at 0 or inf, without a flag
    def bounds(self, sigma0: ArrayLike, distance: ArrayLike) -> tuple[Floats, Floats]:
        """Smallest and largest sigma at `distance` from a point with sigma0.

        Both are rounded outward.
        """
        sigma, distance = _at(sigma0, distance)
        low, high = self.envelope.bounds(np.asarray(sigma), np.asarray(distance))
        low = as_floats("low", low)
        high = as_floats("high", high)
        factor = np.exp(self.slack) * (1 + _EDGE)
        # an exponential loses digits in proportion to its argument
        turns = 1 + np.log(np.maximum(np.divide(high, sigma), 1.0))
        lowest = np.maximum(np.subtract(low, _EDGE * sigma), 0.0) / factor
        return lowest, np.multiply(high, 1 + _EDGE * turns) * factor
