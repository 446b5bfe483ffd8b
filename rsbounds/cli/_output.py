"""What a command found, as text and as JSON: one list of statements gives both."""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rsbounds._numerics.json_files import as_json
from rsbounds._numerics.text import shown


class Told(NamedTuple):
    """One statement: a line of text ("" for none), and the entries that say the same.

    A list of entries is added to one of the same name before it.
    """

    text: str
    entries: Mapping[str, Any]


def add_json(parser: Any) -> None:
    """Add ``--json``."""
    parser.add_argument("--json", action="store_true", help="print a JSON object")


def show(args: argparse.Namespace, told: Sequence[Told]) -> None:
    """Print statements as lines, or as one object."""
    if not args.json:
        for statement in told:
            if statement.text:
                print(shown(statement.text))
        return
    entries: dict[str, Any] = {}
    for statement in told:
        for name, value in statement.entries.items():
            before = entries.get(name)
            if isinstance(before, list) and isinstance(value, list):
                entries[name] = [*before, *value]
            else:
                entries[name] = value
    print(json.dumps(as_json(entries)))


def say_written(args: argparse.Namespace, what: str, *places: object) -> None:
    """Say which files were written; on standard error if a program may read the output.

    The command has ``--style`` and ``--json``.
    """
    for_people = args.style == "text" and not args.json
    text = f"{', '.join(map(str, places))}: {what}"
    print(shown(text), file=sys.stdout if for_people else sys.stderr)
