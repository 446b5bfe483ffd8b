"""What schemes of discrete noise share: radii, transport and frontiers by a curve.

The theory is that of :mod:`rsbounds.discrete`: exact curves of probabilities. A scheme
says which curve and which noise its parameters mean.
"""

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Self

import numpy as np

from rsbounds._numerics.checks import Array, as_floats, broadcast
from rsbounds._numerics.errors import ArgumentError
from rsbounds.certificate import FIXED_NOISE
from rsbounds.discrete import Curve
from rsbounds.sampling.noises import Noise
from rsbounds.schemes._domains import Domain, plain
from rsbounds.schemes._options import Given, Options
from rsbounds.schemes._scheme import Scheme
from rsbounds.schemes._shares import checked_scores

CHANCE = Domain(0.0, 1.0, "neither")
MOST = 4096  # changes beyond which transport promises nothing


class CurveScheme(Scheme):
    """A scheme of discrete noise: of ``curve_of`` and ``noise_of`` its parameters.

    Its radius is the largest whole number of changes that are certified whatever their
    kind. Its noise has no sigma: the level that rows state is the largest probability
    with which it changes a coordinate.
    """

    scope = FIXED_NOISE
    norm: float | str = 0.0
    of_whole_numbers = True
    sound = True  # the level is the same number at every input

    def __init__(self, parameters: Mapping[str, Any], **options: Any) -> None:
        super().__init__(parameters, **options)
        if self.parameters:  # a class of methods is made of none
            self.law = self.noise_of(self.parameters).law

    @classmethod
    def curve_of(cls, parameters: Mapping[str, Any]) -> Curve:
        """The curve of checked parameters."""
        raise NotImplementedError(f"{cls.__name__} has no curve")

    @classmethod
    def noise_of(cls, parameters: Mapping[str, Any]) -> Noise:
        """The noise of checked parameters."""
        raise NotImplementedError(f"{cls.__name__} has no noise")

    @classmethod
    def level_of(cls, parameters: Mapping[str, Any]) -> float:
        """The largest probability with which the noise changes a coordinate."""
        raise NotImplementedError(f"{cls.__name__} has no level")

    @cached_property
    def curve(self) -> Curve:
        """The exact curve of its noise."""
        return self.curve_of(self.parameters)

    @property
    def drawn(self) -> Noise:
        noise = self.noise_of(self.parameters)
        # samplers are called with the level that rows state
        noise.level = self.level_of(self.parameters)
        return noise

    @property
    def own_level(self) -> float:
        return self.level_of(self.parameters)

    def sigma(self, x: Any) -> float:
        return self.own_level

    def radius(self, z_a: float, sigma: float, z_b: float | None = None) -> float:
        self.fixed_level(sigma)
        return _radius(self.curve, *_ends(z_a, z_b))

    def transport(
        self, z: Any, radius: Any, sigma: float | None = None
    ) -> tuple[Any, Any]:
        self.fixed_level(sigma)
        scores = as_floats("z", z, exact=True, nan=False)
        distance = as_floats("radius", radius, 0.0, nan=False)
        scores, distance = broadcast(z=scores, radius=distance)
        # within less than a whole change more there are no more changes
        changes = np.floor(distance)
        low: Array = np.full(scores.shape, -np.inf)
        high: Array = np.full(scores.shape, np.inf)
        for number in np.unique(changes[changes <= MOST]):
            at = changes == number
            low[at], high[at] = self.curve.transport(scores[at], int(number))
        return low[()], high[()]

    @classmethod
    def check(cls, parameters: Mapping[str, Any]) -> None:
        super().check(parameters)
        try:
            cls.curve_of(parameters)
            cls.noise_of(parameters)
            level = cls.level_of(parameters)
        except ArgumentError as error:
            name = f"parameters.{error.name}"
            raise ArgumentError(name, error.problem) from None
        if not level > 0:
            name = next(iter(cls.domains), "level")
            raise ArgumentError(
                f"parameters.{name}", "must leave the noise some chance"
            )

    @classmethod
    def made_of(cls, **parameters: Any) -> Self:
        """The scheme of a user's arguments, which errors name as they are."""
        stated = {
            name: _held(name, value)
            for name, value in parameters.items()
            if value is not None
        }
        try:
            return cls.from_parameters(stated)
        except ArgumentError as error:
            name = error.name.removeprefix("parameters.")
            raise ArgumentError(name, error.problem) from None

    @classmethod
    def from_options(cls, options: Options, given: Given) -> Scheme:
        return cls.made_of(**cls.stated(options, given.dim))

    @classmethod
    def stated(cls, options: Options, dim: int | None) -> dict[str, Any]:
        """The parameters among the options, for inputs of ``dim`` numbers."""
        return {option.name: options[option.name] for option in cls.options}

    @classmethod
    def evaluate(
        cls, options: Options, p_a: float, p_b: float | None, scores: bool
    ) -> Any:
        scheme = cls.made_of(**cls.stated(options, options.get("dim")))
        if scores:
            return _radius(scheme.curve, *_ends(p_a, p_b))
        return scheme.curve.radius(p_a, p_b)


class FrontierScheme(CurveScheme):
    """A scheme whose changes are of several kinds: rows have a frontier of them."""

    columns = ("frontier",)
    convex = False

    def further(self, z_a: float, z_b: float) -> dict[str, str]:
        """The largest numbers of changes that are certified, kind by kind.

        ``0,4;1,2`` are the pairs (0, 4) and (1, 2); "-" where nothing is certified.
        """
        return {"frontier": _frontier(self.curve, *_ends(z_a, z_b))}


def _held(name: str, value: Any) -> Any:
    """A number as a manifest can hold it: noise, curve and manifest have the same one.

    Of rational numbers these are the doubles.
    """
    if not isinstance(value, Fraction):
        return plain(value)
    try:
        nearest = float(value)
    except OverflowError:
        nearest = math.inf
    if nearest != value:
        raise ArgumentError(
            name,
            f"must be a number that a result file can hold, a double such as {nearest}"
            f"; got {value} (rsbounds.discrete takes any fraction)",
        )
    return nearest


def _ends(z_a: float, z_b: float | None) -> tuple[float, float | None]:
    """The scores, the second as None where it only says what the first leaves."""
    first, second = checked_scores(z_a, z_b)
    return first, None if second == -first else second


@lru_cache(maxsize=4096)
def _radius(curve: Curve, z_a: float, z_b: float | None) -> float:
    """The radius of two scores: many inputs share them."""
    return float(curve.radius_of_scores(z_a, z_b))


@lru_cache(maxsize=4096)
def _frontier(curve: Curve, z_a: float, z_b: float | None) -> str:
    if math.isnan(z_a) or not z_a > (-z_a if z_b is None else z_b):
        return "-"
    pairs = curve.frontier_of_scores(z_a, z_b)
    return ";".join(",".join(map(str, pair)) for pair in pairs) or "-"
