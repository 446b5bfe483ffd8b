"""What a method says of its parameters, once: all else that is said follows from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

from rsbounds._numerics.answered import By
from rsbounds._numerics.domains import DIMENSION, NORM, POSITIVE, SLACK, Domain, Domains
from rsbounds._numerics.options import Option, Shared

#: The entries of a fingerprint of code.
OF_CODE = ("spec", "source", "parameters")


class Type(StrEnum):
    """The type of a parameter in a result file."""

    ANY = "any"
    COUNT = "whole number from 1"
    FLAG = "boolean"
    HASH = "hash"
    NUMBER = "number"
    OBJECT = "object"


@dataclass(frozen=True)
class Parameter:
    """What a method says of one of its parameters.

    Attributes
    ----------
    name : str
        What result files call it.
    about : str
        What it is, in the table of the files' entries.
    domain : Domain, optional
        Where it lies, if radii are computed from it.
    answered_by : By, optional
        Who answers for its value; unless that is said, the counts of the rows if radii
        are computed from it, and else nobody: no file has it, it is asked for alone.
    option, input : Option, optional
        What ``rsbounds certify`` asks for, and ``rsbounds radius`` besides scores.
    parts : tuple of str
        The entries of one that is an object, or that may be; "" is the parameter's own
        place.
    type : Type
        Its type in a file.

    Examples
    --------
    >>> from rsbounds.schemes import METHODS
    >>> [parameter.name for parameter in METHODS["flips"].declared]
    ['add', 'delete', 'symmetric']
    """

    name: str
    about: str = ""
    domain: Domain | None = None
    answered_by: By | None = None
    option: Option | None = None
    input: Option | None = None
    parts: tuple[str, ...] = ("",)
    type: Type = Type.NUMBER

    @classmethod
    def asked(
        cls, about: str, domain: Domain, option: Option, by: By | None = None
    ) -> Parameter:
        """One whose radii are computed from it, asked for by one option everywhere."""
        return cls(option.name, about, domain, by, option=option, input=option)

    @classmethod
    def level(cls, text: str, *, of_radii: bool = True) -> Parameter:
        """The one noise level; ``of_radii``: ``rsbounds radius`` asks for it too."""
        return cls(
            "sigma",
            "noise level",
            POSITIVE,
            option=Option("sigma", text),
            input=Shared.LEVEL if of_radii else None,
        )

    @property
    def by(self) -> By | None:
        """Who answers for its value; None if no file has it."""
        counted = self.answered_by is None and self.domain is not None
        return By.COUNTS if counted else self.answered_by

    def places(self) -> Iterator[str]:
        """Where its entries stand among the parameters of a file."""
        for part in self.parts:
            yield f"{self.name}.{part}" if part else self.name


class Usual:
    """Parameters of several methods."""

    NORM = Parameter(
        "norm",
        "p of the norm of the radii",
        NORM,
        option=Shared.NORM,
        input=Shared.NORM,
    )
    DIM = Parameter("dim", "numbers of an input", DIMENSION, By.DATA, input=Shared.DIM)
    LEVEL = Parameter("sigma", input=Shared.LEVEL)  # which rows have, and no manifest
    SLACK = Parameter("slack", "what computed levels are off by", SLACK, By.NOISE)
    FUNCTION = Parameter(
        "sigma_function",
        "the code of sigma(x), its hashes",
        answered_by=By.NOISE,
        option=Shared.FUNCTION,
        parts=OF_CODE,
        type=Type.OBJECT,
    )


class Declared:
    """A class that says its parameters in one table.

    Attributes
    ----------
    declared : tuple of Parameter
        The table: a subclass that has one says all of its parameters.
    domains : mapping
        Of the table: the parameters that radii are computed from, and where they lie.
    options, inputs : tuple of Option
        Of the table: what the command line asks for.
    """

    declared: ClassVar[tuple[Parameter, ...]] = ()
    domains: ClassVar[Domains] = {}
    options: ClassVar[tuple[Option, ...]] = ()
    inputs: ClassVar[tuple[Option, ...]] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.domains = {
            parameter.name: parameter.domain
            for parameter in cls.declared
            if parameter.domain is not None
        }
        cls.options = tuple(
            parameter.option for parameter in cls.declared if parameter.option
        )
        cls.inputs = tuple(
            parameter.input for parameter in cls.declared if parameter.input
        )

    @classmethod
    def who_answers(cls, parameters: Mapping[str, Any]) -> dict[str, By]:
        """Who answers for each parameter of a file, by its place."""
        return {
            place: parameter.by
            for parameter in cls.declared
            if parameter.by is not None
            for place in parameter.places()
        }
