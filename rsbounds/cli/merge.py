"""Join the files of several shards.

Join result files of one run into OUT.tsv, in the order of the inputs. Rows that several
files share must be equal (but for their time); their manifests must be equal (but for
their shard). OUT.tsv can be resumed as a run in one piece.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

from rsbounds.results import merge, some


def add_options(parser: Any) -> None:
    parser.add_argument("out", metavar="OUT.tsv", type=Path)
    parser.add_argument("files", metavar="IN.tsv", type=Path, nargs="+")


def run(args: argparse.Namespace) -> None:
    rows, missing = merge(args.out, args.files)
    print(f"{args.out}: {rows} rows from {len(args.files)} files")
    if missing:
        text = f"{rows} of {rows + len(missing)} rows: {some(missing)} missing"
        print(f"rsbounds merge: {text}", file=sys.stderr)
