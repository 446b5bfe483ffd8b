"""Schemes of discrete noise: radii, transport and frontiers by a curve."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from rsbounds._numerics.checks import Array, as_floats, broadcast
from rsbounds._numerics.domains import Domain
from rsbounds.discrete import Curve
from rsbounds.noises.internal import checked_scores
from rsbounds.schemes._drawn import DrawnScheme

CHANCE = Domain(0.0, 1.0, "neither")
MOST = 4096  # changes beyond which transport promises nothing


class DiscreteScheme(DrawnScheme):
    """A scheme whose noise is of whole numbers; a subclass says its :meth:`made_curve`.

    Its radius is the largest whole number of changes that are certified whatever their
    kind. What is added from x to x' is deleted from x' to x: among all ways to make so
    many changes each has its opposite, so that its transport is its own inverse. It has
    no sigma: the level that rows state is the largest probability with which it changes
    a coordinate.
    """

    norm: float | str = 0.0
    of_bits = True
    of_whole_numbers = True

    @abstractmethod
    def made_curve(self) -> Any:
        """The curve of its parameters."""

    @cached_property
    def curve(self) -> Any:
        """The curve of its parameters, which keeps what it has computed."""
        return self.made_curve()

    def flipped_keys(self, x: Any, size: int, bits: Any) -> Any:
        """The keys of the ones of so many copies of a sparse matrix that it takes."""
        raise NotImplementedError(f"{self.name} takes no sparse matrices")

    def radius_of_scores(self, z_a: float, z_b: float | None = None) -> float:
        return _radius(self.curve, *_ends(z_a, z_b))

    def radius_of_probabilities(self, p_a: Any, p_b: Any = None) -> Any:
        return self.curve.radius(p_a, p_b)

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
        # what may vanish within some changes may within more: so may the less likely
        gone, sure = -math.inf, math.inf
        for number in np.unique(changes[changes <= MOST]):
            at = (changes == number) & ((scores > gone) | (scores < sure))
            if at.any():
                low[at], high[at] = self.curve.transport(scores[at], int(number))
                gone = max(gone, scores[at & (low == -np.inf)].max(initial=-np.inf))
                sure = min(sure, scores[at & (high == np.inf)].min(initial=np.inf))
        return low[()], high[()]


class FrontierScheme(DiscreteScheme):
    """A scheme with changes of several kinds: rows have a frontier of them."""

    columns = ("frontier",)
    convex = False

    def further(self, z_a: float, z_b: float | None = None) -> dict[str, str]:
        """The largest numbers of changes that are certified, kind by kind.

        ``0,4;1,2`` are the pairs (0, 4) and (1, 2); "-" where nothing is certified.
        """
        return {"frontier": _frontier(self.curve, *_ends(z_a, z_b))}

    def further_above(self, z: float, least: float) -> dict[str, str]:
        return {"frontier": _frontier_above(self.curve, z, least)}


def _ends(z_a: Any, z_b: Any) -> tuple[float, float | None]:
    """The scores, the second as None where it only says what the first leaves."""
    first, second = checked_scores(z_a, z_b)
    return first, None if second == -first else second


@lru_cache(maxsize=4096)
def _radius(curve: Curve, z_a: float, z_b: float | None) -> float:
    """The radius of two scores: many inputs share them."""
    return float(curve.radius(z_a, z_b, scores=True))


@lru_cache(maxsize=4096)
def _frontier(curve: Curve, z_a: float, z_b: float | None) -> str:
    if math.isnan(z_a) or not z_a > (-z_a if z_b is None else z_b):
        return "-"
    return _text_of(curve.frontier(z_a, z_b, scores=True))


@lru_cache(maxsize=4096)
def _frontier_above(curve: Curve, z: float, least: float) -> str:
    return _text_of(curve.frontier_above(z, least))


def _text_of(frontier: Iterable[tuple[Any, ...]]) -> str:
    return ";".join(",".join(map(str, pair)) for pair in frontier) or "-"
