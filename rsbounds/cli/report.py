"""Certified accuracy of certification files, side by side.

Accuracy of the smoothed classifier, abstention, average certified radius (ACR) and certified
accuracy of certification files: those of rsbounds certify or any with the columns idx label
predict radius correct. A file whose run is not finished has a note of how far it is.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from rsbounds import answers, results


def add_options(parser: Any) -> None:
    """Add the options."""
    add = parser.add_argument
    add("files", nargs="+", metavar="FILE.tsv")
    add("--radii", type=_radii, metavar="R,R,...", help="where to show certified accuracy")
    add("--style", choices=results.STYLES, default="text")
    add("--classes", action="store_true", help="rows for every class too, and for their spread")
    add("--plot", metavar="FILE.png", help="draw the curves (extra: plot)")
    add("--html", metavar="FILE.html", help="one self-contained page to look at (extra: html)")
    add("--json", action="store_true", help="print a JSON object")


def run(args: argparse.Namespace) -> int:
    """Print the table, draw the curves, write the page."""
    files = [results.read(path) for path in args.files]
    own = [answers.report(file) for file in files]
    if not args.json:
        print(*(text for text in own if text), sep="\n\n", end="\n" if any(own) else "")
    files = [file for file, text in zip(files, own, strict=True) if args.json or not text]
    if not files:
        return 0
    if args.json:
        print(json.dumps([results.summary(file, args.radii) for file in files]))
    else:
        print(results.table(files, args.radii, style=args.style, classes=args.classes))
    if args.style == "csv" or args.json:
        for file in files:
            for note in file.notes():
                print(f"{file.name}: {note}", file=sys.stderr)
    if args.plot is not None:
        results.plot(files, args.plot)
    if args.html is not None:
        results.html(files, args.html)
    return 0


def _radii(text: str) -> list[float]:
    try:
        radii = [float(r) for r in text.split(",")]
    except ValueError:
        radii = []
    if not radii or not all(r >= 0 for r in radii):
        raise argparse.ArgumentTypeError(f"expected numbers >= 0 separated by commas; got {text!r}")
    return radii
