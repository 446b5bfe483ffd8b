"""Noise that moves the parameter of a transformation and not the numbers.

References
----------
Li et al., TSS: transformation-specific smoothing for robustness certification, 2021.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rsbounds._numerics.answered import By
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.options import Option, Options
from rsbounds._numerics.parameters import OF_CODE, Parameter, Type
from rsbounds.certificate import ASSERTED_GROUP, FIXED_NOISE, PARAMETER, Norm
from rsbounds.noises import Bits
from rsbounds.schemes._drawn import DrawnScheme
from rsbounds.schemes._exponential import Exponential
from rsbounds.schemes._gaussian import Gaussian
from rsbounds.schemes._given import Given
from rsbounds.schemes._laplace import Laplace
from rsbounds.schemes._scheme import Scheme
from rsbounds.schemes._uniform import Uniform
from rsbounds.transforms import Transform
from rsbounds.transforms.internal import (
    applied,
    is_own,
    largest_level,
    named,
    require_composition,
    require_finite,
    require_transform,
    three_digits,
)

__all__ = ["LAWS", "TRANSFORM_OPTION", "Transformed", "transformed"]

#: A scheme whose law may move a parameter.
LawScheme = Gaussian | Laplace | Uniform | Exponential
#: Their classes by name.
LAWS: Mapping[str, type[LawScheme]] = {
    method.name: method for method in (Gaussian, Laplace, Uniform, Exponential)
}


def _named_or_code(text: str) -> str:
    """What the command line names; refused early where noise can't move it."""
    if ":" not in text:
        _moved(named(text))
    return text


#: Asked for beside the options of these methods.
TRANSFORM_OPTION = Option(
    "transform",
    "what noise moves: brightness, contrast, gamma, gain, blur, rotation-z or "
    "FILE.py:CALLABLE",
    _named_or_code,
    None,
    "NAME",
)


class Transformed(DrawnScheme):
    """Noise of a scalar law in a parameter; see :func:`transformed`.

    Attributes
    ----------
    scheme : Scheme
        Whose law the parameter has, and whose radii these are.
    transform : Transform
        The transformation.
    """

    name = "transformed"
    follows_input = False
    scope = PARAMETER
    help = "noise in the parameter of a transformation: see --transform"
    declared = (
        Parameter(
            "law",
            "the noise of a transformation's parameter",
            answered_by=By.COUNTS,
            parts=("method",),
            type=Type.OBJECT,
        ),
        Parameter(
            "transform",
            "what the parameter moves, or its code",
            answered_by=By.RERUN,
            parts=("", "name", "dim", *(f"code.{part}" for part in OF_CODE)),
            type=Type.ANY,
        ),
    )
    scheme: LawScheme
    transform: Transform

    def read(self) -> None:
        self._move(_law(self.parameters), _transform(self.parameters))

    def _move(self, scheme: LawScheme, transform: Transform) -> None:
        """Let the noise of a scheme move the parameter of a transformation."""
        self.scheme = scheme
        self.transform = transform
        if scheme.grid is not None:
            raise ArgumentError(
                "scheme", f"must not be on a grid, which no parameter is; got {scheme}"
            )
        if transform.one_sided and not Norm.of(scheme.norm).upward:
            raise ArgumentError(
                "transform",
                f"{transform.name} is defined for a >= 0 alone: its noise must be that "
                f"of the method exponential; got {scheme.name}",
            )
        _require_reach(scheme, transform)
        self.norm = _norm(scheme, transform).spelled
        self.scope = PARAMETER if is_own(transform) else ASSERTED_GROUP
        self.level = scheme.fixed_level()
        self.of_bits = scheme.of_bits
        self.law = f"{transform.name} of {scheme.full_law}"

    def checked(self, x: Any) -> NDArray[Any]:
        point = self.transform.checked(x)
        if not is_own(self.transform):
            require_composition(self.transform, point, self.level)
            require_finite(self.transform, point, self.scheme.farthest * self.level)
        return point

    def noisy(self, x: Any, sigma: float, size: int, bits: Bits) -> Any:
        """Copies T_a x; a is rounded to the type of the input."""
        with np.errstate(over="ignore", under="ignore"):
            offsets = self.scheme.offsets((size, self.transform.dim), bits)
            a = bits.like(offsets, x)
            copies = applied(self.transform, x, a, bits.xp)
        if is_own(self.transform):
            return copies  # new, and in the type of x
        # a copy: another's function may keep what it returns, or return x itself
        return bits.xp.concatenate([bits.like(copies, x)])

    def radius_of_scores(self, z_a: float, z_b: float | None = None) -> float:
        return self.scheme.radius(z_a, self.level, z_b)

    def transport(
        self, z: Any, radius: Any, sigma: float | None = None
    ) -> tuple[Any, Any]:
        return self.scheme.transport(z, radius, self.fixed_level(sigma))

    def inverse(
        self, z: Any, radius: Any, sigma: float | None = None
    ) -> tuple[Any, Any]:
        return self.scheme.inverse(z, radius, self.fixed_level(sigma))

    @classmethod
    def who_answers(cls, parameters: Mapping[str, Any]) -> dict[str, By]:
        law = parameters["law"]
        of_law = {name: value for name, value in law.items() if name != "method"}
        answers = super().who_answers(parameters)
        for name in LAWS[law["method"]].domains:
            answers[f"law.{name}"] = LAWS[law["method"]].who_answers(of_law)[name]
        return answers

    @classmethod
    def from_options(cls, options: Options, given: Given) -> Scheme:
        raise ArgumentError(
            "method",
            f"{cls.name} is that of a law: give --transform beside --method "
            f"{', '.join(LAWS)}",
        )


