"""``rsbounds merge``: join the files of several shards into one."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from rsbounds.results._records import (
    Row,
    differences,
    manifest_path,
    read_manifest,
    read_rows,
    write,
)


def add_parser(subparsers: Any) -> None:
    """Add the ``merge`` command."""
    parser = subparsers.add_parser(
        "merge",
        help="join the files of several shards",
        description="Join result files of one run into OUT.tsv, in the order of the inputs. "
        "Rows that several files share must be equal (but for their time); their manifests "
        "must be equal (but for their shard). OUT.tsv can be resumed as a run in one piece.",
    )
    parser.add_argument("out", metavar="OUT.tsv", type=Path)
    parser.add_argument("files", metavar="IN.tsv", type=Path, nargs="+")
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Join the files."""
    if args.out.exists() or manifest_path(args.out).exists():
        raise ValueError(f"{args.out} exists: choose another output file")
    first = None
    merged: dict[int, tuple[Row, Path]] = {}
    for path in args.files:
        manifest = {**read_manifest(path), "shard": "0/1"}
        first = first or manifest
        found = differences(first, manifest)
        if found:
            raise ValueError(f"{path} is not of the run of {args.files[0]}: {'; '.join(found)}")
        for row in read_rows(path):
            other, source = merged.setdefault(row.idx, (row, path))
            if replace(other, time=row.time) != row:
                raise ValueError(f"{path} and {source} disagree on input {row.idx}")
    assert first is not None
    rows = [merged[idx][0] for idx in sorted(merged)]
    write(args.out, first, rows)
    print(f"{args.out}: {len(rows)} rows from {len(args.files)} files")
    return 0
