"""Options that the methods of ``rsbounds.schemes`` ask for, as arguments of a parser."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rsbounds._numerics.checks import real
from rsbounds.schemes import METHODS, Method, Option

#: Methods that the command line can construct.
BUILT: Mapping[str, Method] = {m.name: m for m in METHODS.values() if m.build is not None}


def add(parser: Any, option: Option, *, required: bool = False) -> None:
    """One argument; its default is kept apart, so that what was given can be told."""
    known: dict[str, Any] = {"type": option.type, "help": option.help}
    for name in ("metavar", "choices", "nargs"):
        if (value := getattr(option, name)) is not None:
            known[name] = value
    parser.add_argument(option.flag, required=required, default=None, **known)


def distinct(options: Iterable[Option]) -> list[Option]:
    """One of each flag, in the order met."""
    return list({option.flag: option for option in reversed(list(options))}.values())[::-1]


def of_method(args: argparse.Namespace) -> dict[str, Any]:
    """The options of ``args.method`` with their defaults, or ValueError."""
    method = BUILT[args.method]
    own = {option.name: option for option in method.options}
    for other in distinct(option for m in BUILT.values() for option in m.options):
        if getattr(args, other.name) is not None and other.name not in own:
            raise ValueError(f"{other.flag} has no meaning for --method {method.name}")
    return settled(args, own.values(), lambda flag: f"--method {method.name} needs {flag}")


def settled(
    args: argparse.Namespace, options: Iterable[Option], missing: Callable[[str], str]
) -> dict[str, Any]:
    """The values of options by name, their defaults where they were not given."""
    values = {}
    for option in options:
        value = getattr(args, option.name)
        if value is None and option.default is ...:
            raise ValueError(missing(option.flag))
        values[option.name] = option.default if value is None else value
        if option.name == "sigma" and option.nargs is None:
            real(option.flag, values["sigma"], 0, closed="neither", nan=False)
    return values
