"""Two runs on the same inputs: which certifies more, and could it be chance.

Pair the rows of two certification files by input. At each radius: certified accuracies,
the inputs that one of the two certifies, McNemar's exact two-sided p, and p by Holm's
method for all radii asked. The difference of average certified radii has a 95 %
interval by bets on the mean of differences. It needs the largest radius that the runs
could certify: manifests say it for noise that is the same at every input, otherwise
give --most. Files of other inputs, labels or norms are refused; notes tell where
selections, terms or scopes differ.
"""

import argparse
import json
import sys
from typing import Any

from rsbounds import reports
from rsbounds._numerics.files import require_writable
from rsbounds.cli._methods import numbers
from rsbounds.cli._output import add_json, say_written
from rsbounds.cli._reading import add_reading, reader
from rsbounds.reports.internal import (
    MARK,
    PICTURE,
    STYLES,
    compared,
    picture_path,
    plot_difference,
)


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
        choices=STYLES,
        default="text",
        help="how the table is printed (text)",
    )
    text = "draw the difference over the radius, with its band (extra: plot)"
    add("--plot", metavar="FILE.png", help=text)
    text = "the page that report writes, of both files (extra: plot)"
    add("--html", metavar="FILE.html", help=text)
    text = "the largest radius that the runs could certify (by the manifests)"
    add("--most", type=float, metavar="R", help=text)
    add_reading(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> None:
    """Print the comparison, draw it, write the page."""
    a, b = map(reader(args), (args.a, args.b))
    comparison = reports.compare(a, b, args.radii, most=args.most)
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
        plot_difference(comparison, args.plot)
        say_written(args, "the plot", picture_path(args.plot))
    if args.html is not None:
        reports.html([a, b], args.html)
        say_written(args, "the page", args.html)
