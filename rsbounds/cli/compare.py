"""Two runs on the same inputs: which certifies more, and could it be chance.

Pair the rows of two certification files by input. At each radius: certified accuracies,
the inputs that one of the two certifies, McNemar's exact two-sided p, and p by Holm's
method for all radii asked. The difference of average certified radii has a 95 %
interval by the paired bootstrap-t. Files of other inputs, labels or norms are refused;
notes tell where selections, terms or scopes differ.
"""

import argparse
import json
import sys
from typing import Any

from rsbounds import results
from rsbounds._numerics.files import require_writable
from rsbounds.cli._methods import numbers
from rsbounds.cli._output import add_json, say_written
from rsbounds.results import MARK, PICTURE, compared, picture_path


def add_options(parser: Any) -> None:
    """Add the options of ``rsbounds compare``."""
    add = parser.add_argument
    add("a", metavar="A.tsv", help="a result file")
    add("b", metavar="B.tsv", help="another one, of the same inputs")
    add(
        "--radii",
        type=numbers,
        metavar="R,R,...",
        help="where to compare certified accuracies; choose them before looking "
        "(round radii)",
    )
    add(
        "--style",
        choices=results.STYLES,
        default="text",
        help="how the table is printed (text)",
    )
    text = "draw the difference over the radius, with its band (extra: plot)"
    add("--plot", metavar="FILE.png", help=text)
    text = "the page that report writes, of both files"
    add("--html", metavar="FILE.html", help=text)
    text = "resamples of the bootstrap (%(default)s)"
    add("--draws", type=int, default=10_000, metavar="K", help=text)
    add("--seed", type=int, default=0, help="of the bootstrap (%(default)s)")
    add_json(parser)


def run(args: argparse.Namespace) -> None:
    """Print the comparison, draw it, write the page."""
    a, b = results.read(args.a), results.read(args.b)
    comparison = results.compare(a, b, args.radii, draws=args.draws, seed=args.seed)
    # what may be refused comes before anything is printed or written
    for path, mark in ((args.plot, PICTURE), (args.html, MARK)):
        if path is not None:
            require_writable(path, mark)
    if args.json:
        print(json.dumps(comparison.summary()))
    else:
        print(compared(comparison, style=args.style))
    if args.style == "csv" and not args.json:
        for note in comparison.notes:
            print(note, file=sys.stderr)
    if args.plot is not None:
        results.plot_difference(comparison, args.plot)
        say_written(args, "the plot", picture_path(args.plot))
    if args.html is not None:
        results.html([a, b], args.html)
        say_written(args, "the page", args.html)
