"""Options of a method on the command line, and how their text is read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

Options: TypeAlias = Mapping[str, Any]  # values by name


@dataclass(frozen=True)
class Option:
    """One option of the command line, which spells its name as a flag.

    Attributes
    ----------
    name : str
        Of the parameter: ``sigma_min`` is spelled ``--sigma-min``.
    help : str
        A line that says what it is.
    type : callable
        From its text to its value; ValueError for a text that is none.
    default : any
        Its value where it is left out; ``...`` where it must be given.
    metavar, nargs : str, optional
        What help calls the value, and how many there are, as in ``argparse``.
    opens : bool
        Whether its value is the path of a result file, of which the answer is given
        what was read: ``rows`` and ``manifest``.
    """

    name: str
    help: str
    type: Callable[[str], Any] = float
    default: Any = ...
    metavar: str | None = None
    nargs: str | None = None
    opens: bool = False


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
