"""``rsbounds bench``: time of the special functions beside SciPy's, on this machine."""

from __future__ import annotations

import argparse
from typing import Any


def add_parser(subparsers: Any) -> None:
    """Add the ``bench`` command."""
    parser = subparsers.add_parser(
        "bench",
        help="time the special functions beside SciPy's",
        description="Time the log tail of the noncentral chi-square distribution, the offset of a "
        "ball and SciPy's tail, over dimensions and noncentralities, in microseconds a value of "
        "an array.",
    )
    parser.add_argument(
        "--scipy-limit",
        type=float,
        default=1e9,
        metavar="NC",
        help="largest noncentrality given to SciPy (1e9; more takes longer)",
    )
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Print the table."""
    from rsbounds.bench import machine, table

    rows = table(args.scipy_limit)
    print(machine())
    print(f"{'dim':>7} {'nc':>7} {'log tail':>9} {'offset':>8} {'SciPy sf':>10} {'ratio':>8}")
    for row in rows:
        asked = row.scipy == row.scipy
        print(
            f"{row.dim:7d} {row.nc:7.0e} {row.log_tail:9.3f} {row.offset:8.3f} "
            + (f"{row.scipy:10.3g} {row.scipy / row.log_tail:8.3g}" if asked else f"{'-':>10}")
        )
    times = [row.log_tail for row in rows]
    print(f"microseconds; slowest over fastest log tail: {max(times) / min(times):.1f}")
    return 0
