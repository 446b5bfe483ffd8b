"""Which inputs are this process's own."""

import os
import re

from rsbounds._numerics import checks
from rsbounds._numerics.errors import ArgumentError

_RANKS = (("torchrun", "RANK", "WORLD_SIZE"), ("SLURM", "SLURM_PROCID", "SLURM_NTASKS"))


def share(text: str | None) -> tuple[int, int, str]:
    """This process's share (i, N) of the inputs and where it comes from; ValueError if
    unclear.

    From ``i/N`` (i counts from 0). Else from the environment: a SLURM job array's
    elements each take a share, and within one the processes of torchrun or of SLURM
    theirs of that. Else 0/1. The origin is "default" where the environment has no say.
    """
    if text is not None:
        return *checks.share("shard", text), "default"
    rank, size = 0, 1
    origins: dict[str, None] = {}
    for i, n, origin in filter(None, (_element(), _rank())):
        rank, size = rank * n + i, size * n
        origins[origin] = None
    return rank, size, " in ".join(reversed(origins)) or "default"


def _rank() -> tuple[int, int, str] | None:
    for origin, rank, size in _RANKS:
        if rank in os.environ and size in os.environ:
            text = f"{os.environ[rank]}/{os.environ[size]}"
            return *checks.share(f"{rank}/{size} in the environment", text), origin
    return None


def _element() -> tuple[int, int, str] | None:
    """The place of this element in its job array."""
    if not {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT"} <= os.environ.keys():
        return None
    defaults = {"ID": "", "COUNT": "", "MIN": "0", "STEP": "1"}
    given = [os.environ.get(f"SLURM_ARRAY_TASK_{k}", v) for k, v in defaults.items()]
    text = ", ".join(given)
    if all(re.fullmatch(r"[0-9]{1,18}", value) for value in given):
        task, count, low, step = map(int, given)
        place, over = divmod(task - low, max(step, 1))
        text = f"{place}/{count}" if step and not over else text
    what = "SLURM_ARRAY_TASK_ID/COUNT/MIN/STEP in the environment"
    try:
        return *checks.share(what, text), "SLURM array"
    except ArgumentError as error:
        raise ArgumentError("shard", f"must be given: {error}") from None
