"""The command line: one module for each command, with ``add_parser`` and a function to run.

Bad input gives one line on standard error and exit status 2.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any, NoReturn

import rsbounds
from rsbounds.cli import (
    bench,
    certify,
    demo,
    merge,
    pmin,
    radius,
    recertify,
    report,
    status,
    verify,
)

_COMMANDS = (demo, certify, report, merge, status, verify, recertify, radius, pmin, bench)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


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

    Examples
    --------
    >>> from rsbounds.cli import main
    >>> main(["radius", "gaussian", "--score", "2", "--sigma", "0.25"])  # doctest: +ELLIPSIS
    0.49999999999999... gaussian score=2.0 sigma=0.25 norm=2.0
    0
    """
    parser = _Parser(prog="rsbounds", description=rsbounds.__doc__)
    parser.add_argument("--version", action="version", version=f"rsbounds {rsbounds.__version__}")
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in _COMMANDS:
        command.add_parser(subparsers)
    args = parser.parse_args(argv)

    def say(message: object) -> None:
        print(f"rsbounds {args.command}: {message}", file=sys.stderr)

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        say(f"warning: {message}")

    with warnings.catch_warnings():
        warnings.showwarning = show
        try:
            status: int = args.func(args)
            sys.stdout.flush()
        except BrokenPipeError:  # whoever read our output has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        except KeyboardInterrupt:
            return 130
        except (ValueError, OSError, MemoryError, ImportError) as error:
            say(_line(error))
            return 2
    return status


def _line(error: BaseException) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__
