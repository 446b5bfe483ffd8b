"""The method of a noise of :mod:`rsbounds.noises`: one scheme for all of them."""

from __future__ import annotations

import copyreg
import math
from collections.abc import Callable, Mapping
from functools import cache, wraps
from inspect import signature
from typing import Any, ClassVar, ParamSpec, Protocol, cast

from rsbounds._numerics.checks import shape_of
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.options import Options
from rsbounds.noises import Curve, NamedNoise, held
from rsbounds.noises.blocks import GaussianBlock
from rsbounds.schemes._gaussian import Gaussian
from rsbounds.schemes._scheme import Given, Scheme

P = ParamSpec("P")


class NoiseScheme(Scheme):
    """A scheme whose noise is the same at every input and says its own radii.

    Attributes
    ----------
    noise : NamedNoise
        What its samplers draw, made of the parameters.
    curve : Curve
        The exact curve of discrete noise.
    """

    sound = True  # the level is the same number at every input
    kind: ClassVar[type[NamedNoise]]
    noise: NamedNoise

    def __init__(self, parameters: Mapping[str, Any], **options: Any) -> None:
        super().__init__(parameters, **options)
        if self.parameters:  # a class of methods is made of none
            self._drawn_by(self.kind.of(self.parameters))

    def _drawn_by(self, noise: NamedNoise) -> None:
        self.noise = noise
        self.law = noise.law
        self.norm = noise.norm
        self.outcomes = noise.outcomes

    @classmethod
    def of(cls, noise: NamedNoise) -> NoiseScheme:
        """The scheme of a noise whose parameters a result file can hold."""
        scheme = cls(noise.parameters)
        # with what no radius depends on, such as a padding
        scheme._drawn_by(noise)
        return scheme

    def __reduce__(self) -> Any:
        own = type(self)
        if own is _method(self.kind):  # which has no name to be found by
            return _blank, (self.kind,), self.__dict__
        return copyreg.__newobj__, (own,), self.__dict__  # type: ignore[attr-defined]

    @property
    def curve(self) -> Curve:
        """The exact curve of its noise, if that is discrete."""
        curve: Curve = cast(Any, self.noise).curve
        return curve

    @property
    def drawn(self) -> NamedNoise:
        return self.noise

    @property
    def own_level(self) -> float:
        return self.noise.level

    def sigma(self, x: Any) -> float:
        size = math.prod(shape_of("x", x))
        if not self.takes(size):
            raise ArgumentError(
                "dim",
                f"must be the size of the input, {size}; got {self.parameters['dim']} "
                "(inputs of several sizes: keep_probability)",
            )
        return self.own_level

    def takes(self, size: int) -> bool:
        return self.noise.takes(size)

    def radius(self, z_a: float, sigma: float, z_b: float | None = None) -> float:
        self.fixed_level(sigma)
        return self.noise.radius(z_a, z_b)

    def further(self, z_a: float, z_b: float) -> dict[str, str]:
        return self.noise.further(z_a, z_b)

    def transport(
        self, z: Any, radius: Any, sigma: float | None = None
    ) -> tuple[Any, Any]:
        self.fixed_level(sigma)
        return self.noise.transport(z, radius)

    @classmethod
    def check(cls, parameters: Mapping[str, Any]) -> None:
        super().check(parameters)
        try:
            cls.kind.of(parameters)
        except ArgumentError as error:
            name = f"parameters.{error.name}"
            raise ArgumentError(name, error.problem) from None

    @classmethod
    def from_options(cls, options: Options, given: Given) -> Scheme:
        return cls._of_options(options, given.dim)

    @classmethod
    def _of_options(cls, options: Options, dim: int | None) -> NoiseScheme:
        """The scheme of a user's options, which errors name as they are."""
        try:
            return cls.from_parameters(cls.kind.stated(options, dim))
        except ArgumentError as error:
            name = error.name.removeprefix("parameters.")
            raise ArgumentError(name, error.problem) from None

    @classmethod
    def evaluate(
        cls, options: Options, p_a: float, p_b: float | None, scores: bool
    ) -> Any:
        noise = cls._of_options(options, options.get("dim")).noise
        if scores:
            return noise.radius(p_a, p_b)
        return noise.radius_of_probabilities(p_a, p_b)


class Maker(Protocol[P]):
    """What makes schemes of a noise's arguments; ``method`` is their class."""

    method: type[NoiseScheme]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> NoiseScheme: ...


def method(noise: Callable[P, NamedNoise]) -> Maker[P]:
    """The maker of the schemes of a noise: a function of the noise's own arguments.

    Schemes are taken in place of noises, and numbers of any kind as the doubles that
    they are.
    """
    kind = cast("type[NamedNoise]", noise)

    def make(*args: Any, **kwargs: Any) -> NoiseScheme:
        given = signature(kind).bind(*args, **kwargs)
        arguments = {
            name: _plain(name, value) for name, value in given.arguments.items()
        }
        given.arguments.update(arguments)
        return scheme.of(kind(*given.args, **given.kwargs))

    scheme = _method(kind)
    made: Any = wraps(noise, updated=())(make)
    made.__name__ = made.__qualname__ = kind.name.replace("-", "_")
    made.__signature__ = signature(kind).replace(return_annotation="NoiseScheme")
    made.method = scheme
    return cast("Maker[P]", made)


@cache
def _method(kind: type[NamedNoise]) -> type[NoiseScheme]:
    """The class of the schemes of a noise."""
    says = {
        name: getattr(kind, name)
        for name in (
            *("name", "help", "norm", "scope", "convex", "columns"),
            *("domains", "options", "inputs"),
        )
    }
    attributes = {
        **says,
        "kind": kind,
        "of_whole_numbers": kind.whole,
        "__module__": kind.__module__,
        "__doc__": f"Schemes of {kind.name} noise; see its function.",
    }
    return cast("type[NoiseScheme]", type(kind.__name__, (NoiseScheme,), attributes))


def _blank(kind: type[NamedNoise]) -> NoiseScheme:
    """A scheme of a noise that has no state yet, for pickles."""
    blank = _method(kind)
    return blank.__new__(blank)


def _plain(name: str, value: Any) -> Any:
    """An argument as noises take it."""
    if isinstance(value, tuple):
        return tuple(_plain(name, one) for one in value)
    if type(value) is Gaussian and value.norm == 2:
        return GaussianBlock(value.parameters["sigma"])
    return value.noise if isinstance(value, NoiseScheme) else held(name, value)
