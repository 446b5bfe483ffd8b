"""How the command line spells the arguments of the library."""

import argparse
import re
from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from rsbounds._numerics.errors import ArgumentError

#: Arguments that the options of another name make.
_MADE_BY = {"scheme": "method"}
_SWITCH = re.compile(r"\b([a-z]\w*)=True\b")
#: Not among the arguments of a call in Python.
_QUOTED = re.compile(r"(?<!\()(?<!, )\b([a-z]\w*)=('[^']*'|[0-9]+(?:\.[0-9]+)?\b)")
_SEVERAL = re.compile(r"\b([a-z]\w*)=\[('[^']*'(?:, '[^']*')*)\]")


def flag(name: str) -> str:
    """The option of an argument: ``--accept-change`` of ``accept_change``."""
    return f"--{name.replace('_', '-')}"


@dataclass(frozen=True)
class CommandFlag:
    """An option of a command, as it was added to its parser.

    Parameters
    ----------
    action : argparse.Action
        What argparse makes of it.
    repeats : bool
        Whether it is given once for each of several values.
    """

    action: argparse.Action
    repeats: bool = False

    @property
    def is_switch(self) -> bool:
        """Whether it takes no value."""
        return self.action.nargs == 0

    @property
    def takes_several(self) -> bool:
        """Whether its value is several, separated by commas."""
        return str(self.action.metavar).endswith(",...")


Flags: TypeAlias = Mapping[str, CommandFlag]


def spelled(message: str, flags: Flags) -> str:
    """Spell a message of the library in the command line's words.

    ``word=True`` becomes a switch if it is one, ``word='a'`` an option with its value,
    and ``word=['a', 'b']`` one that is given once for each, or with commas.
    """

    def spelling(match: re.Match[str]) -> str:
        option = flags.get(flag(match[1]))
        is_switch = option is not None and option.is_switch
        return flag(match[1]) if is_switch else match[0]

    def quoted(match: re.Match[str]) -> str:
        option = flags.get(flag(match[1]))
        return match[0] if option is None else f"{flag(match[1])} {match[2]}"

    def repeated(match: re.Match[str]) -> str:
        option = flags.get(flag(match[1]))
        words = match[2].replace("'", "").split(", ")
        if option is not None and option.takes_several:
            return f"{flag(match[1])} {','.join(words)}"
        if option is None or not option.repeats:
            return match[0]
        return " ".join(f"{flag(match[1])} {word}" for word in words)

    message = _SEVERAL.sub(repeated, _SWITCH.sub(spelling, message))
    return _QUOTED.sub(quoted, message)


def named(error: BaseException, flags: Container[str]) -> str:
    """Say an error in the command line's words.

    The name of its argument is spelled as an option where it is one.
    """
    if isinstance(error, ArgumentError):
        option = flag(_MADE_BY.get(error.name, error.name))
        if option in flags:
            return f"{option} {error.problem}"
    return str(error)
