"""``rsbounds demo``: real digits certified in five ways, from training to the curves."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from rsbounds import results
from rsbounds._numerics.checks import real, whole


def add_parser(subparsers: Any) -> None:
    """Add the ``demo`` command."""
    parser = subparsers.add_parser(
        "demo",
        help="train a small network on real digits and certify it in five ways",
        description="Trains a small network on MNIST digits under Gaussian noise and certifies "
        "held-out digits with standard smoothing, with a semi-elastic and with a Lipschitz "
        "noise level. Needs no network, and one or two minutes on two cores (extra: demo).",
    )
    parser.add_argument("--out", type=Path, default=Path("rsbounds-demo"), metavar="DIR")
    parser.add_argument("--seed", type=int, default=0, help="of training and noise (%(default)s)")
    parser.add_argument("--count", type=int, default=200, help="digits to certify (%(default)s)")
    parser.add_argument("--n", type=int, default=2000, help="samples for a digit (%(default)s)")
    parser.add_argument(
        "--alpha",
        type=float,
        default=0.001,
        help="probability of a wrong certificate (%(default)s)",
    )
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Train, certify, and show the three results side by side."""
    whole("--n", args.n, 1)
    real("--alpha", args.alpha, 0, 1, closed="neither", nan=False)
    try:
        import torch  # noqa: F401
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "the demo needs torch; install what it needs with: "
            "pip install torch tqdm matplotlib mlxtend"
        ) from None
    from rsbounds import demo

    args.out.mkdir(parents=True, exist_ok=True)
    files = demo.run(args.out, seed=args.seed, count=args.count, n=args.n, alpha=args.alpha)
    runs = [results.read(path) for path in files]
    print(f"\n{results.table(runs)}\n")
    results.plot(runs, args.out / "curves.png")
    print(f"Result files, manifests and curves.png are in {args.out}/")
    return 0
