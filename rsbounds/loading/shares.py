"""Which inputs are this process's own."""

from __future__ import annotations

import os
import re
from typing import Any


def share(text: str | None) -> tuple[int, int, str]:
    """This process's share (i, N) of the inputs and where it comes from.

    From ``i/N`` (i counts from 0), else torchrun's environment, else SLURM's, else 0/1.
    """
    if text is not None:
        return *parts("--shard", text), "--shard"
    for origin, rank, size in (
        ("torchrun", "RANK", "WORLD_SIZE"),
        ("SLURM", "SLURM_PROCID", "SLURM_NTASKS"),
    ):
        if rank in os.environ and size in os.environ:
            text = f"{os.environ[rank]}/{os.environ[size]}"
            return *parts(f"{rank}/{size} in the environment", text), origin
    return 0, 1, "default"


def parts(name: str, text: Any) -> tuple[int, int]:
    """The i and N of ``i/N``, or ValueError."""
    found = re.fullmatch(r"([0-9]{1,18})/([0-9]{1,18})", str(text))
    if not found or not int(found[1]) < int(found[2]):
        raise ValueError(f"{name} must be i/N with 0 <= i < N; got {text!r}")
    return int(found[1]), int(found[2])
