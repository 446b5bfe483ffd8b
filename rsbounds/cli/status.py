"""``rsbounds status``: how far runs are, and what is missing."""

from __future__ import annotations

import argparse
import json
import math
from datetime import timedelta
from pathlib import Path
from typing import Any

from rsbounds.cli import _runs
from rsbounds.results import Manifest, read_rows


def add_parser(subparsers: Any) -> None:
    """Add the ``status`` command."""
    parser = subparsers.add_parser(
        "status",
        help="how far runs are",
        description="Shards, rows done, rate, time left and missing inputs of result files. Rate "
        "and time are those of one worker, as the rows' own times: of N they are N times better. "
        "Exit status 1 while inputs are missing, or if there are rows of others.",
    )
    parser.add_argument("files", metavar="FILE.tsv", type=Path, nargs="+")
    parser.add_argument("--json", action="store_true", help="print a JSON object")
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Print a line for each file and one for all."""
    found = [_of(path) for path in args.files]
    done = sum(one["rows"] for one in found)
    total = sum(one["rows"] + len(one["missing"]) for one in found)
    status = int(done < total or any(one["foreign"] for one in found))
    if args.json:
        print(json.dumps({"files": found, "rows": done, "of": total}))
        return status
    for one in found:
        expected = one["rows"] + len(one["missing"])
        line = f"{one['file']}: shard {one['shard']}, {one['rows']} of {expected} rows"
        if one["rate"] is not None:
            line += f", {one['rate']:.3g} a second for one worker"
        if one["left"] is not None and one["missing"]:
            line += f", {timedelta(seconds=math.ceil(one['left']))} left for one"
        if one["corrupt"]:
            line += f", {one['corrupt']} inputs left out: they can't be decoded"
        if one["missing"]:
            line += f"; {_runs.some(one['missing'])} missing"
        if one["foreign"]:
            line += f"; {_runs.some(one['foreign'])} do not belong to the run"
        print(line)
    if len(found) > 1:
        print(f"together: {done} of {total} rows")
    return status


def _of(path: Path) -> dict[str, Any]:
    manifest, rows = Manifest.read(path), read_rows(path)
    done = {row.idx for row in rows}
    missing, foreign = manifest.places(done)
    seconds = sum(row.seconds for row in rows)
    rate = len(rows) / seconds if seconds > 0 else None
    return {
        "file": str(path),
        "shard": manifest.shard,
        "rows": len(done) - len(foreign),
        "rate": rate,
        "left": len(missing) / rate if rate else None,
        "missing": missing,
        "foreign": foreign,
        "corrupt": len(manifest.corrupt() - done),
    }
