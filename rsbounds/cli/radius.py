"""One certified radius.

Print one certified radius, cut off and never rounded up, and its inputs.
"""

import argparse
import json
import math
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any

import numpy as np

from rsbounds._numerics.decimals import truncated
from rsbounds._numerics.json_files import as_json
from rsbounds.cli import _flags, _methods
from rsbounds.confidence import lower_bound, pair_bounds
from rsbounds.schemes import METHODS, Scheme


def add_options(parser: Any) -> None:
    """Add the options of ``rsbounds radius``."""
    parser.add_commands("method", "METHOD")
    for name in filter(METHODS.is_own, METHODS):
        _add_method(parser, METHODS[name])
    parser.prepare = partial(_prepare, parser)


def _prepare(parser: Any, words: list[str]) -> list[str]:
    """Prepare the words, of which the first may be another package's method.

    Its code is loaded when it is named.
    """
    name = words[0] if words else ""
    if name.startswith("--") and not "--help".startswith(name):
        parser.error(f"METHOD comes before {name}, as in rsbounds radius gaussian ...")
    if name in METHODS and not METHODS.is_own(name):
        _add_method(parser, METHODS[name])
    return words


def _add_method(parser: Any, scheme: type[Scheme]) -> None:
    if not scheme.inputs:
        return
    method = parser.add_command(
        scheme.name,
        help=scheme.help,
        description=f"Certified radius: {scheme.help}.",
    )
    _evidence(method)
    for option in scheme.inputs:
        _methods.add(method, option, required=option.default is ...)
    method.add_argument("--json", action="store_true", help="print a JSON object")


def _evidence(parser: Any) -> None:
    top = parser.add_choice()
    add = top.add_argument
    add(
        "--p-a",
        type=partial(_number, 1.0),
        help="lower bound of the top class's probability",
    )
    add(
        "--score",
        type=partial(_number, math.inf),
        help="the same as a normal score, for probabilities near 1",
    )
    add("--count", type=int, help="samples that fell on the top class, of --n")
    add = parser.add_argument
    add(
        "--p-b",
        type=partial(_number, 0.0),
        help="upper bound of the runner-up's (1 - p_a)",
    )
    add("--count-b", type=int, help="samples that fell on the runner-up (all the rest)")
    add("--n", type=int, help="samples drawn, with --count")
    add("--alpha", type=float, help="probability of error, with --count")


def _number(certain: float, text: str) -> float:
    """Read a float that is ``certain`` only where the text says so.

    Rounding must not make it so.
    """
    try:
        value = float(text)
        rounded = value == certain and Decimal(text) != Decimal(value)
    except InvalidOperation:  # an exponent beyond those of Decimal
        rounded = True
    except ValueError:
        raise argparse.ArgumentTypeError(f"invalid float value: {text!r}") from None
    if rounded:
        certainty = f"{certain:g}, which is certainty"
        raise argparse.ArgumentTypeError(f"{text} would be rounded to {certainty}")
    return value


def run(args: argparse.Namespace) -> None:
    """Run ``rsbounds radius``."""
    hidden = ("command", "func", "method", "json")
    arguments = {}
    for name, value in vars(args).items():
        if name not in hidden and value is not None:
            arguments[name] = value
    for name, value in arguments.items():
        if isinstance(value, float | list) and np.isnan(value).any():
            raise ValueError(f"{_flags.flag(name)} must be a number; got nan")
    radius = truncated(float(METHODS[args.method].evaluate(vars(args), *_bounds(args))))
    if args.json:
        entries = {name: as_json(value) for name, value in arguments.items()}
        print(json.dumps({"radius": radius, "method": args.method, **entries}))
    else:
        print(radius, args.method, *(f"{n}={value}" for n, value in arguments.items()))


def _bounds(args: argparse.Namespace) -> tuple[Any, Any, bool]:
    """What the evidence says of p_a and p_b, and whether as scores."""
    if args.p_b is not None and args.p_a is None:
        raise ValueError("--p-b goes with --p-a, not with --score or --count")
    for name in ("n", "alpha", "count_b"):
        value = getattr(args, name)
        if args.count is None and value is not None:
            raise ValueError(f"{_flags.flag(name)} goes with --count")
        if args.count is not None and value is None and name != "count_b":
            raise ValueError(f"--count needs {_flags.flag(name)}")
    if args.p_a is not None:
        return args.p_a, args.p_b, False
    if args.count is None:
        return args.score, None, True
    if args.count_b is None:
        z_a = lower_bound(args.count, args.n, args.alpha, scores=True)
        return z_a, None, True
    z_a, z_b = pair_bounds(args.count, args.count_b, args.n, args.alpha, scores=True)
    return z_a, z_b, True
