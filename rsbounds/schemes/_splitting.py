"""Splitting noise on a grid, all of whose outcomes are evaluated, in l_1.

References
----------
Levine, Feizi, Improved, deterministic smoothing for l1 certified robustness, 2021.
"""

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from rsbounds._numerics.checks import count
from rsbounds._numerics.errors import ArgumentError
from rsbounds.sampling import noises
from rsbounds.sampling.noises import Noise
from rsbounds.schemes._domains import POSITIVE, Domain, Domains
from rsbounds.schemes._options import Given, Option, Options
from rsbounds.schemes._scheme import Scheme
from rsbounds.schemes._uniform import Uniform, shifted

__all__ = ["Splitting", "splitting"]

LEVELS = Domain(1.0, 2.0**20)


class Splitting(Uniform):
    """Borders that move over a grid, all outcomes evaluated; see :func:`splitting`."""

    name = "splitting"
    domains: ClassVar[Domains] = {"sigma": POSITIVE, "levels": LEVELS}
    help = "borders move over a grid, all outcomes evaluated, certified in l1"
    options: ClassVar[tuple[Option, ...]] = (
        Option("sigma", "half the distance of borders; several give a file each"),
        Option(
            "levels", "inputs are multiples of 1/levels in [0, 1], such as 255", int
        ),
    )
    inputs: ClassVar[tuple[Option, ...]] = ()

    def __init__(self, parameters: Mapping[str, Any], **options: Any) -> None:
        super().__init__(parameters, **options)
        if self.parameters:  # a class of methods is made of none
            self.law = self.drawn.law
            self.outcomes = self.drawn.outcomes

    @property
    def drawn(self) -> Noise:
        return _noise_of(self.parameters)

    def radius(self, z_a: float, sigma: float, z_b: float | None = None) -> float:
        return super().radius(z_a, self._half_width(sigma), z_b)

    def transport(
        self, z: Any, radius: Any, sigma: float | None = None
    ) -> tuple[Any, Any]:
        return shifted(z, radius, self._half_width(sigma))

    def _half_width(self, sigma: float | None) -> float:
        # outcomes/(2 levels), which is within a rounding of the level
        return math.nextafter(self.fixed_level(sigma), 0.0)

    @classmethod
    def check(cls, parameters: Mapping[str, Any]) -> None:
        super().check(parameters)
        _noise_of(parameters)

    @classmethod
    def numbers(cls, options: Options) -> dict[str, Any]:
        return {"n": _made(options).outcomes, "bound": "exact"}

    @classmethod
    def from_options(cls, options: Options, given: Given) -> Scheme:
        return _made(options)


def _noise_of(parameters: Mapping[str, Any]) -> Noise:
    """The noise of a half-width that is a whole number of half steps of the grid."""
    sigma = parameters["sigma"]
    levels = count("parameters.levels", parameters["levels"], 1)
    try:
        return noises.splitting(sigma, levels)
    except ArgumentError as error:
        if error.name != "width":
            raise
        raise ArgumentError(
            "parameters.sigma",
            f"must be a multiple of 1/{2 * levels}, half a step of the grid; got "
            f"{sigma}",
        ) from None


def _made(options: Options) -> Splitting:
    """The scheme of a user's options, which errors name as they are."""
    stated = {name: options[name] for name in ("sigma", "levels")}
    try:
        return Splitting.from_parameters(stated)
    except ArgumentError as error:
        name = error.name.removeprefix("parameters.")
        raise ArgumentError(name, error.problem) from None


def splitting(half_width: float, levels: int) -> Scheme:
    """Splitting noise on a grid, all of whose outcomes are evaluated, in l_1.

    A copy shows between which borders each coordinate lies, at a distance of
    2 half_width. All borders move together over the grid: the classes of their
    2 half_width levels positions are counted, and nothing is left to chance. Give the
    bound "exact" and n = ``scheme.outcomes``.

    Parameters
    ----------
    half_width : float
        Half of the distance of borders, > 0, in the input's unit: a whole multiple of
        1/(2 levels).
    levels : int
        Inputs are multiples of 1/levels in [0, 1], and so is what an attack may turn
        them into.

    Raises
    ------
    ValueError
        If an argument is out of its domain.

    References
    ----------
    Levine, Feizi, Improved, deterministic smoothing for l1 certified robustness, 2021.

    Examples
    --------
    >>> from rsbounds import schemes
    >>> schemes.splitting(0.5, 255).outcomes
    255
    """
    width = POSITIVE.one("half_width", half_width)
    try:
        return _made({"sigma": width, "levels": levels})
    except ArgumentError as error:
        name = "half_width" if error.name == "sigma" else error.name
        raise ArgumentError(name, error.problem) from None