def transformed(scheme: Scheme, transform: Transform | str) -> Transformed:
    """Let the noise of a scheme move the parameter of a transformation.

    The radius is in the parameter: the class does not change at T_a x for any \\|a\\|
    within it, where T_a T_b = T_(a + b). All that the model does to a copy, clipping
    too, is a part of the model; what is done to T_a x before the smoothed classifier
    gets it is not covered: clipping, rounding to 8 bits.

    Parameters
    ----------
    scheme : Scheme
        The law of the parameter: ``gaussian(sigma)``, ``laplace(scale)``,
        ``uniform(half_width)``, or ``exponential(rate)`` for a >= 0 alone.
    transform : Transform or str
        One of :data:`rsbounds.transforms.TRANSFORMS` by its name, or one of your own,
        whose certificates state that it is asserted to compose.

    Raises
    ------
    ValueError
        If the scheme has another law, or the transformation is no group, is refused by
        name, or is for a >= 0 alone and the law isn't; for a level whose farthest draws
        the transformation can't be computed at. When sampled, for an input that the
        transformation isn't for.

    Notes
    -----
    f(T_t T_a x) = f(T_(t + a) x): an attack shifts the noise t by a, and nothing else.
    So the radius is that of the law, of one number, and has its error bound.

    References
    ----------
    Li et al., TSS: transformation-specific smoothing for robustness certification,
    2021, Theorem 1.

    Examples
    --------
    >>> from rsbounds import schemes
    >>> scheme = schemes.transformed(schemes.gaussian(0.4), "brightness")
    >>> round(scheme.radius(3.0, 0.4), 9), scheme.norm
    (1.2, 'brightness')
    """
    # a subclass may draw what its parameters don't say
    if not isinstance(scheme, LawScheme) or type(scheme) not in LAWS.values():
        raise ArgumentError(
            "scheme", f"must be one of {', '.join(LAWS)}; got {scheme!r:.80}"
        )
    if scheme.scope != FIXED_NOISE or scheme.parameters.get("norm", 2.0) != 2.0:
        raise ArgumentError(
            "scheme",
            f"must have the scope {FIXED_NOISE!r} and no norm of its own; got "
            f"{scheme.scope!r}, norm {scheme.norm}",
        )
    if isinstance(transform, str):
        transform = _moved(named(transform))
    require_transform(transform)
    is_ours = is_own(_moved(transform))
    entry: Any = transform.name
    if not is_ours:
        entry = {"name": transform.name, "dim": transform.dim}
    made = Transformed(
        {"law": {"method": scheme.name, **scheme.parameters}, "transform": entry}
    )
    made._move(scheme, transform)
    return made


