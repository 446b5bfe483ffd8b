"""Options that several commands take: those of the methods, and the shared ones."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rsbounds._numerics.checks import as_floats
from rsbounds.confidence import BOUNDS
from rsbounds.procedure import Procedure
from rsbounds.schemes import METHODS, Option, Scheme

#: Methods that the command line can construct.
BUILT: Mapping[str, type[Scheme]] = {m.name: m for m in METHODS.values() if m.options}

#: Bounds whose rows a file can hold and ``verify`` can check.
COUNTED = tuple(b.name for b in BOUNDS.values() if b.evidence == "counts")

#: Options of ``--method composite`` and of code, with what argparse needs to know.
_FURTHER: Mapping[str, dict[str, Any]] = {
    "--rule": {"metavar": "RULE.json", "type": Path, "help": "the decision list"},
    "--model-for": {
        "nargs": "+",
        "metavar": "SIGMA=MODEL",
        "default": [],
        "help": "experts for levels of the rule, in place of --model",
    },
    "--method-args": {"metavar": "K=V,...", "help": "arguments of CALLABLE"},
}


def add(parser: Any, option: Option, *, required: bool = False) -> None:
    """Add one option; its default is kept apart: was it given?"""
    settings: dict[str, Any] = {"type": option.type, "help": option.help}
    for name in ("metavar", "nargs"):
        if (value := getattr(option, name)) is not None:
            settings[name] = value
    parser.add_argument(option.flag, required=required, default=None, **settings)


def add_methods(parser: Any, levels: Callable[[str], Any]) -> None:
    """Add the options of all methods; ``levels`` reads several noise levels."""
    for option in of_all():
        if option.flag == "--sigma":
            option = replace(option, type=levels, metavar="SIGMA,...")
        add(parser, option)
    for flag, settings in _FURTHER.items():
        parser.add_argument(flag, **settings)


def show(parser: argparse.ArgumentParser, name: str | None) -> None:
    """Let the help show the options of this method and no other's; None: the noise level."""
    further = {flag: settings["help"] for flag, settings in _FURTHER.items()}
    if is_code(name):
        shown = [*further][1:]
    elif name == "composite":
        shown = [*further][:2]
    else:
        own = METHODS[name or "gaussian"].options if (name or "gaussian") in METHODS else ()
        texts = {option.flag: option.help for option in own}
        shown = ["--sigma"] if name is None else [*texts]
        further |= texts
    for flag in (*(option.flag for option in of_all()), *_FURTHER):
        text = further[flag] if flag in shown else argparse.SUPPRESS
        parser._option_string_actions[flag].help = text


def flag(name: str) -> str:
    """The option of an argument's name."""
    return f"--{name.replace('_', '-')}"


def is_code(name: str | None) -> bool:
    """Whether a method is given by MODULE:CALLABLE."""
    return ":" in (name or "")


def method(name: str) -> type[Scheme]:
    """The method of that name; ValueError with near matches if there is none."""
    if name in METHODS:
        return METHODS[name]
    near = difflib.get_close_matches(name, METHODS, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(METHODS)}"
    raise ValueError(f"the method {name!r} is unknown; {hint}")


def procedure(**numbers: Any) -> Procedure:
    """The numbers of a certificate; errors name the options."""
    try:
        return Procedure(**numbers)
    except ValueError as error:
        raise ValueError(flag(str(error))) from None


def of_method(args: argparse.Namespace) -> dict[str, Any]:
    """The options of ``args.method`` with their defaults; ValueError for those of others."""
    name, own = args.method, {}
    if not is_code(name) and name != "composite":
        own = {option.name: option for option in method(name).options}
    for other in of_all():
        if getattr(args, other.name) is not None and other.name not in own:
            raise ValueError(f"{other.flag} has no meaning for --method {name}")
    if (args.rule is not None) != (name == "composite"):
        raise ValueError("--rule goes with --method composite, which needs it")
    if args.model_for and not is_code(name) and name != "composite":
        raise ValueError("--model-for goes with --method composite")
    check_code(args)
    return settled(args, own.values(), lambda flag: f"--method {name} needs {flag}")


def check_code(args: argparse.Namespace) -> None:
    """ValueError for arguments of a callable where no code is given."""
    if args.method_args is not None and not is_code(args.method):
        raise ValueError("--method-args goes with --method MODULE:CALLABLE")


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
            as_floats(option.flag, values["sigma"], 0, closed="neither", nan=False)
    return values


def of_all() -> list[Option]:
    """The options of all methods, one of each flag."""
    every = [option for scheme in BUILT.values() for option in scheme.options]
    return list({option.flag: option for option in reversed(every)}.values())[::-1]
