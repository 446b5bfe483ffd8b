"""A scheme that is the noise which its samplers draw, the same at every input."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from rsbounds._numerics.domains import POSITIVE
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.options import Options
from rsbounds.certificate import FIXED_NOISE
from rsbounds.noises import Noise
from rsbounds.noises.internal import AddedNoise
from rsbounds.schemes._given import Given
from rsbounds.schemes._scheme import Scheme


class DrawnScheme(Scheme, Noise):
    """A scheme that is its noise: law, draw and theorem in one class.

    A subclass has a ``name``, the table ``declared``, :meth:`read`, the radius of two
    scores and, where the command line computes radii, of two probabilities,
    :meth:`transport`, and what every :class:`rsbounds.noises.Noise` has: which inputs
    it takes, and copies of one. It is made of the mapping that result files hold.

    Attributes
    ----------
    level : float
        The one level of the noise, which rows state as sigma.
    block_parameters : tuple of str
        Parameters of the noise of one of several groups of columns; empty where it
        can't be that.
    """

    follows_input = False
    scope = FIXED_NOISE
    block_parameters: ClassVar[tuple[str, ...]] = ()
    level: float

    def __init__(self, parameters: Mapping[str, Any], **options: Any) -> None:
        super().__init__(parameters, **options)
        if self.parameters:  # a class of methods is made of none
            for name, domain in self.domains.items():
                if domain.required and name not in self.parameters:
                    raise ArgumentError(f"parameters.{name}", "is missing")
            self.read()

    @abstractmethod
    def read(self) -> None:
        """Set ``law``, ``level`` and what draws need; ArgumentError for a parameter."""

    @property
    def drawn(self) -> Noise:
        return self

    @property
    def own_level(self) -> float:
        return self.level

    @property
    def is_part(self) -> bool:
        """Whether it may be the noise of a group of any number of columns."""
        return bool(self.block_parameters)

    def sigma(self, x: Any) -> float:
        self.check_size(x)
        return self.level

    def radius(self, z_a: float, sigma: float, z_b: float | None = None) -> float:
        self.fixed_level(sigma)
        return self.radius_of_scores(z_a, z_b)

    @abstractmethod
    def radius_of_scores(self, z_a: float, z_b: float | None = None) -> float:
        """The radius of two normal scores, rounded down; None stands for -z_a."""

    def radius_of_probabilities(self, p_a: Any, p_b: Any = None) -> Any:
        """Radii of probabilities, rounded down; None stands for 1 - p_a."""
        raise NotImplementedError(f"{type(self).__name__} has no radius")

    @classmethod
    def check(cls, parameters: Mapping[str, Any]) -> None:
        super().check(parameters)
        if not parameters:
            problem = f"must hold those of {cls.name}; got none"
            raise ArgumentError("parameters", problem)
        try:
            cls(parameters)
        except ArgumentError as error:
            raise ArgumentError(f"parameters.{error.name}", error.problem) from None

    @classmethod
    def parameters_of(cls, options: Options, dim: int | None) -> dict[str, Any]:
        """The parameters among the options, for inputs of ``dim`` numbers."""
        return {option.name: options[option.name] for option in cls.options}

    @classmethod
    def from_options(cls, options: Options, given: Given) -> Scheme:
        return cls._of_options(options, given.dim)

    @classmethod
    def _of_options(cls, options: Options, dim: int | None) -> DrawnScheme:
        """The scheme of a user's options, which errors name as they are."""
        try:
            return cls.from_parameters(cls.parameters_of(options, dim))
        except ArgumentError as error:
            name = error.name.removeprefix("parameters.")
            raise ArgumentError(name, error.problem) from None

    @classmethod
    def evaluate(
        cls, options: Options, p_a: float, p_b: float | None, scores: bool
    ) -> Any:
        scheme = cls._of_options(options, options.get("dim"))
        if scores:
            return scheme.radius_of_scores(p_a, p_b)
        return scheme.radius_of_probabilities(p_a, p_b)


class AddedLevel(DrawnScheme, AddedNoise):
    """Noise of one level on every coordinate, drawn from bits and certified in l_1."""

    of_bits = True
    norm = 1.0

    def read(self) -> None:
        self.level = POSITIVE.one("sigma", self.parameters["sigma"])
