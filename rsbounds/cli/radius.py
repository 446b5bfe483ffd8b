"""``rsbounds radius``: one radius, with what it was computed from."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np

from rsbounds import anisotropic, gaussian
from rsbounds.results._records import truncated


def add_parser(subparsers: Any) -> None:
    """Add the ``radius`` command."""
    parser = subparsers.add_parser(
        "radius",
        help="one certified radius",
        description="Print one certified radius, cut off and never rounded up, and its inputs.",
    )
    methods = parser.add_subparsers(dest="method", required=True, metavar="METHOD")

    add = _method(methods, "gaussian", _gaussian, "one fixed noise level")
    add("--sigma", type=float, required=True)
    add("--norm", type=float, default=2.0, help="the p of the l_p norm (2; inf is allowed)")
    add("--dim", type=float, help="dimension of the input; needed where the norm is above 2")

    add = _method(methods, "semi-elastic", _semielastic, "log sigma(x) with a bounded rate")
    add("--sigma", type=float, required=True, help="noise level at the input")
    add("--rate", type=float, required=True)
    add("--dim", type=float, required=True, help="dimension of the input")

    add = _method(methods, "lipschitz", _lipschitz, "Lipschitz sigma(x) with a floor")
    add("--sigma", type=float, required=True, help="noise level at the input")
    add("--lip", type=float, required=True)
    add("--sigma-min", type=float, required=True)
    add("--dim", type=float, required=True, help="dimension of the input")
    add("--variant", choices=("exact", "integrated", "paper"), default="exact")
    add("--p-min", type=float, help="floor of the scores, for --variant paper")

    add = _method(methods, "anisotropic", _anisotropic, "a noise level for each coordinate")
    add("--sigma", type=float, required=True, nargs="+", help="noise level of each coordinate")
    add("--norm", type=float, default=2.0, help="the p of the l_p norm (2; inf is allowed)")


def run(args: argparse.Namespace) -> int:
    """Print the radius and its inputs."""
    if args.p_b is not None and args.score is not None:
        raise ValueError("--p-b goes with --p-a, not with --score")
    for name, given in vars(args).items():
        if isinstance(given, float | list) and np.isnan(given).any():
            raise ValueError(f"--{name.replace('_', '-')} must be a number; got nan")
    evidence = (args.score, None) if args.p_a is None else (args.p_a, args.p_b)
    value = args.radius(args, *evidence, scores=args.p_a is None)
    hidden = {"command", "func", "method", "radius"}
    stated = (f"{k}={v}" for k, v in vars(args).items() if k not in hidden and v is not None)
    print(truncated(float(value)), args.method, *stated)
    return 0


def _method(methods: Any, name: str, radius: Callable[..., Any], text: str) -> Callable[..., Any]:
    parser = methods.add_parser(name, help=text, description=f"Certified radius: {text}.")
    top = parser.add_mutually_exclusive_group(required=True)
    top.add_argument(
        "--p-a", type=_evidence(1.0), help="lower bound of the top class's probability"
    )
    top.add_argument(
        "--score", type=_evidence(math.inf), help="the same as a normal score, for those near 1"
    )
    parser.add_argument(
        "--p-b", type=_evidence(0.0), help="upper bound of the runner-up's (1 - p_a)"
    )
    parser.set_defaults(func=run, radius=radius)
    add: Callable[..., Any] = parser.add_argument
    return add


def _evidence(certain: float) -> Callable[[str], float]:
    """Parser of a float that is ``certain`` only where the text says so."""

    def parse(text: str) -> float:
        try:
            value = float(text)
            rounded = value == certain and Decimal(text) != Decimal(value)
        except InvalidOperation:  # an exponent beyond those of Decimal
            rounded = True
        except ValueError:
            raise argparse.ArgumentTypeError(f"invalid float value: {text!r}") from None
        if rounded:
            raise argparse.ArgumentTypeError(
                f"{text} would be rounded to {certain:g}, which is certainty"
            )
        return value

    return parse


def _gaussian(args: argparse.Namespace, p_a: float, p_b: float | None, scores: bool) -> Any:
    return gaussian.radius(p_a, args.sigma, p_b, norm=args.norm, dim=args.dim, scores=scores)


def _semielastic(args: argparse.Namespace, p_a: float, p_b: float | None, scores: bool) -> Any:
    from rsbounds import semielastic

    return semielastic.radius(p_a, args.sigma, args.rate, args.dim, p_b, scores=scores)


def _lipschitz(args: argparse.Namespace, p_a: float, p_b: float | None, scores: bool) -> Any:
    from rsbounds import lipschitz

    return lipschitz.radius(
        p_a,
        args.sigma,
        lip=args.lip,
        sigma_min=args.sigma_min,
        dim=args.dim,
        p_b=p_b,
        method=args.variant,
        p_min=args.p_min,
        scores=scores,
    )


def _anisotropic(args: argparse.Namespace, p_a: float, p_b: float | None, scores: bool) -> Any:
    return anisotropic.radius(p_a, args.sigma, p_b, norm=args.norm, scores=scores)