class _NamedAlone(Transform):
    """A transformation of which a file says the name alone."""

    formula = "a transformation of the writer's own"

    def __init__(self, name: str, dim: int) -> None:
        self.name = name  # type: ignore[misc]
        self.dim = dim  # type: ignore[misc]

    def checked(self, x: Any) -> Any:
        raise ArgumentError(
            "transform",
            f"must be the object itself to draw copies (--transform FILE.py:CALLABLE); "
            f"{self.name!r} is a name that a file states",
        )

    def apply(self, x: Any, a: Any, xp: Any) -> Any:
        return self.checked(x)


def _require_reach(scheme: LawScheme, transform: Transform) -> None:
    """ArgumentError for a level whose draws may leave what float32 can compute."""
    most = largest_level(transform, scheme.farthest)
    if scheme.fixed_level() <= most:
        return
    ((name, value),) = scheme.parameters.items()
    bound = f"at most {most:g}"
    if name == "rate":  # one over the level
        bound = f"at least {three_digits(1 / most, math.ceil):g}"
    raise ArgumentError(
        name,
        f"must be {bound} for {transform.name}: farther draws leave what float32 can "
        f"compute; got {value}",
    )


def _norm(scheme: LawScheme, transform: Transform) -> Norm:
    """The norm of the parameter: a distance of one number, or the law's of several."""
    law = Norm.of(scheme.norm)
    return Norm(law.p if transform.dim > 1 else None, transform.name, upward=law.upward)


def _moved(transform: Any) -> Transform:
    """A transformation with a parameter; ArgumentError for a finite group."""
    if not isinstance(transform, Transform):
        name = getattr(transform, "name", transform)
        raise ArgumentError(
            "transform",
            f"must have a parameter that noise moves; {name!r:.60} is a finite group, "
            "for the method orbit",
        )
    return transform


def _law(parameters: Mapping[str, Any]) -> LawScheme:
    """The scheme of the parameter's law; ArgumentError("law", ...) for another."""
    law = parameters.get("law")
    name = str(law.get("method")) if isinstance(law, Mapping) else ""
    if not isinstance(law, Mapping) or name not in LAWS:
        raise ArgumentError(
            "law", f"must be of the methods {', '.join(LAWS)}; got {law!r:.60}"
        )
    of_law = {key: value for key, value in law.items() if key != "method"}
    if LAWS[name] is Gaussian and of_law.keys() != {"sigma"}:
        raise ArgumentError(
            "law", f"must have sigma alone; got {', '.join(of_law)!r:.60}"
        )
    try:
        return LAWS[name].from_parameters(of_law)
    except ArgumentError as error:
        problem = f"of {name!r}: {error.name} {error.problem}"
        raise ArgumentError("law", problem) from None


def _transform(parameters: Mapping[str, Any]) -> Transform:
    """The transformation that parameters state, by its name alone if it isn't ours."""
    entry = parameters.get("transform")
    if isinstance(entry, str):
        return _moved(named(entry))
    dim = entry.get("dim", 1) if isinstance(entry, Mapping) else 1
    if not isinstance(entry, Mapping) or not isinstance(dim, int):
        raise ArgumentError(
            "transform", f"must be a name, or an object with one; got {entry!r:.60}"
        )
    named_alone = _NamedAlone(entry.get("name", ""), dim)
    require_transform(named_alone)
    return named_alone
