"""Splitting noise, whose outcomes are few enough to go through all of them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.checks import check, count, number
from rsbounds._numerics.errors import ArgumentError
from rsbounds.sampling.noises._noise import Noise, as_array

__all__ = ["Splitting", "splitting"]

_NEAR = 2e-5  # of a step: how far float32 is off the grid of 1/255, as for sound noise
_SINGLE = 2.0**-23  # what division and rounding to float32 may move a number in [0, 1]
_MOST = 2**20  # levels, and outcomes


class Splitting(Noise):
    """See :func:`splitting`."""

    whole = False

    def __init__(self, width: float, levels: int, *, seed: int = 0) -> None:
        self.level: float = number("width", width, 0.0, closed="neither")
        self.levels = count("levels", levels, 1)
        self.seed = count("seed", seed)
        if self.levels > _MOST:
            raise ArgumentError("levels", f"must be <= {_MOST}; got {self.levels}")
        outcomes = 2 * self.level * self.levels
        if outcomes != np.floor(outcomes) or not 1 <= outcomes <= _MOST:
            raise ArgumentError(
                "width",
                f"must make 2 width levels a whole number in [1, {_MOST}]; got "
                f"{outcomes}",
            )
        self.outcomes: int = int(outcomes)
        self.law = f"splitting width={self.level!r} levels={self.levels}"
        if self.seed:
            self.law += f" seed={self.seed}"

    def checked(self, x: Any) -> NDArray[np.int64]:
        """The input in whole steps of 1/levels."""
        given = as_array(x).astype(np.float64)
        check("x", given, (given >= 0) & (given <= 1), "in [0, 1]")
        scaled = self.levels * given
        steps = np.rint(scaled)
        near = np.abs(scaled - steps) <= max(_NEAR, self.levels * _SINGLE)
        check("x", given, near, f"on the grid of 1/{self.levels}")
        return steps.astype(np.int64)

    def noisy(
        self, x: Any, sigma: float, size: int, generator: np.random.Generator
    ) -> tuple[Any, Any]:
        raise NotImplementedError("all outcomes are gone through")

    def offsets(self, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Where the borders of each coordinate lie in outcome 0, in [0, outcomes)."""
        rng = np.random.default_rng(self.seed)
        return rng.integers(0, self.outcomes, size=shape, dtype=np.int64)

    def all_outcomes(self, x: Any, first: int, size: int) -> NDArray[np.float32]:
        shift = np.arange(first, first + size).reshape(-1, *(1,) * x.ndim)
        middles: NDArray[np.float64] = self.middles(x, self.offsets(x.shape) + shift)
        return middles.astype(np.float32)

    def middles(self, steps: Any, shift: Any) -> Any:
        """The middle of the interval that holds each coordinate, for borders shifted by
        so many steps.

        Borders are at (shift + 1/2 + k outcomes)/levels for whole k; intervals end at 0
        and 1. Whole numbers, in halves of a step, up to the division at the end.
        """
        period = 2 * self.outcomes
        border = 2 * (shift % self.outcomes) + 1
        low = border + (2 * steps - border) // period * period
        high = (low + period).clip(max=2 * self.levels)
        return (low.clip(min=0) + high) / (4 * self.levels)


def splitting(width: float, levels: int, *, seed: int = 0) -> Splitting:
    """Borders of a distance 2 width on every coordinate, all 2 width levels positions.

    A copy shows of each coordinate the middle of the interval between borders that it
    lies in, cut to [0, 1]. The borders of all coordinates move together, from offsets
    that are fixed for each place by ``seed``; a step of one coordinate by 1/levels
    crosses a border in one of the ``outcomes``. A sampler goes through all of them,
    whatever its generator: nothing is left to chance, and the shares of the classes are
    probabilities, not estimates.

    Parameters
    ----------
    width : float
        Half of the distance of the borders, > 0, in the input's unit; the ``sigma`` of
        its sampler. At 0.5 or more no coordinate has two borders within [0, 1].
    levels : int
        Inputs are multiples of 1/levels in [0, 1], to float32's precision: 255 for
        pixels.
    seed : int
        Of the offsets; part of the law.

    Raises
    ------
    ValueError
        If an argument is out of its domain, or 2 width levels isn't a whole number.

    References
    ----------
    Levine and Feizi, Improved, deterministic smoothing for l1 certified robustness,
    ICML 2021.

    Examples
    --------
    >>> import numpy as np
    >>> from rsbounds.sampling import as_sampler, noises
    >>> noise = noises.splitting(0.5, 4)
    >>> noise.outcomes
    4
    >>> model = lambda batch: np.stack([batch[:, 0], 1 - batch[:, 0]], axis=1)
    >>> sampler = as_sampler(model, noise=noise)
    >>> sampler(np.array([0.75]), 0.5, 4, np.random.default_rng(0)).tolist()
    [3, 1]
    """
    return Splitting(width, levels, seed=seed)
