"""Where ``rsbounds certify`` runs: in this process, in processes of this machine, or on Ray."""

from __future__ import annotations

import argparse
import os
import re
import sys
from typing import Any

from rsbounds._numerics.checks import count
from rsbounds.certify import Build
from rsbounds.cluster import Processes, Ray, Workers


def add(parser: Any) -> None:
    """The options."""
    add = parser.add_argument
    add("--device", metavar="DEVICE,...", help="cpu (default), cuda, cuda:1; of several, each has "
        "a process")  # fmt: skip
    add("--processes", type=int, metavar="N", help="certify in N processes, or by N workers of Ray")
    add("--ray", nargs="?", const="", metavar="ADDRESS", help="certify on a Ray cluster (that in "
        "RAY_ADDRESS, or one of this machine)")  # fmt: skip
    add("--threads", type=int, metavar="T", help="threads of each process (all cores together)")


def settle(args: argparse.Namespace) -> None:
    """Take several devices apart; ValueError before anything is loaded."""
    for name in ("processes", "threads"):
        if getattr(args, name) is not None:
            count(f"--{name}", getattr(args, name), 1)
    args.device, args.devices = args.device or "cpu", []
    if "," in args.device:
        args.devices = re.findall(r"cuda:([0-9]+)(?:,|$)", args.device)
        if ",".join(f"cuda:{i}" for i in args.devices) != args.device:
            raise ValueError(
                f"--device must be one device, or cuda:0,cuda:1,...; got {args.device}"
            )
        if args.ray is not None:
            raise ValueError("--ray deals out the GPUs itself: give --device cuda")
        args.device = "cuda"  # each process sees its own alone
    if args.threads is not None and "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(args.threads)
    elif args.threads is not None:
        os.environ["OMP_NUM_THREADS"] = str(args.threads)  # which torch will read


def workers(args: argparse.Namespace, build: Build) -> Workers | None:
    """Those that were asked for, not started yet; None where this process does the work."""
    if args.ray is not None:
        gpus = float(args.device.startswith("cuda"))
        numbers: dict[str, Any] = {"count": args.processes, "gpus": gpus}
        return Ray(build, args.ray or None, threads=args.threads or 1, **numbers)
    if args.processes is None and not args.devices:
        return None
    return Processes(build, args.processes, devices=args.devices, threads=args.threads)
