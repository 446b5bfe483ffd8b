"""Where ``rsbounds certify`` runs: in this process, in processes of this machine, or on Ray."""

from __future__ import annotations

import argparse
import os
import re
import sys
from functools import partial
from typing import Any

from rsbounds.certify import Build
from rsbounds.cli._options import whole
from rsbounds.cluster import Processes, Ray, Workers


def add(parser: Any) -> None:
    """Add the options."""
    add, count = parser.add_argument, partial(whole, 1)
    text = "cpu (default), cuda, cuda:1; of several, each has a process"
    add("--device", metavar="DEVICE,...", default="cpu", type=_device, help=text)
    text = "certify in N processes, or by N workers of Ray"
    add("--processes", type=count, metavar="N", help=text)
    text = "certify on a Ray cluster (that in RAY_ADDRESS, or one of this machine)"
    add("--ray", nargs="?", const="", metavar="ADDRESS", help=text)
    text = "threads of each process (all cores together)"
    add("--threads", type=count, metavar="T", help=text)


def _device(text: str) -> str:
    if "," in text and not re.fullmatch(r"cuda:\d+(,cuda:\d+)+", text):
        raise argparse.ArgumentTypeError(f"expected one device, or cuda:0,cuda:1,...; got {text}")
    return text


def settle(args: argparse.Namespace) -> None:
    """Take several devices apart, and set this process's threads before torch is loaded."""
    args.devices = re.findall(r"\d+", args.device) if "," in args.device else []
    if args.devices:
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
        numbers = {"count": args.processes, "gpus": float(args.device.startswith("cuda"))}
        return Ray(build, args.ray or None, threads=args.threads or 1, **numbers)
    if args.processes is None and not args.devices:
        return None
    return Processes(build, args.processes, devices=args.devices, threads=args.threads)
