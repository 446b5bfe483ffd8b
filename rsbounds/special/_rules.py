"""Which derivatives a special function has, for frameworks that differentiate."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature

from rsbounds._numerics.checks import Floats
from rsbounds.special import derivatives

Function = Callable[..., Floats]


def arguments_of(function: Function) -> list[str]:
    """The names of its arguments, without NumPy's options."""
    return [*signature(function).parameters][: function.nin]  # type: ignore[attr-defined]


def partials_of(function: Function) -> tuple[Function | None, ...]:
    """Its derivative in each of its arguments, None where there is none."""
    names = arguments_of(function)
    return tuple(
        getattr(derivatives, f"{function.__name__}_d{key}", None) for key in names
    )
