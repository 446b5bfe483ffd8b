"""What a scheme is, and what all of them share."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Protocol, Self

from rsbounds import envelope as theory
from rsbounds._numerics.checks import instance, on_host, shape_of
from rsbounds._numerics.domains import POSITIVE, Domain, Domains, plain, require
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.options import Option, Options
from rsbounds._numerics.rounding import EPS, SMALLEST
from rsbounds.certificate import (
    ANOTHERS,
    ASSERTED_ENVELOPE,
    PROVEN,
    PROVEN_ENVELOPE,
    WHOLE,
)
from rsbounds.noises import Noise, checked_scores
from rsbounds.sampling import Sampler, as_sampler, grid_noise
from rsbounds.sampling.adapters import output_sampler
from rsbounds.sampling.questions import Kind


class Given(Protocol):
    """What the command line knows of the inputs, and what it loads for a scheme.

    ``inputs`` is the array ``x`` of an npz file, flattened to (count, dim);
    ``function`` one of an input, for a ``SigmaNetwork`` an object with its ``scheme``
    method; ``noise`` noise of a shape, whose ``scheme(norm, sound=...)`` rests on the
    proof of its kind. Each comes with its description for the manifest.
    """

    dim: int
    shape: tuple[int, ...]  # of an input
    sound: bool  # whether a sound scheme is asked for

    def inputs(self, path: Any) -> tuple[Any, str]: ...
    def function(self, option: str, spec: str) -> tuple[Any, Any]: ...
    def noise(self, option: str, spec: str) -> tuple[Any, Any]: ...


class Scheme:
    """A smoothing scheme: the noise level at an input, and the radius of scores there.

    A scheme of your own is a subclass with a ``name``, a ``radius`` and a ``sigma``;
    its scope is "another package's method". With ``options`` and ``from_options`` it
    can join :data:`METHODS`, through the entry point ``rsbounds.schemes``.

    Parameters
    ----------
    parameters : mapping
        What a result file must say for the radii to be computed again.
    level : callable, optional
        The noise level as a function of the input, for schemes that have no ``sigma``
        of their own; where the parameters hold a ``slack``, of its point of the grid of
        1/255.
    proven : bool
        Whether you have proven the bounds of sigma(x) among the parameters for the
        function that is run. Otherwise a scope that says they are proven becomes
        "asserted".

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
    sound : bool
        Whether the radius allows for the rounding of ``sigma(x)``, as sound noise
        requires.
    convex : bool
        Whether the least probability within a radius is a convex function of an
        event's own, as it is unless it is the least over changes of several kinds.
    outcomes : int or None
        How many outcomes the noise has, all alike, where samplers evaluate them all:
        the bound is then "exact", and n this number.
    columns : tuple of str
        Further columns of rows of a class, which :meth:`further` fills.
    domains : mapping
        The parameters that the radius is computed from, and where they lie.
    made_by : str
        What code that chooses a method must return in its place, where the parameters
        and a level don't make a scheme.
    help, options, inputs
        For the command line: a line of help; what ``rsbounds certify --method`` asks
        for; what ``rsbounds radius`` asks for besides the scores (nothing: the method
        isn't offered there).
    of_whole_numbers : bool
        Whether its inputs may be whole numbers: values, tokens, zeros and ones.

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
    sound: bool = False
    convex: bool = True
    outcomes: int | None = None
    columns: tuple[str, ...] = ()
    domains: ClassVar[Domains] = {}
    made_by: ClassVar[str] = ""
    help: ClassVar[str] = ""
    options: ClassVar[tuple[Option, ...]] = ()
    inputs: ClassVar[tuple[Option, ...]] = ()
    of_whole_numbers: ClassVar[bool] = False

    def __init__(
        self,
        parameters: Mapping[str, Any],
        *,
        level: Callable[[Any], Any] | None = None,
        proven: bool = False,
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
        self.sound = self.sound or "slack" in self.parameters
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
        size = math.prod(shape_of("x", x))
        if not self.takes(size):
            dim = self.parameters.get("dim")
            raise ArgumentError(
                "dim", f"must be at least the size of the input, {size}; got {dim}"
            )
        if "sigma" in self.domains:  # it is the same everywhere
            return float(self.parameters["sigma"])
        # Sound noise lives on the grid of 1/255: there the error of a computed level is
        # bounded.
        point = grid_noise.points(on_host("x", x)) if "slack" in self.parameters else x
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

    def transport(
        self, z: Any, radius: Any, sigma: float | None = None
    ) -> tuple[Any, Any]:
        """Bounds on an event's probability moved within a radius, as normal scores.

        Parameters
        ----------
        z : array_like
            Normal scores of the event's probability at the input.
        radius : array_like
            Distances in the norm of the scheme, >= 0.
        sigma : float, optional
            The noise level, where the parameters of the scheme don't hold it.

        Returns
        -------
        low, high : float or ndarray
            Anywhere within the radius the event's score lies in [low, high]; rounded
            outward.

        Raises
        ------
        ValueError
            If an argument is out of its domain, or the noise is not the same at every
            input: the extremes of its level don't bound the event's probability then.

        Examples
        --------
        >>> from rsbounds.schemes import gaussian
        >>> low, high = gaussian(0.5).transport(2.0, 0.25)
        >>> round(float(low), 12), round(float(high), 12)
        (1.5, 2.5)
        """
        raise ArgumentError(
            "scheme",
            "must have noise that is the same at every input, such as gaussian(0.5); "
            f"got one of method {self.name!r}",
        )

    def fixed_level(self, sigma: float | None = None) -> float:
        """Level of noise that is the same at every input: ``sigma``, or its own."""
        stated = self.own_level
        if sigma is None and stated is None:
            raise ArgumentError(
                "sigma", f"must be given for a scheme of method {self.name!r}"
            )
        level = POSITIVE.one("sigma", stated if sigma is None else sigma)
        if stated is not None and level != stated:
            raise ArgumentError(
                "sigma", f"must be that of the scheme, {stated}; got {level}"
            )
        return level

    @property
    def whole(self) -> bool:
        """Whether radii are whole numbers: they count changes."""
        return self.norm in WHOLE

    @property
    def drawn(self) -> Noise | None:
        """The noise that its samplers draw, where that is not x + sigma(x) N(0, I)."""
        return None

    @property
    def own_level(self) -> float | None:
        """The one level of its noise, where the scheme itself says it."""
        return self.parameters.get("sigma")

    def sampler(self, model: Any, **options: Any) -> Sampler:
        """Make the sampler of a model under the scheme's noise.

        Options are those of ``as_sampler``.
        """
        return as_sampler(model, noise=self.drawn, **options)

    def output_sampler(self, model: Any, kind: Kind, **options: Any) -> Sampler:
        """The sampler of a model's values or maps; options as for ``as_sampler``."""
        return output_sampler(model, kind, self.law, noise=self.drawn, **options)

    @classmethod
    def check(cls, parameters: Mapping[str, Any]) -> None:
        """Raise ValueError unless ``parameters`` hold every number of the radius."""
        require(cls.domains, parameters, "parameters.")

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
        stated = parameters.get("dim", dim)
        if not stated >= dim:
            raise ArgumentError(
                "dim", f"must be at least {dim}, the size of an input; got {stated}"
            )
        return scheme

    @classmethod
    def from_options(cls, options: Options, given: Given) -> Scheme:
        """The scheme of the command line's options."""
        raise ValueError(
            f"method {cls.name} has no options to be made of: its class "
            f"{cls.__name__} needs options and from_options"
        )

    @classmethod
    def evaluate(
        cls, options: Options, p_a: float, p_b: float | None, scores: bool
    ) -> Any:
        """Radius at the level ``sigma`` of the options.

        It is computed from probabilities or ``scores``.
        """
        raise NotImplementedError(f"{cls.__name__} has no radius")


class EnvelopeScheme(Scheme):
    """A scheme whose radius follows from an envelope of sigma(x), by two points.

    ``envelope`` makes it from the parameters named in ``bounds``, in this order.
    """

    scope = PROVEN_ENVELOPE
    envelope: ClassVar[Callable[..., theory.Envelope]]
    bounds: ClassVar[tuple[str, ...]]

    @classmethod
    def evaluate(
        cls, options: Options, p_a: float, p_b: float | None, scores: bool
    ) -> Any:
        envelope = cls.envelope(*(options[name] for name in cls.bounds))
        slack = options.get("slack", 0.0)
        if slack:  # computed levels leave the envelope by a factor exp(slack) at most
            envelope = theory.Widened(envelope, slack)
        return theory.radius(
            p_a, options["sigma"], envelope, options["dim"], p_b, scores=scores
        )


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


def level_slack(rounding: float, floor: float) -> float:
    """Bound on log sigma(x) beyond a Lipschitz envelope that comes from rounding.

    Where each level is at least ``floor`` > 0 and its error at most ``rounding``, in
    [0, floor/4], that is -log(1 - 2 rounding/floor), rounded up: see the theory page on
    sound noise.

    Examples
    --------
    >>> from rsbounds.schemes import level_slack
    >>> f"{level_slack(1e-12, 0.25):.3e}"
    '8.000e-12'
    """
    floor = POSITIVE.one("floor", floor, towards=-math.inf)
    rounding = Domain(0.0, floor / 4).one("rounding", rounding, towards=math.inf)
    return -math.log1p(-2 * rounding / floor) * (1 + 16 * EPS) + SMALLEST
