"""The command line: one module for each command, with ``add_parser`` and a function to run.

Bad input gives one line on standard error and exit status 2.
"""

from __future__ import annotations

import argparse
import difflib
import errno
import importlib
import os
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import rsbounds

_COMMANDS = ("demo", "certify", "report", "merge", "verify", "recertify", "fit-rule", "radius")

#: What bad input raises; the last two only of numbers and nestings nobody thought of.
_ERRORS = (ValueError, OSError, MemoryError, ImportError, ArithmeticError, RecursionError)


class Parser(argparse.ArgumentParser):
    """A parser that takes no abbreviations and answers a misspelt option with the nearest."""

    #: Called with the words of a command line; what it returns is parsed in their place.
    prepare: Callable[[list[str]], list[str]] | None = None

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "allow_abbrev": False})

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse does, after ``prepare``."""
        if self.prepare is not None:
            args = self.prepare(list(args))
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        unknown = re.findall(r"(--[\w-]+)", message) if "unrecognized" in message else []
        flags = self.flags()
        # an option that another command has is not misspelt
        near = [difflib.get_close_matches(u, flags, 1) for u in unknown if u not in flags]
        hint = ", ".join(match for matches in near for match in matches)
        hint = f"; did you mean {hint}?" if hint else ""
        self.exit(2, f"{self.prog}: {message}{hint}; see {self.prog} --help\n")

    def flags(self) -> list[str]:
        """The long options of this parser and of its commands."""
        flags = []
        for action in self._actions:
            flags += [flag for flag in action.option_strings if flag.startswith("--")]
            if isinstance(action, argparse._SubParsersAction):
                for command in action.choices.values():
                    flags += command.flags()
        return flags


def parser() -> Parser:
    """The parser of all commands."""
    top = Parser(prog="rsbounds", description=rsbounds.__doc__)
    top.add_argument("--version", action="version", version=f"rsbounds {rsbounds.__version__}")
    subparsers = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name in _COMMANDS:
        importlib.import_module(f"rsbounds.cli.{name.replace('-', '_')}").add_parser(subparsers)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; by default those of the process.

    Returns
    -------
    int
        Exit status: 0 done, 1 findings of ``verify``, 2 bad input, 130 interrupted.

    Notes
    -----
    With ``RSBOUNDS_TRACEBACK`` set in the environment, an error shows where it arose.

    Examples
    --------
    >>> from rsbounds.cli import main
    >>> main(["radius", "gaussian", "--score", "2", "--sigma", "0.25"])  # doctest: +ELLIPSIS
    0.49999999999999... gaussian score=2.0 sigma=0.25 norm=2.0
    0
    """
    _open_standard_streams()
    command = "rsbounds"

    def say(message: object) -> None:
        print(f"{command}: {message}", file=sys.stderr)

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        say(f"warning: {message}")

    with warnings.catch_warnings():
        warnings.showwarning = show
        try:
            args = parser().parse_args(argv)
            command = f"rsbounds {args.command}"
            status: int = args.func(args)
            sys.stdout.flush()
        except BrokenPipeError:  # whoever read our output has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        except KeyboardInterrupt:
            say("interrupted; what is written is kept, run it again to go on")
            return 130
        except _ERRORS as error:
            if os.environ.get("RSBOUNDS_TRACEBACK"):
                traceback.print_exc()
            if _is_full(error):  # what is left of it must not fail again when we leave
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            say(_line(error))
            return 2
    return status


def _open_standard_streams() -> None:
    """A stream that the caller closed must not become the number of a file we open."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115


def _is_full(error: BaseException) -> bool:
    """Whether standard output took no more: errors of files come with their names."""
    return (
        isinstance(error, OSError)
        and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        and error.filename is None
    )


def _line(error: BaseException) -> str:
    if _is_full(error):
        return f"standard output: {error.strerror}"  # type: ignore[attr-defined]
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__
