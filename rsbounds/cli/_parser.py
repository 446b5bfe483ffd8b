"""A parser that knows its own options, by their flags."""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from rsbounds.cli import _flags


class Group:
    """Arguments of a parser that belong together."""

    def __init__(
        self, known: Callable[[argparse.Action, Mapping[str, Any]], Any], group: Any
    ) -> None:
        self._known = known
        self._group = group

    def add_argument(self, *names: Any, **settings: Any) -> Any:
        """Add an argument to the group and to its parser."""
        return self._known(self._group.add_argument(*names, **settings), settings)


def _filled(kind: Callable[[str], Any], text: str) -> Any:
    """A path or other text, of which none is as good as an option that isn't given."""
    if not text:
        raise argparse.ArgumentTypeError("must not be empty")
    return kind(text)


class Parser(argparse.ArgumentParser):
    """A parser that takes no abbreviations.

    It answers a misspelt option with the nearest.
    """

    #: Called with the words of a command line; what it returns is parsed in their
    #: place.
    prepare: Callable[[list[str]], list[str]] | None = None

    #: What shows the help with the options that the command line may have.
    help_words = " --help"

    def __init__(self, **options: Any) -> None:
        #: Its options by their flags, and the parsers of commands by their names.
        self.flags: dict[str, _flags.CommandFlag] = {}
        self.commands: dict[str, Parser] = {}
        super().__init__(**{**options, "allow_abbrev": False})

    def add_argument(self, *names: Any, **settings: Any) -> argparse.Action:
        """Add an argument as argparse does, and know an option's flags from then on."""
        return self._known(super().add_argument(*names, **settings), settings)

    def add_group(self, title: str, description: str | None = None) -> Group:
        """A group of arguments in the help, whose flags are this parser's too."""
        return Group(self._known, self.add_argument_group(title, description))

    def add_choice(self) -> Group:
        """A group of which one argument must be given."""
        group = self.add_mutually_exclusive_group(required=True)
        return Group(self._known, group)

    def add_commands(self, dest: str, metavar: str) -> None:
        """Let a command follow, whose name is the argument ``dest``."""
        self._commands = self.add_subparsers(dest=dest, required=True, metavar=metavar)

    def add_command(self, name: str, **settings: Any) -> Parser:
        """The parser of one of the commands."""
        made: Parser = self._commands.add_parser(name, **settings)
        self.commands[name] = made
        return made

    def _known(
        self, action: argparse.Action, settings: Mapping[str, Any]
    ) -> argparse.Action:
        repeats = settings.get("action") == "append"
        if action.type in (None, str, Path) and "" not in (
            action.default,
            action.const,
        ):
            # text that may be empty has that for its default
            action.type = partial(_filled, action.type or str)
        made = _flags.CommandFlag(action, repeats)
        self.flags |= dict.fromkeys(action.option_strings, made)
        return action

    def flags_for(self, args: argparse.Namespace) -> _flags.Flags:
        """The options of the command that ``args`` belong to, by their flags."""
        flags: dict[str, _flags.CommandFlag] = dict(self.flags)
        if self.commands:
            chosen = self.commands[getattr(args, self._commands.dest)]
            flags |= chosen.flags_for(args)
        return flags

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse as argparse does, after ``prepare``.

        What is unknown is an error of this command.
        """
        self._words = list(sys.argv[1:] if args is None else args)
        for word in self._words:
            name, _, value = word.partition("=")
            # of this value argparse makes an empty list
            if value == "--" and name.startswith("--") and not self.commands:
                self.exit(
                    2, f"{self.prog}: {name} needs a value; see {self.prog} --help\n"
                )
        if self.prepare is not None:
            self._words = self.prepare(self._words)
        namespace, unknown = super().parse_known_args(self._words, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return namespace, unknown

    def error(self, message: str) -> NoReturn:
        """End with one line on standard error and status 2."""
        # argparse: "argument --n: expected one argument"
        message = re.sub(
            r"^argument (\S+): expected (?:one|at least one) argument$",
            r"\1 needs a value",
            message,
        )
        known = self.flags
        hints = []
        wrong = re.match(r"argument COMMAND: invalid choice: '(.*?)'", message)
        if wrong is not None:
            message = f"there is no command {wrong[1]}"
            near = difflib.get_close_matches(wrong[1], self.commands, 1)
            hints += [f"did you mean {name}?" for name in near]
        for word in self._words:
            flag = word.partition("=")[0]
            if flag.startswith("--") and flag not in known:
                near = difflib.get_close_matches(flag, known, 1)
                hints += [f"{flag} is unknown, did you mean {name}?" for name in near]
        hint = "".join(f"; {text}" for text in hints)
        self.exit(
            2, f"{self.prog}: {message}{hint}; see {self.prog}{self.help_words}\n"
        )
