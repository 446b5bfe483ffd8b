"""A noise that a method is made of: its parameters, options, radius and transport."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from inspect import signature
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.domains import Domains, plain
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.options import Option, Options
from rsbounds.certificate import FIXED_NOISE
from rsbounds.noises._noise import Bits, Noise, single


class NamedNoise(Noise):
    """A noise that is the same at every input, with the theorem that certifies it.

    :mod:`rsbounds.schemes` makes a method of it: result files, the command line and
    reports know it by what stands here. Its class is made of the arguments that a user
    gives; ``law`` and ``level`` are set then.

    Attributes
    ----------
    name, help : str
        The method, as result files spell it, and its line of the command line's help.
    norm : float or str
        The p of the l_p norm that measures radii; 0 where they count changed
        coordinates, "edit" where they count edits; else a text of their own.
    scope : str
        For which classifier certificates hold, a key of ``SCOPES``.
    convex : bool
        Whether the least probability within a radius is a convex function of an event's
        own.
    columns : tuple of str
        Further columns of rows, which :meth:`further` fills.
    domains : mapping
        The parameters that radii are computed from, and where they lie.
    options, inputs : tuple of Option
        What the command line asks for to certify, and to compute one radius.
    stated_as : mapping
        Parameters by the arguments that state them, where their names differ.
    block_parameters : tuple of str
        Parameters of the noise of one of several groups of columns; empty where it
        can't be that.
    """

    name: ClassVar[str]
    help: ClassVar[str]
    norm: float | str
    scope: ClassVar[str] = FIXED_NOISE
    convex: ClassVar[bool] = True
    columns: ClassVar[tuple[str, ...]] = ()
    domains: ClassVar[Domains] = {}
    options: ClassVar[tuple[Option, ...]]
    inputs: ClassVar[tuple[Option, ...]] = ()
    stated_as: ClassVar[Mapping[str, str]] = {}
    block_parameters: ClassVar[tuple[str, ...]] = ()
    level: float

    @property
    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """What a result file says of it; ArgumentError for what no file can hold."""

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> Self:
        """The noise of parameters, which errors name."""
        names = {
            name: cls.stated_as.get(name, name) for name in signature(cls).parameters
        }
        arguments = {
            argument: parameters[name]
            for argument, name in names.items()
            if name in parameters
        }
        try:
            return cls(**arguments)
        except ArgumentError as error:
            name = names.get(error.name, error.name)
            raise ArgumentError(name, error.problem) from None

    @classmethod
    def stated(cls, options: Options, dim: int | None) -> dict[str, Any]:
        """The parameters among the options, for inputs of ``dim`` numbers."""
        return {option.name: options[option.name] for option in cls.options}

    def takes(self, size: int) -> bool:
        """Whether radii hold for inputs of so many numbers."""
        return True

    @abstractmethod
    def radius(self, z_a: float, z_b: float | None) -> float:
        """The radius of two normal scores, rounded down; None stands for -z_a."""

    @abstractmethod
    def radius_of_probabilities(self, p_a: Any, p_b: Any) -> Any:
        """The same of two probabilities; None stands for 1 - p_a."""

    @abstractmethod
    def transport(self, z: Any, radius: Any) -> tuple[Any, Any]:
        """The least and the largest score within a radius of an event of score z."""

    def further(self, z_a: float, z_b: float | None) -> dict[str, str]:
        """The text of ``columns`` for two scores."""
        return {}


class AddedNoise(NamedNoise):
    """Noise that is added to real numbers, independent on every coordinate."""

    whole = False
    of_bits = True

    def checked(self, x: Any) -> NDArray[np.float32]:
        return single(x)

    @abstractmethod
    def offsets(self, shape: tuple[int, ...], bits: Bits) -> Any:
        """Independent numbers of the law, in the type of the uniform ones."""

    def noisy(self, x: Any, sigma: float, size: int, bits: Bits) -> Any:
        batch = self.offsets((size, *x.shape), bits)
        batch += x
        return bits.single(batch)


def held(name: str, value: Any) -> Any:
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
            f"; got {value} (the class of the noise takes any fraction)",
        )
    return nearest


def spelled(value: Fraction) -> str:
    """A rational number as a law names it: the shortest float that equals it, or p/q.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from rsbounds.noises._named import spelled
    >>> spelled(Fraction(0.8)), spelled(Fraction(4, 5)), spelled(Fraction(1))
    ('0.8', '4/5', '1')
    """
    if value.denominator == 1:
        return str(value.numerator)
    return repr(float(value)) if Fraction(float(value)) == value else str(value)


def complement(probability: Any) -> float:
    """1 - p of the digits that a number is written with: 0.2 of 0.8."""
    return float(1 - Fraction(repr(float(probability))))
