"""Options that several commands take: those of the methods, and numbers."""

import argparse
import difflib
import math
from typing import Any

from rsbounds.confidence import BOUNDS
from rsbounds.confidence.counts import MAX_N
from rsbounds.procedure import Procedure
from rsbounds.schemes import METHODS, Option

#: Bounds whose rows a file can hold and ``verify`` can check.
COUNTED = tuple(b.name for b in BOUNDS.values() if b.evidence == "counts")

_ARGUMENTS = Option("--method-args", "arguments of CALLABLE", str, None, "K=V,...")


def add(parser: Any, option: Option, *, required: bool = False, **changes: Any) -> None:
    """Add one option."""
    settings = {name: getattr(option, name) for name in ("type", "help", "metavar", "nargs")}
    default = None if option.default is ... else option.default
    settings |= {"default": default, "required": required} | changes
    parser.add_argument(option.flag, **settings)


def of_method(name: str) -> tuple[Option, ...]:
    """The options of one method; ValueError with near matches if there is none of that name."""
    if is_code(name):
        return (_ARGUMENTS,)
    if name in METHODS:
        return METHODS[name].options
    near = difflib.get_close_matches(name, METHODS, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(METHODS)}"
    raise ValueError(f"the method {name!r} is unknown; {hint}")


def of_all() -> list[Option]:
    """The options of all methods, one of each flag."""
    every = [option for scheme in METHODS.values() for option in scheme.options]
    return list({o.flag: o for o in (*every, _ARGUMENTS)}.values())


def flag(name: str) -> str:
    """The option of an argument's name."""
    return f"--{name.replace('_', '-')}"


def is_code(name: str | None) -> bool:
    """Whether a method is given by MODULE:CALLABLE."""
    return ":" in (name or "")


def procedure(**numbers: Any) -> Procedure:
    """The numbers of a certificate; errors name the options."""
    try:
        return Procedure(**numbers)
    except ValueError as error:
        raise ValueError(flag(str(error))) from None


def whole(low: int, text: str) -> int:
    """A whole number, also as 1e5, that is at least ``low``."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (low <= value <= MAX_N and value == int(value)):
        raise argparse.ArgumentTypeError(
            f"expected a whole number from {low} to {MAX_N}; got {text!r}"
        )
    return int(value)
