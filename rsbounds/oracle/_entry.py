"""What the functions take, checked where they are called, by name and annotation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from inspect import signature
from math import inf
from numbers import Rational
from operator import index
from typing import Any, NamedTuple, TypeVar

from mpmath import mp

Function = TypeVar("Function", bound=Callable[..., Any])


def exact(value: Any) -> Any:
    """Return ``value`` as an mpf: a float exactly, strings to the working precision.

    Fractions are divided at the working precision too.
    """
    if isinstance(value, str | mp.mpf | float | int):
        return mp.mpf(value)
    if getattr(value, "shape", None) == ():
        value = value.item()  # of NumPy, which is not loaded here
    if isinstance(value, float | int):
        return mp.mpf(value)
    if isinstance(value, Rational):
        return mp.mpf(value.numerator) / value.denominator
    try:
        if value != value or value in (inf, -inf):
            return mp.mpf(float(value))
        numerator, denominator = value.as_integer_ratio()
    except (AttributeError, TypeError, ArithmeticError, ValueError):
        return mp.mpmathify(value)
    return mp.mpf(numerator) / denominator


class Limits(NamedTuple):
    """An interval, and which of its ends belong to it."""

    low: float
    high: float
    closed: tuple[bool, bool] = (True, True)

    def hold(self, value: Any) -> bool:
        """Whether a number lies between; a NaN doesn't."""
        above = value >= self.low if self.closed[0] else value > self.low
        below = value <= self.high if self.closed[1] else value < self.high
        return bool(above and below)

    def __str__(self) -> str:
        left, right = "(["[self.closed[0]], ")]"[self.closed[1]]
        return f"{left}{self.low:g}, {self.high:g}{right}"


_LARGEST = 1.7976931348623157e308
_POSITIVE = Limits(0, _LARGEST, (False, True))
_NOT_NEGATIVE = Limits(0, inf, (True, False))
_FINITE = Limits(-inf, inf, (False, False))
_ANY = Limits(-inf, inf)
#: Decimal digits of texts and fractions that are compared with limits.
_DIGITS = 60
#: Where the numbers of each name lie; those of other names are any, but no NaN.
REALS: Mapping[str, Limits] = {
    **dict.fromkeys(("sigma", "sigma0", "sigma_max"), _POSITIVE),
    **dict.fromkeys(("scale", "base_lip", "df"), _POSITIVE),
    **dict.fromkeys(("rate", "lip", "mean_lip", "distance"), _NOT_NEGATIVE),
    "radius": _NOT_NEGATIVE,
    # beyond these mpmath's exponents of exponents are too long
    "reach": Limits(1e-100, 1e6),
    "shift": Limits(-1e6, 1e6),
    "spread": Limits(0, 50, (False, True)),
    "t": Limits(-1e9, 1e9),
    "sigma_min": Limits(0, _LARGEST),
    "sigma1": _FINITE,
    "p": Limits(0, 1),
    "alpha": Limits(0, 1, (False, False)),
    "log_p": Limits(-inf, 0),
    "dim": Limits(1, 1e15),
    "norm": Limits(1, inf),
    "s": Limits(0, inf),
    "nc": Limits(0, 1e300),
}
#: Fractions that are probabilities.
PROBABILITIES = ("add", "delete", "keep")
#: The same of whole numbers. Enumerations are for few coordinates.
WHOLE: Mapping[str, Limits] = {
    "dps": Limits(1, 10_000),
    **dict.fromkeys(("count", "count_a", "count_b", "hits"), Limits(0, 1e15)),
    **dict.fromkeys(("n", "trials"), Limits(0, 1e15)),
    **dict.fromkeys(("dim", "r", "reach", "cls"), Limits(0, 1000)),
    **dict.fromkeys(("values", "alphabet", "classes"), Limits(1, 1000)),
    # regions are for more
    **dict.fromkeys(("changes", "added", "deleted"), Limits(0, 1e5)),
    **dict.fromkeys(("inserted", "substituted"), Limits(0, 1e5)),
    **dict.fromkeys(("others", "places"), Limits(1, 1e15)),
}


def checked(function: Function) -> Function:
    """Refuse values that a parameter cannot have, with a ValueError that names it.

    The function is called with the values themselves, which it takes exactly.
    """
    shape = signature(function)
    checks = {
        name: _CHECKS[parameter.annotation]
        for name, parameter in shape.parameters.items()
        if parameter.annotation in _CHECKS
    }

    @wraps(function)
    def entered(*args: Any, **options: Any) -> Any:
        arguments = shape.bind(*args, **options).arguments
        for name, value in arguments.items():
            if name in checks:
                checks[name](name, value)
        return function(*args, **options)

    return entered  # type: ignore[return-value]


