"""Certified accuracy of certification files, side by side.

Accuracy of the smoothed classifier, abstention, average certified radius (ACR) and
certified accuracy of certification files: those of rsbounds certify or any with the
columns idx label predict radius correct. A file whose run is not finished has a note of
how far it is. Cards (FILE.json) are put side by side in one page (--html).
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rsbounds import audit, results
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.files import require_writable
from rsbounds.cli._methods import numbers
from rsbounds.cli._output import say_written
from rsbounds.results import (
    MARK,
    PICTURE,
    TABLE,
    TABLES,
    as_files,
    picture_path,
    require_card,
    with_accuracies,
    write_table,
)


def add_options(parser: Any) -> None:
    """Add the options of ``rsbounds report``."""
    add = parser.add_argument
    add(
        "files",
        nargs="+",
        metavar="FILE.tsv",
        help="result files, side by side; or cards (FILE.json)",
    )
    add(
        "--radii",
        type=numbers,
        metavar="R,R,...",
        help="where to show certified accuracy (round radii)",
    )
    add(
        "--style",
        choices=results.STYLES,
        default="text",
        help="how the table is printed (text)",
    )
    add(
        "--classes",
        action="store_true",
        help="rows for every class too, and for their spread",
    )
    add(
        "--no-notes",
        dest="notes",
        action="store_false",
        help="no footnotes and no marks; in LaTeX they are comments",
    )
    add(
        "--out",
        metavar="FILE",
        help="a table (.tex, .md), a plot (.pdf, .svg, .png) or a page (.html), by its "
        "ending",
    )
    add("--plot", metavar="FILE.png", help="draw the curves (extra: plot)")
    add(
        "--html",
        metavar="FILE.html",
        help="one self-contained page to look at",
    )
    text = "a card of one file, with what verify proves: this, and FILE.md beside it"
    add("--card", metavar="FILE.json", help=text)
    add("--json", action="store_true", help="print a JSON object")


def run(args: argparse.Namespace) -> int:
    """Print the table, draw the curves, write the page; say what was written."""
    if any(path.endswith(".json") for path in args.files):
        return _cards(args)
    table = _placed(args)
    files = [results.read(path) for path in args.files]
    # all that may be refused comes first: what is printed or written is whole
    text = _text(args, files)
    if args.plot is not None:
        with_accuracies(files)
    if args.plot is not None or args.html is not None:
        as_files(files, rows=True)
    made, why = None, ""
    if args.card is not None:
        made, why = _card(args, files)
    for path, mark in ((args.plot, PICTURE), (args.html, MARK), (table, TABLE)):
        if path is not None:
            require_writable(path, mark)
    _show(args, files, text, table)
    if args.plot is not None:
        results.plot(files, args.plot)
        say_written(args, "the plot", picture_path(args.plot))
    if args.html is not None:
        results.html(files, args.html)
        say_written(args, "the page", args.html)
    if made is not None:
        markdown = results.write_card(made, args.card)
        say_written(args, f"the card{why}", args.card, markdown)
    return 0


def _text(args: argparse.Namespace, files: Sequence[results.Results]) -> str:
    """The table of files, or their JSON."""
    if args.json:
        return json.dumps([results.summary(file, args.radii) for file in files])
    return results.table(
        files,
        args.radii,
        style=args.style,
        classes=args.classes,
        notes=args.notes,
    )


def _show(
    args: argparse.Namespace,
    files: Sequence[results.Results],
    text: str,
    table: str | None,
) -> None:
    """Print the text, or write it where a table goes; notes where it has no room."""
    if table is None:
        print(text)
    else:
        write_table(text, table)
        say_written(args, "the table", table)
    if args.style == "csv" or args.json:
        for file in files:
            for note in file.notes():
                print(f"{file.name}: {note}", file=sys.stderr)


def _placed(args: argparse.Namespace) -> str | None:
    """Take ``--out`` for the option of its ending; return the place of a table."""
    if args.out is None:
        return None
    ending = Path(args.out).suffix
    if ending == ".html" and args.html is None:
        args.html = args.out
    elif ending in (".pdf", ".svg", ".png") and args.plot is None:
        args.plot = args.out
    elif ending in TABLES and not args.json:
        args.style = TABLES[ending]
        return str(args.out)
    else:
        text = "must end in .tex, .md, .pdf, .svg, .png or .html, and say it once"
        raise ArgumentError("out", f"{text}; got {args.out}")
    return None


def _card(
    args: argparse.Namespace, files: Sequence[results.Results]
) -> tuple[dict[str, Any], str]:
    """The card of one file, audited where that can be done; why not, if it isn't."""
    if len(args.files) > 1:
        raise ValueError(
            f"--card takes one result file; got {len(args.files)}: make a card of each"
        )
    results.card_places(args.card)
    verified: dict[str, Any] | None = None
    why = ", not verified: the file has no manifest"
    if files[0].manifest is not None:
        try:
            verified = audit.verified(audit.verify(args.files[0]), args.files[0])
            why = ""
        except (ImportError, ValueError) as error:
            why = f", not verified: {error}"
    made = results.card(files[0], args.radii, verified=verified)
    require_card(made)
    return made, why


def _cards(args: argparse.Namespace) -> int:
    card = next(path for path in args.files if path.endswith(".json"))
    if other := [path for path in args.files if not path.endswith(".json")]:
        raise ValueError(
            f"{other[0]} is a result file and {card} a card: give one kind, or make a "
            "card of it with --card"
        )
    if args.out is not None:
        args.html = args.html or args.out
    for name in ("radii", "classes", "plot", "card"):
        if getattr(args, name):
            raise ValueError(f"--{name} takes result files; got {card}, a card")
    cards = [results.read_card(path) for path in args.files]
    if not (args.json or args.html):
        raise ValueError(
            "cards are shown side by side as a page: give --html FILE.html"
        )
    if args.json:
        print(json.dumps(cards))
    if args.html is not None:
        checked = [_is_checked(*pair) for pair in zip(cards, args.files, strict=True)]
        results.board(cards, args.html, checked=checked)
        say_written(args, "the page", args.html)
    return 0


def _is_checked(card: dict[str, Any], path: str) -> bool:
    """Whether the card's result file lies beside it and gives all of it again."""
    place = Path(path)
    if Path(card["name"]).name != card["name"]:
        return False  # of another folder
    try:
        return not audit.check_card(card, place.with_name(card["name"]))
    except (ImportError, ValueError, OSError):
        return False
