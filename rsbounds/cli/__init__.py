"""The command line: a module for each command.

A module has the command's help, ``add_options`` and ``run``.

Bad input gives one line on standard error and exit status 2.
"""

from __future__ import annotations

import argparse
import errno
import importlib
import importlib.util
import io
import os
import sys
import traceback
import warnings
from collections.abc import Container, Sequence
from functools import cache, partial
from typing import Any

import rsbounds
from rsbounds._numerics import interrupts
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.text import abridged, shown
from rsbounds.cli import _flags
from rsbounds.cli._parser import Parser

_COMMANDS = (
    "demo",
    "certify",
    "report",
    "compare",
    "merge",
    "verify",
    "recertify",
    "fit-rule",
    "plan",
    "radius",
)

_OUTPUT = "standard output"

#: What bad input raises; the last two only of numbers and nestings nobody thought of.
_ERRORS = (
    ValueError,
    OSError,
    MemoryError,
    ImportError,
    ArithmeticError,
    RecursionError,
)


class _Version(argparse.Action):
    """Print the version; with ``--verbose`` what a report of a bug needs.

    Neither imports a dependency: their versions are those of their metadata.
    """

    def __init__(self, option_strings: Sequence[str], dest: str, help: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help=help)

    def __call__(self, parser: Any, *_: Any) -> None:
        print(f"rsbounds {rsbounds.__version__}")
        # read from the words: it may stand in front of --version or behind it
        if "--verbose" in parser._words:
            from rsbounds.cli import _environment

            print("\n".join(_environment.lines()))
        parser.exit()


def parser() -> Parser:
    """The parser of all commands.

    A command is imported when its words are parsed: ``rsbounds --help`` needs none.
    """
    top = Parser(prog="rsbounds", description=rsbounds.__doc__)
    top.add_argument("--version", action=_Version, help="print the version and leave")
    top.add_argument(
        "--verbose",
        action="store_true",
        default=argparse.SUPPRESS,
        help="with --version: also those of dependencies, the processor and threads",
    )
    top.add_commands("command", "COMMAND")
    for name in _COMMANDS:
        command = top.add_command(name, help=_summary(name))
        command.prepare = partial(_prepare, name, command)
    return top


def _module(name: str) -> str:
    return f"rsbounds.cli.{name.replace('-', '_')}"


@cache
def _summary(name: str) -> str:
    """The help of a command: the first line of its module, which is not imported."""
    spec = importlib.util.find_spec(_module(name))
    assert spec is not None
    loader: Any = spec.loader
    source: str = loader.get_source(spec.name)
    first, _, _ = source.partition("\n")
    summary = first.strip('".')
    return summary[:1].lower() + summary[1:]


def _prepare(name: str, parser: Parser, words: list[str]) -> list[str]:
    """The words of a command, for which its parser has the options from now on."""
    command = importlib.import_module(_module(name))
    _, _, parser.description = (command.__doc__ or "").partition("\n\n")
    parser.set_defaults(func=command.run)
    del parser.prepare  # the command may have words to prepare itself
    command.add_options(parser)
    if parser.prepare is None:
        return words
    try:
        return parser.prepare(words)
    except ArgumentError as error:
        # no option is parsed yet, but this command's are known
        raise ValueError(_flags.named(error, parser.flags)) from error


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
    >>> main(["radius", "gaussian", "--score", "0", "--sigma", "0.25"])
    0.0 gaussian score=0.0 sigma=0.25 norm=2.0
    0
    """
    _ready_streams()
    command = "rsbounds"
    folder = os.sep * 2
    options: _flags.Flags = {}

    def say(message: object) -> None:
        # paths are absolute where code may change the folder
        text = _flags.spelled(str(message).replace(folder, ""), options)
        print(f"{command}: {shown(abridged(text))}", file=sys.stderr)

    @cache  # what is told before a run is told once
    def warn(message: str) -> None:
        say(f"warning: {message}")

    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: warn(str(message))
        try:
            folder = f"{os.getcwd()}{os.sep}"
            with interrupts.told():
                commands = parser()
                if not (sys.argv[1:] if argv is None else argv):
                    commands.print_help()
                    return 0
                args = commands.parse_args(argv)
                interrupts.check()
                command = f"rsbounds {args.command}"
                options = commands.flags_for(args)
                status = args.func(args) or 0
                sys.stdout.flush()
        except BrokenPipeError:  # whoever read our output has seen enough
            _drop_output()
            return 0
        except KeyboardInterrupt:
            say("interrupted; what is written is kept, run it again to go on")
            return 130
        except _ERRORS as error:
            if os.environ.get("RSBOUNDS_TRACEBACK"):
                traceback.print_exc()
            line = _line(error, options)
            if line.startswith(_OUTPUT):
                # what is left of it must not fail again when we leave
                _drop_output()
            say(line)
            return 2
    return status


def _ready_streams() -> None:
    """Keep the numbers of closed streams from files that are opened.

    What can't be encoded is escaped.
    """
    for number, name, mode in (
        (0, "stdin", "r"),
        (1, "stdout", "w"),
        (2, "stderr", "w"),
    ):
        try:
            os.fstat(number)
        except OSError:
            # takes the lowest number that is free: this one
            os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _drop_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _line(error: BaseException, flags: Container[str]) -> str:
    """What an error says, on one line."""
    if isinstance(error, RecursionError):
        return "what was given is nested too deeply to be read"
    if isinstance(error, OSError):
        # a full disk is said of the output: errors of files have names
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        name = error.filename or (_OUTPUT if full else None)
        if name:
            return f"{name}: {error.strerror}"
    return " ".join(_flags.named(error, flags).split()) or type(error).__name__
