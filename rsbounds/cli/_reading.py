"""How the commands read files that no manifest describes."""

import argparse
import math
from contextlib import suppress
from functools import partial
from typing import Any

from rsbounds import results
from rsbounds.certificate import Norm
from rsbounds.results import Results

_NORMS = {"l1": 1.0, "l2": 2.0, "linf": math.inf}


def add_columns(parser: Any) -> None:
    """Add the option that names columns of other tools' files."""
    parser.add_argument(
        "--columns",
        type=_columns,
        metavar="NAME=COLUMN,...",
        help="without a manifest: the file's names of the field's columns, such as "
        "radius=radius_L2,count=raw_count; idx=# numbers the rows",
    )


def add_reading(parser: Any) -> None:
    """Add the options of files without a manifest."""
    add_columns(parser)
    parser.add_argument(
        "--norm",
        type=_norm,
        metavar="NORM",
        help="without a manifest: the norm of the radii, l1, l2, linf or a number (l2)",
    )


def reader(args: argparse.Namespace) -> partial[Results]:
    """The reader of result files under these options."""
    return partial(results.read, columns=args.columns, norm=args.norm)


def _columns(text: str) -> dict[str, str]:
    pairs = [pair.partition("=") for pair in text.split(",")]
    names = [name for name, _, _ in pairs]
    if not all(name and column for name, _, column in pairs) or len(set(names)) < len(
        names
    ):
        raise argparse.ArgumentTypeError(
            f"must be NAME=COLUMN,..., such as radius=radius_L2; got {text!r:.60}"
        )
    return {name: column for name, _, column in pairs}


def _norm(text: str) -> float | str:
    if text in _NORMS:
        return _NORMS[text]
    with suppress(ValueError):
        return Norm.of(float(text)).spelled
    try:
        return Norm.of(text).spelled
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"must be l1, l2, linf, a number >= 1 or a norm's name; got {text!r:.60}"
        ) from None
