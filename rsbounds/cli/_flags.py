"""How the command line spells the arguments of the library."""

import argparse
import re
from collections.abc import Container, Mapping

from rsbounds._numerics.errors import ArgumentError

#: Arguments that the options of another name make.
_MADE_BY = {"scheme": "method"}
_SWITCH = re.compile(r"\b([a-z]\w*)=True\b")
_SEVERAL = re.compile(r"\b([a-z]\w*)=\[('[^']*'(?:, '[^']*')*)\]")


def flag(name: str) -> str:
    """The option of an argument: ``--accept-change`` of ``accept_change``."""
    return f"--{name.replace('_', '-')}"


def options_of(
    parser: argparse.ArgumentParser, args: argparse.Namespace
) -> dict[str, argparse.Action]:
    """The options of the command that ``args`` belong to, by their flags."""
    options = dict(parser._option_string_actions)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            command = action.choices[getattr(args, action.dest)]
            options |= options_of(command, args)
    return options


def spelled(message: str, options: Mapping[str, argparse.Action]) -> str:
    """Spell a message of the library in the command line's words.

    ``word=True`` becomes a switch if it is one, and ``word=['a', 'b']`` an option that
    is given once for each.
    """

    def spelling(match: re.Match[str]) -> str:
        option = options.get(flag(match[1]))
        return flag(match[1]) if option is not None and option.nargs == 0 else match[0]

    def repeated(match: re.Match[str]) -> str:
        option = options.get(flag(match[1]))
        if not isinstance(option, argparse._AppendAction):
            return match[0]
        words = match[2].replace("'", "").split(", ")
        return " ".join(f"{flag(match[1])} {word}" for word in words)

    return _SEVERAL.sub(repeated, _SWITCH.sub(spelling, message))


def named(error: BaseException, flags: Container[str]) -> str:
    """Say an error in the command line's words.

    The name of its argument is spelled as an option where it is one.
    """
    if isinstance(error, ArgumentError):
        option = flag(_MADE_BY.get(error.name, error.name))
        if option in flags:
            return f"{option} {error.problem}"
    return str(error)
