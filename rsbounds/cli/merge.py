"""Join the files of several shards.

Join result files of one run into OUT.tsv, in the order of the inputs. Rows that several
files share must be equal (but for their time); their manifests must be equal (but for
their shard). OUT.tsv can be resumed as a run in one piece.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

from rsbounds.cli._output import Told, add_json, show
from rsbounds.results import merge, some


def add_options(parser: Any) -> None:
    """Add the options of ``rsbounds merge``."""
    add = parser.add_argument
    add("out", metavar="OUT.tsv", type=Path, help="the joined file, which is new")
    add("files", metavar="IN.tsv", type=Path, nargs="+", help="files of one run")
    add_json(parser)


def run(args: argparse.Namespace) -> None:
    """Run ``rsbounds merge``."""
    rows, missing = merge(args.out, args.files)
    line = f"{args.out}: {rows} rows from {len(args.files)} files"
    entries = {"out": str(args.out), "rows": rows, "files": len(args.files)}
    show(args, [Told(line, entries), Told("", {"missing": missing})])
    if missing:
        text = f"{rows} of {rows + len(missing)} rows: {some(missing)} missing"
        print(f"rsbounds merge: {text}", file=sys.stderr)
