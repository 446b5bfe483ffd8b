"""Join the files of several shards.

Join result files of one run into OUT.tsv, in the order of the inputs. Rows that several
files share must be equal (but for their time); their manifests must be equal (but for
their shard). OUT.tsv can be resumed as a run in one piece. Files of other tools, which
have no manifests, must have the same columns and no input twice; nothing else of them
is compared.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

from rsbounds._numerics.text import named_inputs
from rsbounds.cli._output import Told, add_json, show
from rsbounds.cli._reading import add_columns
from rsbounds.results import merge
from rsbounds.results.internal import manifest_path


def add_options(parser: Any) -> None:
    """Add the options of ``rsbounds merge``."""
    add = parser.add_argument
    add("out", metavar="OUT.tsv", type=Path, help="the joined file, which is new")
    add("files", metavar="IN.tsv", type=Path, nargs="+", help="files of one run")
    add_columns(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> None:
    """Run ``rsbounds merge``."""
    rows, missing = merge(args.out, args.files, columns=args.columns)
    line = f"{args.out}: {rows} rows from {len(args.files)} files"
    is_compared = manifest_path(args.out).exists()
    entries = {
        "out": str(args.out),
        "rows": rows,
        "files": len(args.files),
        "compared": is_compared,
    }
    if not is_compared:
        line += "; without manifests, so only columns and inputs were compared"
    show(args, [Told(line, entries), Told("", {"missing": missing})])
    if missing:
        text = f"{rows} of {rows + len(missing)} rows: {named_inputs(missing)} missing"
        print(f"rsbounds merge: {text}", file=sys.stderr)
