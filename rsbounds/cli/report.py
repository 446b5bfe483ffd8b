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

from rsbounds import reports, results
from rsbounds._numerics.errors import ArgumentError
from rsbounds._numerics.files import require_writable
from rsbounds.answers import Flag
from rsbounds.answers.internal import read_truth
from rsbounds.cli._methods import numbers
from rsbounds.cli._output import say_written
from rsbounds.cli._reading import add_reading, reader
from rsbounds.reports.internal import (
    MARK,
    PICTURE,
    STYLES,
    TABLE,
    TABLES,
    are_maps,
    as_files,
    board,
    card_places,
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
        choices=STYLES,
        default="text",
        help="how the table is printed (text)",
    )
    add(
        "--classes",
        action="store_true",
        help="rows for every class too, and for their spread",
    )
    text = "each share with its interval of 95 %%, for inputs drawn at random"
    add("--interval", action="store_true", help=text)
    text = "mean and spread of files that differ in seedN in their names"
    add("--seeds", action="store_true", help=text)
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
    add("--plot", metavar="FILE.png", help="draw the curves, or maps (extra: plot)")
    text = "of maps: the true ones, for the positions that are wrong in --plot"
    add("--truth", metavar="FILE.npy", type=Path, help=text)
    add(
        "--html",
        metavar="FILE.html",
        help="one self-contained page to look at (extra: plot)",
    )
    text = "a card of one file, with what verify proves, and FILE.md (extra: plot)"
    add("--card", metavar="FILE.json", help=text)
    add_reading(parser)
    add("--json", action="store_true", help="print a JSON object")


def run(args: argparse.Namespace) -> int:
    """Print the table, draw the curves, write the page; say what was written."""
    if any(path.endswith(".json") for path in args.files):
        return _cards(args)
    table = _placed(args)
    files = [reader(args)(path) for path in args.files]
    # all that may be refused comes first: what is printed or written is whole
    text = _text(args, files)
    _require_drawable(args, files)
    made, why = None, ""
    if args.card is not None:
        made, why = _card(args, files)
    for path, mark in ((args.plot, PICTURE), (args.html, MARK), (table, TABLE)):
        if path is not None:
            require_writable(path, mark)
    if args.plot is not None:
        _plot(args, files)  # which may refuse a file of flags
    _show(args, files, text, table)
    if args.plot is not None:
        say_written(args, "the plot", picture_path(args.plot))
    if args.html is not None:
        reports.html(files, args.html)
        say_written(args, "the page", args.html)
    if made is not None:
        markdown = reports.write_card(made, args.card)
        say_written(args, f"the card{why}", args.card, markdown)
    return 0


def _are_flags(files: Sequence[results.Results]) -> bool:
    """Whether a plot is over thresholds: of one file of flags."""
    return len(files) == 1 and files[0].answer == Flag.name


def _require_drawable(
    args: argparse.Namespace, files: Sequence[results.Results]
) -> None:
    if args.plot is not None and not _are_flags(files) and not are_maps(files):
        with_accuracies(files)
    if args.truth is not None and not (args.plot is not None and are_maps(files)):
        raise ArgumentError("truth", "goes with --plot of one file of maps")
    if args.plot is not None or args.html is not None:
        as_files(files, rows=True)


def _plot(args: argparse.Namespace, files: Sequence[results.Results]) -> None:
    if _are_flags(files):
        reports.plot_flags(files[0], args.plot)
    else:
        truth = None if args.truth is None else read_truth(args.truth)
        reports.plot(files, args.plot, truth=truth)


def _text(args: argparse.Namespace, files: Sequence[results.Results]) -> str:
    """The table of files, or their JSON."""
    if args.json:
        return json.dumps([reports.summary(file, args.radii) for file in files])
    return reports.table(
        files,
        args.radii,
        style=args.style,
        classes=args.classes,
        notes=args.notes,
        interval=args.interval,
        seeds=args.seeds,
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
    card_places(args.card)
    verified: dict[str, Any] | None = None
    why = ", not verified: the file has no manifest"
    if files[0].manifest is not None:
        try:
            from rsbounds import audit  # loaded where a card asks for it

            verified = audit.verify(args.files[0]).on_card(args.files[0])
            why = ""
        except (ImportError, ValueError) as error:
            why = f", not verified: {error}"
    made = reports.card(files[0], args.radii, verified=verified)
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
    for name in ("radii", "classes", "plot", "card", "columns", "norm"):
        if getattr(args, name):
            raise ValueError(f"--{name} takes result files; got {card}, a card")
    cards = [reports.read_card(path) for path in args.files]
    if not (args.json or args.html):
        raise ValueError(
            "cards are shown side by side as a page: give --html FILE.html"
        )
    if args.json:
        print(json.dumps(cards))
    if args.html is not None:
        checked = [_is_checked(*pair) for pair in zip(cards, args.files, strict=True)]
        board(cards, args.html, checked=checked)
        say_written(args, "the page", args.html)
    return 0


def _is_checked(card: dict[str, Any], path: str) -> bool:
    """Whether the card's result file lies beside it and gives all of it again."""
    from rsbounds import audit  # loaded where a card asks for it

    place = Path(path)
    if Path(card["name"]).name != card["name"]:
        return False  # of another folder
    try:
        return not audit.check_card(card, place.with_name(card["name"]))
    except (ImportError, ValueError, OSError):
        return False
