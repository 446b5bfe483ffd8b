"""Methods of the command line and their options."""

import argparse
import math
from collections.abc import Callable
from typing import Any

from rsbounds._numerics.errors import ArgumentError
from rsbounds.cli._flags import flag
from rsbounds.confidence import BOUNDS
from rsbounds.confidence.internal import MAX_N
from rsbounds.schemes import METHODS, Option
from rsbounds.schemes.internal import LAWS, TRANSFORM_OPTION

#: The method of a run that names none.
DEFAULT = next(iter(METHODS))

#: Bounds whose rows a file can hold and ``verify`` can check.
#: Those of other packages are loaded when they are named.
COUNTED = tuple(
    name
    for name in BOUNDS
    if not BOUNDS.is_own(name) or BOUNDS[name].evidence != "scores"
)


_ARGUMENTS = Option("method_args", "arguments of CALLABLE", str, None, "K=V,...")


def add(parser: Any, option: Option, *, required: bool = False, **changes: Any) -> None:
    """Add a method's option to a parser; ``changes`` are argparse's own settings."""
    settings = {
        "type": converter(option.type),
        "help": option.help,
        "metavar": option.metavar,
        "nargs": option.nargs,
        "default": None if option.default is ... else option.default,
        "required": required,
    }
    try:
        parser.add_argument(flag(option.name), **settings | changes)
    except argparse.ArgumentError:
        # an entry of another package asks for what certify itself asks for
        raise ValueError(
            f"the option {flag(option.name)} ({option.help}) is there already: its "
            "method or answer must name it otherwise"
        ) from None


def converter(kind: Callable[[str], Any]) -> Callable[[str], Any]:
    """Wrap ``kind`` so that argparse prints the messages of its errors.

    Of other ValueErrors it says the name of the function and not the message.
    """
    if isinstance(kind, type):  # "invalid float value" is argparse's to say
        return kind

    def convert(text: str) -> Any:
        try:
            return kind(text)
        except ArgumentError as error:  # argparse says the option
            raise argparse.ArgumentTypeError(error.problem) from None
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return convert


def of_method(name: str) -> tuple[Option, ...]:
    """Return the options of one method.

    ValueError with near matches if there is none of that name.
    """
    if is_code(name):
        return (_ARGUMENTS,)
    if name in LAWS:  # whose noise may move a parameter
        return *METHODS[name].options, TRANSFORM_OPTION
    if name in METHODS:
        return METHODS[name].options
    from rsbounds.loading.internal import unknown  # which not every command needs

    raise unknown("method", name, list(METHODS))


def of_all() -> list[Option]:
    """The options of this package's methods, one of each flag."""
    options = {shared.name: shared for shared in (_ARGUMENTS, TRANSFORM_OPTION)}
    for name in filter(METHODS.is_own, METHODS):  # others' code runs when it is named
        options |= {option.name: option for option in METHODS[name].options}
    return list(options.values())


def of_whole_numbers(name: str | None) -> bool:
    """Whether inputs of a method may be whole numbers."""
    return name is not None and name in METHODS and METHODS[name].of_whole_numbers


def may_evaluate_all(name: str | None) -> bool:
    """Whether noise of a method may be one all of whose outcomes are evaluated."""
    if is_code(name):
        return True
    method = METHODS.get(name or "")
    return method is not None and bool(method.bound)


def is_code(name: str | None) -> bool:
    """Whether a method is given by MODULE:CALLABLE."""
    return ":" in (name or "")


def numbers(
    text: str, kind: Any = float, low: int = 0, most: float = math.inf
) -> tuple[Any, ...]:
    """Numbers that are at least ``low``, separated by commas."""
    try:
        values = tuple(map(kind, text.split(",")))
    except ValueError:
        values = ()
    if not 0 < len(values) <= most or not all(value >= low for value in values):
        several = "numbers" if most == math.inf else f"at most {most} numbers"
        several += f" >= {low} separated by commas"
        raise argparse.ArgumentTypeError(f"expected {several}; got {text!r}")
    return values


def whole(low: int, text: str) -> int:
    """A whole number, also as 1e5, that is at least ``low``."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (low <= value <= MAX_N and value == int(value)):
        expected = f"a whole number from {low} to {MAX_N}"
        raise argparse.ArgumentTypeError(f"expected {expected}; got {text!r}")
    return int(value)