def require_positive(name: str, value: Any) -> None:
    """Refuse the 0 of a parameter that may be 0 elsewhere."""
    _real(name, value, _POSITIVE)


def _refuse(name: str, expected: str, value: Any) -> None:
    raise ValueError(f"{name} must be {expected}; got {value!r:.60}") from None


def _real(name: str, value: Any, limits: Limits | None = None) -> None:
    number = _number(value)
    if number is None:
        _refuse(name, "a real number", value)
    limits = limits or REALS.get(name, _ANY)
    if not limits.hold(number):
        _refuse(name, f"in {limits}", value)


def _number(value: Any) -> Any:
    """The real number that a value is, in mpmath; None for another."""
    is_flag = isinstance(value, bool) or str(getattr(value, "dtype", "")) == "bool"
    if is_flag or isinstance(value, bytes):
        return None
    try:
        with mp.workdps(_DIGITS):
            number = exact(value)
    except (TypeError, ValueError, AttributeError):
        return None
    return number if isinstance(number, mp.mpf) else None


def _whole(name: str, value: Any) -> None:
    try:
        number = None if isinstance(value, bool) else index(value)
    except TypeError:
        number = None
    limits = WHOLE.get(name, _FINITE)
    if number is None or not limits.hold(number):
        _refuse(name, f"a whole number in {limits}", value)


def _rational(name: str, value: Any) -> None:
    is_one = isinstance(value, Rational) and not isinstance(value, bool)
    if not is_one or value < 0:
        _refuse(name, "a Fraction or a whole number, at least 0", value)
    if name in PROBABILITIES and value > 1:
        _refuse(name, "at most 1", value)


def _optional(check: Callable[[str, Any], None]) -> Callable[[str, Any], None]:
    def of_some(name: str, value: Any) -> None:
        if value is not None:
            check(name, value)

    return of_some


def _several(
    check: Callable[[str, Any], None], least: int
) -> Callable[[str, Any], None]:
    def of_each(name: str, value: Any) -> None:
        if not isinstance(value, Sequence) or isinstance(value, str | bytes):
            _refuse(name, "a sequence", value)
        if len(value) < least:
            _refuse(name, f"a sequence of at least {least}", value)
        for element in value:
            check(name, element)

    return of_each


def _cases(name: str, value: Any) -> None:
    if isinstance(value, Iterator):
        return  # it can be gone through once
    is_list = isinstance(value, Sequence) and not isinstance(value, str | bytes)
    if not is_list or not value:
        _refuse(name, "pairs of laws, one or more", value)
    if not all(isinstance(case, tuple) and len(case) == 2 for case in value):
        _refuse(name, "pairs of laws, one or more", value)


def _text(name: str, value: Any) -> None:
    if not isinstance(value, str):
        _refuse(name, "a text", value)


def _function(name: str, value: Any) -> None:
    if not callable(value) or isinstance(value, type):
        _refuse(name, "a function of the distance", value)


def _envelope(name: str, value: Any) -> None:
    if not isinstance(value, tuple) or len(value) != 2:
        _refuse(name, "two functions of the distance", value)
    for side in value:
        _function(name, side)


def _mapping(name: str, value: Any) -> None:
    if not isinstance(value, Mapping) or not value:
        _refuse(name, "a mapping by name", value)


_CHECKS: Mapping[Any, Callable[[str, Any], None]] = {
    "Real": _real,
    "Mpf": _real,
    "Real | None": _optional(_real),
    "int": _whole,
    "str": _text,
    "str | None": _optional(_text),
    "Fraction": _rational,
    "Fraction | None": _optional(_rational),
    "Sequence[int]": _several(_whole, 0),
    "Sequence[Real]": _several(_real, 1),
    "Sequence[Sequence[Real]]": _several(_several(_real, 1), 1),
    "Sequence[Sequence[int] | None]": _several(_optional(_several(_whole, 1)), 1),
    "Iterable[Case]": _cases,
    "Sequence[Case]": _cases,
    "Callable[[Mpf], Mpf]": _function,
    "Envelope": _envelope,
    "Parameters": _mapping,
    "Mapping[str, Any]": _mapping,
}
