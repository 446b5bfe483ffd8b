"""The flags of noise that is drawn exactly, on a grid, and what they ask for."""

import argparse
from functools import partial
from typing import Any

from rsbounds._numerics.errors import ArgumentError
from rsbounds.cli._methods import whole
from rsbounds.noises.grid_noise import LEVELS
from rsbounds.results import Manifest
from rsbounds.results.internal import drawn_on
from rsbounds.schemes import Scheme


def add(parser: Any) -> None:
    """Add the option of noise that is drawn exactly."""
    text = (
        "exact noise on the grid of 1/255: certificates hold for the program, not only "
        "in real "
    )
    parser.add_argument("--sound-noise", action="store_true", help=f"{text}arithmetic")
    parser.add_argument(
        "--grid",
        type=partial(whole, 1),
        default=LEVELS,
        metavar="Q",
        help="with --sound-noise: inputs are multiples of 1/Q (255, 65535, 32767)",
    )


def levels_of(args: argparse.Namespace) -> int | None:
    """The levels of the grid that noise is rounded to; None in floating point."""
    if args.sound_noise:
        return int(args.grid)
    if args.grid != LEVELS:
        raise ArgumentError("grid", "needs --sound-noise")
    return None


def drawn(args: argparse.Namespace, scheme: Scheme) -> Scheme:
    """The scheme as the command line asks for its noise: on a grid, or as it is."""
    levels = levels_of(args)
    if levels is None:
        return scheme
    try:
        return scheme.on_grid(levels)
    except ArgumentError as error:
        name = "sound_noise" if levels == LEVELS else error.name
        raise ArgumentError(name, error.problem) from None


def require_same(args: argparse.Namespace, manifest: Manifest) -> None:
    """ValueError unless the noise is asked for as the file had it."""
    # a run from Python says nothing of its sampler
    had = bool(manifest.engine.get("sound_noise", args.sound_noise))
    if args.sound_noise != had:
        needs = "needs" if had else "takes no"
        raise ValueError(f"--rerun {needs} --sound-noise, as {args.file} had")
    grid = manifest.engine.get("grid", args.grid)
    if args.grid != grid:
        raise ValueError(f"--rerun needs --grid {grid}, as {args.file} had")


def entries(args: argparse.Namespace) -> dict[str, Any]:
    """What the manifest's engine says of it."""
    return {"sound_noise": False, **drawn_on(levels_of(args))}
