"""Noise that moves the parameter of a transformation and not the numbers.

References
----------
Li et al., TSS: transformation-specific smoothing for robustness certification, 2021.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.options import Option, Options
from rsbounds.certificate import ASSERTED_GROUP, FIXED_NOISE, PARAMETER, UPWARD
from rsbounds.noises import AddedNoise
from rsbounds.sampling.transformed import (
    TransformedNoise,
    gaussian_offsets,
    offsets_of,
)
from rsbounds.schemes._gaussian import Gaussian
from rsbounds.schemes._noise import NoiseScheme
from rsbounds.schemes._noises import exponential, laplace, uniform
from rsbounds.schemes._scheme import Given, Scheme
from rsbounds.transforms import Transform, is_own, named, require_transform

__all__ = ["LAWS", "TRANSFORM_OPTION", "Transformed", "transformed"]

#: The methods whose law may move a parameter, by name.
LAWS: Mapping[str, type[Scheme]] = {
    method.name: method
    for method in (Gaussian, laplace.method, uniform.method, exponential.method)
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


class Transformed(Scheme):
    """Noise of a scalar law in a parameter; see :func:`transformed`.

    Attributes
    ----------
    scheme : Scheme
        Whose law the parameter has, and whose radii these are.
    transform : Transform
        The transformation.
    """

    name = "transformed"
    scope = PARAMETER
    sound = True  # the level is the same number at every input
    help = "noise in the parameter of a transformation: see --transform"
    scheme: Scheme
    transform: Transform
    noise: TransformedNoise

    def __init__(self, parameters: Mapping[str, Any], **options: Any) -> None:
        super().__init__(parameters, **options)
        if self.parameters:  # a class of methods is made of none
            scheme = _law(self.parameters)
            self._move(scheme, _transform(self.parameters))

    def _move(self, scheme: Scheme, transform: Transform) -> None:
        """Let the noise of a scheme move the parameter of a transformation."""
        self.scheme = scheme
        self.transform = transform
        upward = scheme.norm == UPWARD
        if transform.one_sided and not upward:
            raise ArgumentError(
                "transform",
                f"{transform.name} is defined for a >= 0 alone: its noise must be that "
                f"of the method exponential; got {scheme.name}",
            )
        self.norm = _norm(scheme, transform)
        self.scope = PARAMETER if is_own(transform) else ASSERTED_GROUP
        level = scheme.fixed_level()
        law = scheme.law
        of_bits = False
        if isinstance(scheme, NoiseScheme):
            assert isinstance(scheme.noise, AddedNoise)
            offsets = offsets_of(scheme.noise)
            of_bits = scheme.noise.of_bits
        else:
            offsets = gaussian_offsets(level)
            law = f"gaussian sigma={level!r}"
        self.noise = TransformedNoise(
            transform, offsets, law=law, level=level, of_bits=of_bits
        )
        self.law = self.noise.law

    @property
    def drawn(self) -> TransformedNoise:
        return self.noise

    @property
    def own_level(self) -> float | None:
        return self.scheme.own_level

    def sigma(self, x: Any) -> float:
        return self.scheme.fixed_level()

    def radius(self, z_a: float, sigma: float, z_b: float | None = None) -> float:
        return self.scheme.radius(z_a, self.fixed_level(sigma), z_b)

    def transport(
        self, z: Any, radius: Any, sigma: float | None = None
    ) -> tuple[Any, Any]:
        return self.scheme.transport(z, radius, self.fixed_level(sigma))

    @classmethod
    def check(cls, parameters: Mapping[str, Any]) -> None:
        super().check(parameters)
        try:
            _law(parameters)
            _transform(parameters)
        except ArgumentError as error:
            raise ArgumentError(f"parameters.{error.name}", error.problem) from None

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
        name, or is for a >= 0 alone and the law isn't. When sampled, for an input that
        the transformation isn't for.

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
    if not isinstance(scheme, Scheme) or scheme.name not in LAWS:
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
    own = is_own(_moved(transform))
    stated: Any = transform.name
    if not own:
        stated = {"name": transform.name, "dim": transform.dim}
    made = Transformed(
        {"law": {"method": scheme.name, **scheme.parameters}, "transform": stated}
    )
    made._move(scheme, transform)
    return made


class _Stated(Transform):
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


def _norm(scheme: Scheme, transform: Transform) -> str:
    """The name of the parameter, and the norm where it has several numbers."""
    words = [transform.name]
    if transform.dim > 1:
        words.append("l2" if scheme.name == "gaussian" else "l1")
    if scheme.norm == UPWARD:
        words.append("a >= 0")
    return ", ".join(words)


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


def _law(parameters: Mapping[str, Any]) -> Scheme:
    """The scheme of the parameter's law; ArgumentError("law", ...) for another."""
    law = parameters.get("law")
    name = str(law.get("method")) if isinstance(law, Mapping) else ""
    if not isinstance(law, Mapping) or name not in LAWS:
        raise ArgumentError(
            "law", f"must be of the methods {', '.join(LAWS)}; got {law!r:.60}"
        )
    own = {key: value for key, value in law.items() if key != "method"}
    if name == "gaussian" and own.keys() != {"sigma"}:
        raise ArgumentError("law", f"must have sigma alone; got {', '.join(own)!r:.60}")
    try:
        return LAWS[name].from_parameters(own)
    except ArgumentError as error:
        problem = f"of {name!r}: {error.name} {error.problem}"
        raise ArgumentError("law", problem) from None


def _transform(parameters: Mapping[str, Any]) -> Transform:
    """The transformation that parameters state, by its name alone if it isn't ours."""
    stated = parameters.get("transform")
    if isinstance(stated, str):
        return _moved(named(stated))
    dim = stated.get("dim", 1) if isinstance(stated, Mapping) else 1
    if not isinstance(stated, Mapping) or not isinstance(dim, int):
        raise ArgumentError(
            "transform", f"must be a name, or an object with one; got {stated!r:.60}"
        )
    named_alone = _Stated(stated.get("name", ""), dim)
    require_transform(named_alone)
    return named_alone
