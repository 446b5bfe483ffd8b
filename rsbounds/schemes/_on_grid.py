"""Noise that is drawn exactly, on a grid, and radii that allow for rounding."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from copy import copy
from typing import Any, ClassVar, Self

from rsbounds import envelope as theory
from rsbounds._numerics.checks import instance
from rsbounds._numerics.domains import POSITIVE, Domain
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.parameters import Declared, Usual
from rsbounds._numerics.rounding import EPS, SMALLEST
from rsbounds.noises import Noise, grid_noise
from rsbounds.noises.internal import NormalNoise

#: Parameters that allow for the rounding of computed levels and means.
_OF_ROUNDING = frozenset({Usual.SLACK.name, "shift"})
#: The law of noise that a file doesn't say: who draws it does.
UNSTATED = "not stated"


class Rounded(Declared):
    """What every scheme has of noise that is rounded to a grid.

    Its attributes are those of :class:`rsbounds.schemes.Scheme`.
    """

    name: str
    law: str
    parameters: dict[str, Any]
    grid: int | None = None
    follows_input: ClassVar[bool] = True
    _rounding: Callable[[], Mapping[str, float]] | None

    @property
    def drawn(self) -> Noise | None:
        """The noise that samplers draw for it, where that is not x + sigma(x) N(0, I).

        It has the ``law`` of the scheme.
        """
        return None if self.grid is None else grid_noise.OnGrid(self.grid)

    def on_grid(self, grid: int = grid_noise.LEVELS) -> Self:
        """This scheme with sound noise: rounded to a grid, drawn exactly.

        Its certificates hold for the program that runs, which rounds its input to the
        grid, and not only for its idealisation in real numbers (Voracek and Hein 2023).
        An ambiguous draw counts for no class. Where the level follows the input the
        radius is smaller by what the rounding of ``sigma(x)`` may do.

        Parameters
        ----------
        grid : int
            Inputs are whole numbers over this: 255 for pictures of 8 bits, 65535 of 16,
            32767 for sound. 255 where the level follows the input.

        Raises
        ------
        ValueError
            For noise that isn't Gaussian, and for a level whose rounding has no bound.

        Examples
        --------
        >>> from rsbounds.schemes import gaussian
        >>> gaussian(0.5).on_grid().grid
        255
        """
        number = grid_noise.checked_grid(grid)
        if self.grid == number:
            return self
        noise = self.drawn
        if noise is None and self.law not in ("", UNSTATED):
            raise ArgumentError("grid", f"is for Gaussian noise; got {self!r}")
        (NormalNoise() if noise is None else noise).rounded(number)  # or a refusal
        if self.follows_input and number != grid_noise.LEVELS:
            raise ArgumentError("grid", "must be 255 where the level follows the input")
        other = copy(self)
        other.grid = number
        if self.follows_input:
            other.parameters = {**self.parameters, **self._allowed()}
        return other

    def as_drawn(self, grid: int | None) -> Self:
        """This scheme with copies on a grid, or on none, as a file states them."""
        number = None if grid is None else grid_noise.checked_grid(grid)
        if number == self.grid:
            return self
        other = copy(self)
        other.grid = number
        return other

    def _allowed(self) -> Mapping[str, float]:
        """What allows for the rounding of sigma(x), ArgumentError without a bound."""
        if self._rounding is None:
            raise ArgumentError(
                "grid",
                "needs a bound of the rounding of sigma(x), which this scheme of "
                f"method {self.name!r} doesn't have: a KNNSigma and a SigmaNetwork do",
            )
        return self._rounding()

    @classmethod
    def allows_for_rounding(cls, parameters: Mapping[str, Any]) -> bool:
        """Whether parameters make the radius smaller by what rounding may do."""
        instance("parameters", parameters, Mapping, "a mapping")
        return bool(cls.domains.keys() & _OF_ROUNDING & parameters.keys())

    @classmethod
    def check_on_grid(cls, parameters: Mapping[str, Any]) -> None:
        """ValueError unless parameters are those of a scheme on a grid."""
        instance("parameters", parameters, Mapping, "a mapping")
        lacks = (cls.domains.keys() & _OF_ROUNDING) - parameters.keys()
        if lacks:
            raise ValueError(f"noise on a grid needs parameters.{min(lacks)}")

    def check_grid(self, grid: int | None) -> None:
        """ArgumentError where radii are not for noise on this grid, None for none."""
        if grid is None:
            return
        rounded = self.on_grid(grid)
        if rounded.parameters != self.parameters:
            raise ArgumentError(
                "scheme",
                "must allow for the rounding of sigma(x) where noise is on a grid, as "
                f"scheme.on_grid() does; got one of method {self.name!r} without",
            )


def widened(
    envelope: theory.Envelope, parameters: Mapping[str, Any]
) -> theory.Envelope:
    """The envelope of levels as they are computed, whose rounding is allowed for."""
    # they leave the envelope by a factor exp(allowed) at most
    allowed = allowed_error(parameters)
    return theory.Widened(envelope, allowed) if allowed else envelope


def allowed_error(parameters: Mapping[str, Any]) -> float:
    """By how much log sigma(x) as computed may leave the bounds of a scheme."""
    return float(parameters.get(Usual.SLACK.name, 0.0))


def rounding_of_levels(rounding: float, floor: float) -> dict[str, float]:
    """The parameters that allow for an error of levels; see :func:`level_slack`."""
    return allowance(level_slack(rounding, floor))


def allowance(of_logarithm: float) -> dict[str, float]:
    """The parameters that allow for so large an error of log sigma(x)."""
    return {Usual.SLACK.name: of_logarithm}


def level_slack(rounding: float, floor: float) -> float:
    """Bound on log sigma(x) beyond a Lipschitz envelope that comes from rounding.

    Where each level is at least ``floor`` > 0 and its error at most ``rounding``, in
    [0, floor/4], that is -log(1 - 2 rounding/floor), rounded up: see the theory page on
    sound noise.
    """
    floor = POSITIVE.one("floor", floor, towards=-math.inf)
    rounding = Domain(0.0, floor / 4).one("rounding", rounding, towards=math.inf)
    return -math.log1p(-2 * rounding / floor) * (1 + 16 * EPS) + SMALLEST
