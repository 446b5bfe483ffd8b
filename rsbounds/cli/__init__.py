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
from collections.abc import Sequence
from typing import Any, NoReturn

import rsbounds

_COMMANDS = (
    *("demo", "certify", "report", "merge", "status", "verify", "recertify", "fit-rule"),
    *("radius", "pmin", "bench", "completion"),
)


#: What bad input comes to; the last two only of numbers and nestings nobody thought of.
_SAID = (ValueError, OSError, MemoryError, ImportError, ArithmeticError, RecursionError)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        unknown = re.findall(r"(--[\w-]+)", message) if "unrecognized" in message else []
        flags = self._flags()
        lost = [u for u in unknown if u not in flags]  # the others are flags of other commands
        near = [m for u in lost for m in difflib.get_close_matches(u, flags, 1)]
        hint = f"; did you mean {', '.join(near)}?" if near else ""
        self.exit(2, f"{self.prog}: {message}{hint}; see {self.prog} --help\n")

    def _flags(self) -> list[str]:
        """The long options of this parser and of its commands."""
        flags = []
        for action in self._actions:
            flags += [flag for flag in action.option_strings if flag.startswith("--")]
            if isinstance(action, argparse._SubParsersAction):
                for parser in action.choices.values():
                    flags += parser._flags()
        return flags


def parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    made = _Parser(prog="rsbounds", description=rsbounds.__doc__)
    made.add_argument("--version", action="version", version=f"rsbounds {rsbounds.__version__}")
    subparsers = made.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name in _COMMANDS:
        importlib.import_module(f"rsbounds.cli.{name.replace('-', '_')}").add_parser(subparsers)
    for command in subparsers.choices.values():
        command.add_argument("--traceback", action="store_true", help="show where an error arose")
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; by default those of the process.

    Returns
    -------
    int
        Exit status: 0 done, 1 findings of ``verify`` or missing rows in ``status``, 2 bad input,
        130 interrupted.

    Examples
    --------
    >>> from rsbounds.cli import main
    >>> main(["radius", "gaussian", "--score", "2", "--sigma", "0.25"])  # doctest: +ELLIPSIS
    0.49999999999999... gaussian score=2.0 sigma=0.25 norm=2.0
    0
    """
    _open_standard_streams()
    command = "rsbounds"
    shown = False

    def say(message: object) -> None:
        print(f"{command}: {message}", file=sys.stderr)

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        say(f"warning: {message}")

    with warnings.catch_warnings():
        warnings.showwarning = show
        try:
            args = parser().parse_args(argv)
            command, shown = f"rsbounds {args.command}", args.traceback
            status: int = args.func(args)
            sys.stdout.flush()
        except BrokenPipeError:  # whoever read our output has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        except KeyboardInterrupt:
            say("interrupted; what is written is kept, run it again to go on")
            return 130
        except _SAID as error:
            if shown:
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
