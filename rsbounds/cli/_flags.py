"""How the command line spells the arguments of the library."""

import argparse
import re
from collections.abc import Collection

from rsbounds._numerics.errors import ArgumentError

_SWITCH = re.compile(r"\b([a-z]\w*)=True\b")


def flag(name: str) -> str:
    """The option of an argument: ``--accept-change`` of ``accept_change``."""
    return f"--{name.replace('_', '-')}"


def flags_of(parser: argparse.ArgumentParser, args: argparse.Namespace) -> set[str]:
    """The options of the command that ``args`` belong to."""
    flags = set(parser._option_string_actions)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            command = action.choices[getattr(args, action.dest)]
            flags |= flags_of(command, args)
    return flags


def spelled(message: str, flags: Collection[str]) -> str:
    """A message of the library, its ``word=True`` spelled as an option where it is one.

    Examples
    --------
    >>> from rsbounds.cli._flags import spelled
    >>> spelled("download=True fetches them, depth=True doesn't", {"--download"})
    "--download fetches them, depth=True doesn't"
    """

    def option(switch: re.Match[str]) -> str:
        spelling = flag(switch[1])
        return spelling if spelling in flags else switch[0]

    return _SWITCH.sub(option, message)


def named(error: BaseException, flags: Collection[str]) -> str:
    """What an error says, the name of its argument spelled as an option where it is
    one.
    """
    if isinstance(error, ArgumentError) and flag(error.name) in flags:
        return f"{flag(error.name)} {error.problem}"
    return str(error)
