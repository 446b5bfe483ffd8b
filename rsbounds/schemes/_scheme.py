"""What a scheme is, and what all of them share."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Protocol, Self

from rsbounds._numerics.answered import By
from rsbounds._numerics.checks import instance, on_host, shape_of
from rsbounds._numerics.domains import POSITIVE, plain, require
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.options import Options
from rsbounds._numerics.parameters import OF_CODE, Parameter, Type
from rsbounds.certificate import (
    ANOTHERS,
    ASSERTED_ENVELOPE,
    PROVEN,
    Norm,
)
from rsbounds.noises import grid_noise
from rsbounds.noises.internal import checked_scores
from rsbounds.schemes._given import Given
from rsbounds.schemes._transported import Transported

#: Beside the parameters of any method: the code that chose it.
CODE = Parameter(
    "code",
    "the code that returned the scheme",
    answered_by=By.WRITER,
    parts=(*OF_CODE, "args.*"),
    type=Type.OBJECT,
)


class Voted(Protocol):
    """What a scheme reads of a row of a result file."""

    @property
    def select(self) -> tuple[int, ...]: ...
    @property
    def counts(self) -> tuple[int, ...]: ...


class Scheme(Transported):
    """A smoothing scheme: the noise level at an input, and the radius of scores there.

    A scheme of your own is a subclass with a ``name``, a ``radius`` and a ``sigma``;
    its scope is "another package's method". With ``declared`` and ``from_options`` it
    can join :data:`METHODS`, through the entry point ``rsbounds.schemes``.

    Parameters
    ----------
    parameters : mapping
        What a result file must say for the radii to be computed again.
    level : callable, optional
        The noise level as a function of the input, for schemes that have no ``sigma``
        of their own; on a grid of its point there.
    proven : bool
        Whether you have proven the bounds of sigma(x) among the parameters for the
        function that is run. Otherwise a scope that says they are proven becomes
        "asserted".
    rounding : callable, optional
        Of a level that follows the input: the parameters by which the radius allows for
        the rounding of ``sigma(x)``, such as its ``slack``, on the grid of 1/255.

    Raises
    ------
    ValueError
        If ``parameters`` is no mapping, ``proven`` no bool, or ``level`` no function.

    Attributes
    ----------
    name, scope : str
        The method, and for which classifier its certificates hold, as result files
        spell them: the scope is a key of ``rsbounds.certificate.SCOPES``.
    norm : float or "edit"
        The p of the l_p norm that measures the radius; 0 where it counts changed
        coordinates, "edit" where it counts edits of a sequence.
    law : str
        A name for the noise where it is not x + sigma(x) N(0, I). Samplers of that
        noise have the same; with others nothing is certified.
    grid : int or None
        Of a scheme made by :meth:`on_grid`: its copies are drawn exactly, as whole
        numbers over this. None where they are drawn in floating point.
    self_inverse : bool
        Whether the input is as far from a changed input as that is from it, and the
        noise has one law at both: :meth:`inverse` is then :meth:`transport`. A class
        that has a ``transport`` of its own says so itself, or has an ``inverse``.
    convex : bool
        Whether the least probability within a radius is a convex function of an
        event's own, as it is unless it is the least over changes of several kinds.
    outcomes : int or None
        How many outcomes the noise has, all alike, where samplers evaluate them all:
        the bound is then "exact", and n this number.
    choosing : int or None
        How many of these outcomes, the first ones, choose the class, all of which must
        agree; None where the class of most samples is chosen.
    columns : tuple of str
        Further columns of rows of a class, which :meth:`further` fills.
    frontier_kinds : tuple of str
        What both numbers of a column ``frontier`` count, as reports say it.
    declared : tuple of Parameter
        The table of its parameters: which the radius is computed from and where they
        lie, who answers for them, and what the command line asks for. Of it follow
        ``domains``, ``options``, ``inputs``, what files may state, and
        :meth:`who_answers`.
    made_by : str
        What code that chooses a method must return in its place, where the parameters
        and a level don't make a scheme.
    help : str
        A line of the command line's help.
    of_whole_numbers : bool
        Whether its inputs may be whole numbers: values, tokens, zeros and ones.
    follows_input : bool
        Whether its level may be another number at another input.
    bound : str
        The one that its evidence needs: "exact" where all outcomes of the noise are
        evaluated, "" where copies are drawn by chance and any bound will do.

    Examples
    --------
    >>> from rsbounds.schemes import Scheme
    >>> class Half(Scheme):
    ...     name = "half of Cohen's radius"
    ...     def sigma(self, x):
    ...         return self.parameters["sigma"]
    ...     def radius(self, z_a, sigma, z_b=None):
    ...         return max(sigma * z_a / 2, 0.0)
    >>> Half({"sigma": 0.5}).radius(2.0, 0.5)
    0.5
    """

    name: str = ""
    scope: str = ANOTHERS
    norm: float | str = 2.0
    law: str = ""
    convex: bool = True
    outcomes: int | None = None
    choosing: int | None = None
    columns: tuple[str, ...] = ()
    made_by: ClassVar[str] = ""
    help: ClassVar[str] = ""
    of_whole_numbers: ClassVar[bool] = False
    frontier_kinds: ClassVar[tuple[str, str]] = ("the first number", "the second")
    bound: ClassVar[str] = ""

    def __init__(
        self,
        parameters: Mapping[str, Any],
        *,
        level: Callable[[Any], Any] | None = None,
        proven: bool = False,
        rounding: Callable[[], Mapping[str, float]] | None = None,
    ) -> None:
        if not isinstance(parameters, Mapping):
            raise ArgumentError(
                "parameters", f"must be a mapping by name; got {parameters!r}"
            )
        if not isinstance(proven, bool):
            raise ArgumentError("proven", f"must be True or False; got {proven!r}")
        if level is not None and not callable(level):
            raise ArgumentError(
                "sigma", f"must be a function of one input; got {level!r}"
            )
        self.parameters = {k: plain(value) for k, value in parameters.items()}
        if "norm" in self.domains:
            self.norm = float(self.parameters.get("norm", 2.0))
        self._rounding = rounding
        if self.allows_for_rounding(self.parameters):
            self.grid = grid_noise.LEVELS
        if not is_own(type(self)):
            # whatever the class says: nothing here has checked its theory
            self.scope = ANOTHERS
        elif self.scope in PROVEN and not proven:
            self.scope = ASSERTED_ENVELOPE
        self._level = level

    def __repr__(self) -> str:
        """The method and the numbers that it rests on."""
        numbers = [
            f"{name}={value:g}"
            for name, value in self.parameters.items()
            if isinstance(value, float | int) and not isinstance(value, bool)
        ]
        return f"<{type(self).__name__} {self.name}: {', '.join(numbers)}>"

    def sigma(self, x: Any) -> float:
        """Noise level (> 0) at one input.

        ValueError where it contradicts the parameters.
        """
        self.check_size(x)
        if "sigma" in self.domains:  # it is the same everywhere
            return float(self.parameters["sigma"])
        # on the grid of 1/255 the error of a computed level is bounded
        rounds = self.allows_for_rounding(self.parameters)
        point = grid_noise.points(on_host("x", x)) if rounds else x
        if self._level is None:
            raise ValueError(
                f"a scheme of method {self.name} from parameters alone gives no "
                "sigma(x)"
            )
        level = POSITIVE.one("sigma(x)", self._level(point))
        low = self.parameters.get("sigma_min", 0.0)
        high = self.parameters.get("sigma_max", math.inf)
        if not low <= level <= high:
            raise ArgumentError("sigma(x)", f"must be in [{low}, {high}]; got {level}")
        return level

    def check_size(self, x: Any) -> None:
        """ArgumentError unless it :meth:`takes` inputs of this size."""
        size = math.prod(shape_of("x", x))
        if not self.takes(size):
            dim = self.parameters.get("dim")
            raise ArgumentError(
                "dim", f"must be at least the size of the input, {size}; got {dim}"
            )

    def takes(self, size: int) -> bool:
        """Whether it certifies inputs of so many numbers."""
        return bool(size <= self.parameters.get("dim", math.inf))

    def radius(self, z_a: float, sigma: float, z_b: float | None = None) -> float:
        """The certified radius at a noise level: a number >= 0, or inf.

        ``z_a`` is the normal score of a lower bound of the top class's probability,
        ``z_b`` that of an upper bound of every other class's; by default -z_a.
        """
        first, second = checked_scores(z_a, z_b)
        shape = shape_of("sigma", sigma)
        if shape:
            raise ArgumentError("sigma", f"must be one number; got shape {shape}")
        parameters = {**self.parameters, "sigma": sigma}
        return float(self.evaluate(parameters, first, second, scores=True))

    def further(self, z_a: float, z_b: float) -> dict[str, str]:
        """What rows of these scores say besides the radius: the text of ``columns``."""
        return {}

    def further_above(self, z: float, least: float) -> dict[str, str]:
        """The text of ``columns`` in rows of an event that is to stay above a score."""
        return {}

    @classmethod
    def remark(cls, parameters: Mapping[str, Any], rows: Sequence[Voted]) -> str:
        """What a report says of rows of a class beside accuracies; "" for nothing."""
        return ""

    @property
    def whole(self) -> bool:
        """Whether radii are whole numbers: they count changes."""
        return Norm.of(self.norm).counts

    @classmethod
    def check(cls, parameters: Mapping[str, Any]) -> None:
        """Raise ValueError unless ``parameters`` hold every number of the radius."""
        require(cls.domains, parameters, "parameters.")

    @classmethod
    def who_answers(cls, parameters: Mapping[str, Any]) -> dict[str, By]:
        """Who answers for each parameter that a file may have, by its place.

        One in an object is ``levels.of``, and ``code.args.*`` is whatever is in there.
        """
        code = dict.fromkeys(CODE.places(), By.WRITER)
        return code | super().who_answers(parameters)

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any], **options: Any) -> Self:
        """The scheme of parameters that are checked first; options as of the class."""
        cls.check(parameters)
        return cls(parameters, **options)

    @classmethod
    def for_inputs(
        cls, parameters: Mapping[str, Any], level: Callable[[Any], Any], dim: int
    ) -> Scheme:
        """Return the scheme of stated parameters for inputs of ``dim`` numbers.

        ValueError if the parameters are for fewer.
        """
        scheme = cls.from_parameters(parameters, level=level)
        largest = parameters.get("dim", dim)
        if not largest >= dim:
            raise ArgumentError(
                "dim", f"must be at least {dim}, the size of an input; got {largest}"
            )
        return scheme

    @classmethod
    def from_options(cls, options: Options, given: Given) -> Scheme:
        """The scheme of the command line's options.

        ``given`` is what it knows of the inputs and loads: ``given.dim``, the numbers
        of an input, and ``given.shape``; ``given.inputs(path)``, the array ``x`` of an
        npz file, and ``given.function(option, spec)``, a function of one input, each
        with its description for the manifest.
        """
        raise ValueError(
            f"method {cls.name} has no options to be made of: its class "
            f"{cls.__name__} needs options in declared, and from_options"
        )

    @classmethod
    def evaluate(
        cls, options: Options, p_a: float, p_b: float | None, scores: bool
    ) -> Any:
        """Radius at the level ``sigma`` of the options.

        It is computed from probabilities or ``scores``.
        """
        raise NotImplementedError(f"{cls.__name__} has no radius")


def is_own(scheme: type[Scheme]) -> bool:
    """Whether a class of schemes is this package's own."""
    instance("scheme", scheme, type, "a class of schemes")
    return scheme.__module__.partition(".")[0] == "rsbounds"


def check_entry(entry: Any) -> None:
    """ValueError for what can't be an entry of the list of methods."""
    if not (isinstance(entry, type) and issubclass(entry, Scheme)):
        raise ValueError(
            f"must be a subclass of rsbounds.schemes.Scheme; got {entry!r}"
        )
    name: Any = entry.name
    if not (isinstance(name, str) and name.isprintable() and name):
        raise ValueError(f"the method must be a name; got {name!r}")
    if ":" in name:  # which --method takes for code
        raise ValueError(f"the method's name must have no colon; got {name!r}")
