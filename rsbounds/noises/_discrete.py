"""Discrete noise: radii, transport and frontiers by an exact curve."""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from rsbounds._numerics.checks import Array, as_floats, broadcast
from rsbounds._numerics.domains import Domain
from rsbounds.noises._curve import Curve
from rsbounds.noises._named import NamedNoise
from rsbounds.noises._scores import checked_scores

CHANCE = Domain(0.0, 1.0, "neither")
MOST = 4096  # changes beyond which transport promises nothing


class DiscreteNoise(NamedNoise):
    """A noise of whole numbers: a subclass says its :meth:`made_curve`.

    Its radius is the largest whole number of changes that are certified whatever their
    kind. It has no sigma: the level that rows state is the largest probability with
    which it changes a coordinate.
    """

    norm: float | str = 0.0
    of_bits = True

    @abstractmethod
    def made_curve(self) -> Any:
        """The exact curve of its parameters."""

    @cached_property
    def curve(self) -> Any:
        """The exact curve of its parameters, which keeps what it has computed."""
        return self.made_curve()

    @property
    def is_part(self) -> bool:
        """Whether it may be the noise of a group of any number of columns."""
        return bool(self.block_parameters)

    def flipped_keys(self, x: Any, size: int, bits: Any) -> Any:
        """The keys of the ones of so many copies of a sparse matrix that it takes."""
        raise NotImplementedError(f"{self.name} takes no sparse matrices")

    def radius(self, z_a: float, z_b: float | None) -> float:
        return _radius(self.curve, *_ends(z_a, z_b))

    def radius_of_probabilities(self, p_a: Any, p_b: Any) -> Any:
        return self.curve.radius(p_a, p_b)

    def transport(self, z: Any, radius: Any) -> tuple[Any, Any]:
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


class FrontierNoise(DiscreteNoise):
    """Discrete noise with changes of several kinds: rows have a frontier of them."""

    columns = ("frontier",)
    convex = False

    def further(self, z_a: float, z_b: float | None) -> dict[str, str]:
        """The largest numbers of changes that are certified, kind by kind.

        ``0,4;1,2`` are the pairs (0, 4) and (1, 2); "-" where nothing is certified.
        """
        return {"frontier": _frontier(self.curve, *_ends(z_a, z_b))}


def _ends(z_a: Any, z_b: Any) -> tuple[float, float | None]:
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
