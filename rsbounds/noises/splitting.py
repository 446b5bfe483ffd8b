"""Splitting noise on a grid, all of whose outcomes are evaluated, in l_1.

References
----------
Levine, Feizi, Improved, deterministic smoothing for l1 certified robustness, 2021.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import check, count
from rsbounds._numerics.domains import POSITIVE, Domain, Domains
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.options import Option
from rsbounds.noises._named import NamedNoise
from rsbounds.noises._noise import Bits, as_array
from rsbounds.noises._scores import score_pair
from rsbounds.noises.uniform import l1_radius, shifted

_NEAR = 2e-5  # of a step: how far float32 is off the grid of 1/255, as for sound noise
_SINGLE = 2.0**-23  # what division and rounding to float32 may move a number in [0, 1]
_MOST = 2**20  # levels, and outcomes


class Splitting(NamedNoise):
    """Splitting noise on a grid, all of whose outcomes are evaluated, in l_1.

    A copy shows of each coordinate the middle of the interval between borders that it
    lies in, cut to [0, 1]. Borders lie at a distance of 2 half_width. Those of all
    coordinates move together over the grid, from offsets that are fixed for each place:
    the classes of their 2 half_width levels positions are counted, and nothing is left
    to chance. Give the bound "exact" and n = ``scheme.outcomes``.

    Parameters
    ----------
    half_width : float
        Half of the distance of borders, > 0, in the input's unit: a whole multiple of
        1/(2 levels). At 0.5 or more no coordinate has two borders within [0, 1].
    levels : int
        Inputs are multiples of 1/levels in [0, 1], to float32's precision, and so is
        what an attack may turn them into.

    Raises
    ------
    ValueError
        If an argument is out of its domain.

    References
    ----------
    Levine, Feizi, Improved, deterministic smoothing for l1 certified robustness, 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds import schemes
    >>> schemes.splitting(0.5, 255).outcomes
    255
    >>> scheme = schemes.splitting(0.5, 4)
    >>> sampler = scheme.sampler(lambda x: np.stack([x[:, 0], 1 - x[:, 0]], axis=1))
    >>> sampler(np.array([0.75]), 0.5, 4, np.random.default_rng(0)).tolist()
    [3, 1]
    """

    name = "splitting"
    help = "borders move over a grid, all outcomes evaluated, certified in l1"
    norm = 1.0
    whole = False
    domains: ClassVar[Domains] = {"sigma": POSITIVE, "levels": Domain(1.0, _MOST)}
    options = (
        Option("sigma", "half the distance of borders; several give a file each"),
        Option(
            "levels", "inputs are multiples of 1/levels in [0, 1], such as 255", int
        ),
    )
    stated_as: ClassVar[dict[str, str]] = {"half_width": "sigma"}

    def __init__(self, half_width: float, levels: int) -> None:
        self.level = POSITIVE.one("half_width", half_width)
        self.levels = count("levels", levels, 1)
        if self.levels > _MOST:
            raise ArgumentError("levels", f"must be <= {_MOST}; got {self.levels}")
        outcomes = 2 * self.levels * self.level
        if outcomes != math.floor(min(outcomes, _MOST + 0.5)) or not outcomes >= 1:
            raise ArgumentError(
                "half_width",
                f"must be a multiple of 1/{2 * self.levels}, half a step of the grid, "
                f"at most {_MOST} of them; got {half_width}",
            )
        self.outcomes: int = int(outcomes)
        self.law = f"splitting width={self.level!r} levels={self.levels}"

    @property
    def parameters(self) -> dict[str, Any]:
        return {"sigma": self.level, "levels": self.levels}

    def checked(self, x: Any) -> NDArray[np.int64]:
        """The input in whole steps of 1/levels."""
        given = as_array(x).astype(np.float64)
        check("x", given, (given >= 0) & (given <= 1), "in [0, 1]")
        scaled = self.levels * given
        steps = np.rint(scaled)
        near = np.abs(scaled - steps) <= max(_NEAR, self.levels * _SINGLE)
        check("x", given, near, f"on the grid of 1/{self.levels}")
        return steps.astype(np.int64)

    def noisy(self, x: Any, sigma: float, size: int, bits: Bits) -> Any:
        raise NotImplementedError("all outcomes are gone through")

    def offsets(self, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Where the borders of each coordinate lie in outcome 0, in [0, outcomes)."""
        rng = np.random.default_rng(0)
        return rng.integers(0, self.outcomes, size=shape, dtype=np.int64)

    def all_outcomes(self, x: Any, first: int, size: int, bits: Bits) -> Any:
        """The middle of the interval that holds each coordinate, for each outcome.

        Borders are at (shift + 1/2 + k outcomes)/levels for whole k; intervals end at 0
        and 1. Whole numbers, in halves of a step, up to the division at the end.
        """
        shift = bits.array(np.arange(first, first + size).reshape(-1, *(1,) * x.ndim))
        shift = shift + bits.array(self.offsets(tuple(x.shape)))
        period = 2 * self.outcomes
        border = 2 * (shift % self.outcomes) + 1
        low = border + (2 * x - border) // period * period
        high = (low + period).clip(max=2 * self.levels)
        return bits.single((low.clip(min=0) + high) / (4 * self.levels))

    def radius(self, z_a: float, z_b: float | None) -> float:
        return l1_radius(z_a, z_b, self._half_width)

    def radius_of_probabilities(self, p_a: Any, p_b: Any) -> Any:
        return self.radius(*score_pair(p_a, p_b))

    def transport(self, z: Any, radius: Any) -> tuple[Any, Any]:
        return shifted(z, radius, self._half_width)

    @property
    def _half_width(self) -> float:
        # outcomes/(2 levels), which is within a rounding of the level
        return math.nextafter(self.level, 0.0)
