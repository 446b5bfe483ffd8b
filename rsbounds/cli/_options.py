"""Options that several commands take: those of the methods, and the shared ones."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rsbounds._numerics.checks import real
from rsbounds.confidence import BOUNDS
from rsbounds.schemes import METHODS, Option, Scheme

#: Methods that the command line can construct.
BUILT: Mapping[str, type[Scheme]] = {m.name: m for m in METHODS.values() if m.options}

#: Bounds whose rows a file can hold and ``verify`` can check.
COUNTED = tuple(b.name for b in BOUNDS.values() if b.evidence == "counts" and not b.difference_only)


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


def add_lock(parser: argparse.ArgumentParser) -> None:
    """Whether a file that is written is locked."""
    parser.add_argument(
        "--lock",
        choices=("flock", "none"),
        default="flock",
        help="none: on a file system without locks, if no other process writes the file",
    )


def flag(name: str) -> str:
    """The option of an argument's name."""
    return f"--{name.replace('_', '-')}"


def is_code(name: str) -> bool:
    """Whether a method is given by MODULE:CALLABLE."""
    return ":" in name


def method(name: str) -> type[Scheme]:
    """The method of that name; ValueError with near matches if there is none."""
    if name in METHODS:
        return METHODS[name]
    near = difflib.get_close_matches(name, METHODS, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(METHODS)}"
    raise ValueError(f"the method {name!r} is unknown; {hint}")


def check_code(args: argparse.Namespace) -> None:
    """ValueError for arguments of a callable where no code is given."""
    if args.method_args is not None and not is_code(args.method or ""):
        raise ValueError("--method-args goes with --method MODULE:CALLABLE")


def of_method(args: argparse.Namespace) -> dict[str, Any]:
    """The options of ``args.method`` with their defaults, or ValueError."""
    options: tuple[Option, ...] = ()
    if args.method != "composite" and not is_code(args.method):
        options = method(args.method).options
    own = {option.name: option for option in options}
    for other in distinct(option for m in BUILT.values() for option in m.options):
        if getattr(args, other.name) is not None and other.name not in own:
            raise ValueError(f"{other.flag} has no meaning for --method {args.method}")
    return settled(args, own.values(), lambda flag: f"--method {args.method} needs {flag}")


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
