"""Train a small network on digits and certify it in five ways.

Train a small network on MNIST digits under Gaussian noise and certify held-out digits
with fixed noise, with a decision list, with a semi-elastic and with a Lipschitz noise
level. Takes one to four minutes on two cores, offline (extra: demo).
"""

import argparse
from pathlib import Path
from typing import Any

from rsbounds import reports, results
from rsbounds._numerics.extras import need


def add_options(parser: Any) -> None:
    """Add the options of ``rsbounds demo``."""
    add = parser.add_argument
    add(
        "--out",
        type=Path,
        default=Path("rsbounds-demo"),
        metavar="DIR",
        help="folder to write to (%(default)s)",
    )
    add("--seed", type=int, default=0, help="of training and noise (%(default)s)")
    add("--count", type=int, default=200, help="digits to certify (%(default)s)")
    add("--n", type=int, default=2000, help="samples for a digit (%(default)s)")
    add("--alpha", type=float, default=0.001, help="probability of error (%(default)s)")


def run(args: argparse.Namespace) -> None:
    """Train, certify, and show the results side by side."""
    for module in ("mlxtend", "torch"):
        need(module, "the demo")
    from rsbounds import demo

    args.out.mkdir(parents=True, exist_ok=True)
    files = demo.run(
        args.out, seed=args.seed, count=args.count, n=args.n, alpha=args.alpha
    )
    runs = [results.read(path) for path in files]
    print(f"\n{reports.table(runs)}\n")
    table = reports.table(runs, style="markdown")
    (args.out / "table.md").write_text(f"{table}\n", encoding="utf-8")
    reports.plot(runs, args.out / "curves.png")
    print(
        f"Result files with their manifests, table.md and curves.png are in {args.out}/"
    )
