"""Options of ``rsbounds certify`` that hand the work to other processes or to a cluster."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from rsbounds._numerics.checks import real, whole
from rsbounds.certify import Build
from rsbounds.cli import _options
from rsbounds.cluster import Processes, Ray, Workers


def add(parser: argparse.ArgumentParser) -> None:
    """The options."""
    add = parser.add_argument_group("workers").add_argument
    add(
        "--processes",
        type=int,
        metavar="N",
        help="certify in N processes of this machine, each with the model; this one writes",
    )
    add(
        "--devices",
        metavar="0,1,...",
        help="GPUs of this machine, one for each process",
    )
    add(
        "--ray",
        nargs="?",
        const="",
        metavar="ADDRESS",
        help="certify on a Ray cluster: HOST:PORT, ray://HOST:PORT or auto; without an address "
        "that in RAY_ADDRESS, else one of this machine alone",
    )
    add("--workers", type=int, metavar="N", help="Ray's workers (as many as there is room for)")
    add(
        "--gpus-per-worker",
        type=float,
        metavar="G",
        help="GPUs of each of Ray's workers, .5: two share one (1 with --device cuda, else 0)",
    )
    add(
        "--threads",
        type=int,
        metavar="T",
        help="threads of the forward passes in each process (one worker of N: the cores "
        "divided by N; Ray's: 1)",
    )


def check(args: argparse.Namespace) -> None:
    """ValueError before anything is loaded; a GPU that is named is used."""
    for name in ("processes", "workers", "threads"):
        if getattr(args, name) is not None:
            whole(f"--{name}", getattr(args, name), 1)
    if args.gpus_per_worker is not None:
        real("--gpus-per-worker", args.gpus_per_worker, 0, nan=False)
    if args.ray is None:
        for name in ("workers", "gpus_per_worker"):
            if getattr(args, name) is not None:
                raise ValueError(f"{_options.flag(name)} goes with --ray")
    elif args.processes is not None or args.devices is not None:
        raise ValueError("--ray has workers of its own: --processes and --devices don't go with it")
    on_gpus = args.devices is not None or bool(args.gpus_per_worker)
    if on_gpus and args.device is None:
        args.device = "cuda"
    if on_gpus and args.device != "cuda":
        raise ValueError(f"workers with GPUs of their own need --device cuda; got {args.device}")
    if args.threads is not None and "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(args.threads)
    elif args.threads is not None:
        os.environ["OMP_NUM_THREADS"] = str(args.threads)  # which torch will read


def asked(args: argparse.Namespace) -> bool:
    """Whether the work is for others."""
    return not (args.ray is None and args.processes is None and args.devices is None)


def workers(args: argparse.Namespace, build: Build) -> Workers:
    """Those that were asked for, not started yet."""
    if args.ray is None:
        devices = args.devices.split(",") if args.devices is not None else ()
        return Processes(build, args.processes, devices=devices, threads=args.threads)
    gpus = args.gpus_per_worker
    if gpus is None:
        gpus = float(args.device == "cuda")
    known: dict[str, Any] = {"count": args.workers, "gpus": gpus, "threads": args.threads or 1}
    return Ray(build, args.ray or None, **known)
