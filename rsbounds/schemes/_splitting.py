"""Splitting noise on a grid, all of whose outcomes are evaluated, in l_1.

References
----------
Levine, Feizi, Improved, deterministic smoothing for l1 certified robustness, 2021.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import check, count
from rsbounds._numerics.domains import POSITIVE, Domain
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.options import Option
from rsbounds._numerics.parameters import Parameter
from rsbounds._numerics.rationals import as_double
from rsbounds.noises import Bits
from rsbounds.noises.internal import as_array, score_pair
from rsbounds.schemes._drawn import DrawnScheme
from rsbounds.schemes._uniform import l1_radius, shifted

__all__ = ["Splitting", "splitting"]

_NEAR = 2e-5  # of a step: how far float32 is off the grid of 1/255, as for sound noise
_SINGLE = 2.0**-23  # what division and rounding to float32 may move a number in [0, 1]
_MOST = 2**20  # levels, and outcomes
_FORM = np.zeros(0, np.float32)  # the type of copies, whatever that of the input


class Splitting(DrawnScheme):
    """Borders that move over a grid, in l_1; see :func:`splitting`."""

    name = "splitting"
    bound = "exact"
    by_chance = False
    help = "borders move over a grid, all outcomes evaluated, certified in l1"
    norm = 1.0
    self_inverse = True
    declared = (
        Parameter.level(
            "half the distance of borders; several give a file each", of_radii=False
        ),
        Parameter(
            "levels",
            "grid of the inputs",
            Domain(1.0, _MOST),
            option=Option(
                "levels", "inputs are multiples of 1/levels in [0, 1], such as 255", int
            ),
        ),
    )

    def read(self) -> None:
        parameters = self.parameters
        self.level = POSITIVE.one("sigma", parameters["sigma"])
        self.levels = _levels(parameters["levels"])
        self.outcomes: int = _outcomes("sigma", self.level, self.levels)
        self.law = f"splitting width={self.level!r} levels={self.levels}"

    def checked(self, x: Any) -> NDArray[np.int64]:
        """The input in whole steps of 1/levels."""
        array = as_array(x).astype(np.float64)
        check("x", array, (array >= 0) & (array <= 1), "in [0, 1]")
        scaled = self.levels * array
        steps = np.rint(scaled)
        near = np.abs(scaled - steps) <= max(_NEAR, self.levels * _SINGLE)
        check("x", array, near, f"on the grid of 1/{self.levels}")
        return steps.astype(np.int64)

    def noisy(self, x: Any, sigma: float, size: int, bits: Bits) -> Any:
        raise NotImplementedError("all outcomes are gone through")

    def offsets(self, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Where the borders of each coordinate lie in outcome 0, in [0, outcomes)."""
        rng = np.random.default_rng(0)
        return rng.integers(0, self.outcomes, size=shape, dtype=np.int64)

    def copies(self, x: Any, sigma: float, first: int, size: int, bits: Bits) -> Any:
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
        middle = (low.clip(min=0) + high) / (4 * self.levels)
        return bits.like(middle, bits.array(_FORM))

    def radius_of_scores(self, z_a: float, z_b: float | None = None) -> float:
        return l1_radius(z_a, z_b, self._half_width)

    def radius_of_probabilities(self, p_a: Any, p_b: Any = None) -> Any:
        return self.radius_of_scores(*score_pair(p_a, p_b))

    def transport(
        self, z: Any, radius: Any, sigma: float | None = None
    ) -> tuple[Any, Any]:
        self.fixed_level(sigma)
        return shifted(z, radius, self._half_width)

    @property
    def _half_width(self) -> float:
        # outcomes/(2 levels), which is within a rounding of the level
        return math.nextafter(self.level, 0.0)


def splitting(half_width: float, levels: int) -> Splitting:
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
    >>> from rsbounds.sampling import as_sampler
    >>> schemes.splitting(0.5, 255).outcomes
    255
    >>> scheme = schemes.splitting(0.5, 4)
    >>> def model(batch):
    ...     return np.stack([batch[:, 0], 1 - batch[:, 0]], axis=1)
    >>> sampler = as_sampler(model, scheme)
    >>> sampler(np.array([0.75]), 0.5, 4, np.random.default_rng(0)).tolist()
    [3, 1]
    """
    width = POSITIVE.one("half_width", as_double("half_width", half_width))
    steps = _levels(levels)
    _outcomes("half_width", width, steps)  # names the argument if it doesn't fit
    return Splitting({"sigma": width, "levels": steps})


def _levels(levels: Any) -> int:
    """The steps of a grid, checked."""
    steps = count("levels", levels, 1)
    if steps > _MOST:
        raise ArgumentError("levels", f"must be <= {_MOST}; got {steps}")
    return steps


def _outcomes(name: str, half_width: float, levels: int) -> int:
    """How many positions of the borders there are; ArgumentError for a part of one."""
    outcomes = 2 * levels * half_width
    if outcomes != math.floor(min(outcomes, _MOST + 0.5)) or not outcomes >= 1:
        raise ArgumentError(
            name,
            f"must be a multiple of 1/{2 * levels}, half a step of the grid, at most "
            f"{_MOST} of them; got {half_width}",
        )
    return int(outcomes)
