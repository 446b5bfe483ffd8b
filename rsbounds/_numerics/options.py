"""Options of a method on the command line, and how their text is read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

Options: TypeAlias = Mapping[str, Any]  # values by name


@dataclass(frozen=True)
class Option:
    """One option of the command line, which spells its name as a flag.

    ``default`` is ... where it must be given.
    """

    name: str
    help: str
    type: Callable[[str], Any] = float
    default: Any = ...
    metavar: str | None = None
    nargs: str | None = None


def as_switch(text: str) -> bool:
    """``on`` or ``off``."""
    if text not in ("on", "off"):
        raise ValueError(f"expected on or off; got {text!r}")
    return text == "on"


class Shared:
    """Options of several methods."""

    LEVEL = Option("sigma", "noise level at the input")
    NORM = Option("norm", "the p of the l_p norm (2; inf is allowed)", default=2.0)
    DIM = Option("dim", "dimension of the input")
    FLOOR = Option("sigma_min", "lower bound of sigma(x)")
    FUNCTION = Option(
        "sigma_function",
        "CALLABLE() maps a batch to sigma(x)",
        str,
        metavar="MODULE:CALLABLE",
    )
