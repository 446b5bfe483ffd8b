"""Which inputs are this process's own."""

import os
import re

from rsbounds._numerics import checks
from rsbounds._numerics.errors import ArgumentError

_RANKS = (("torchrun", "RANK", "WORLD_SIZE"), ("SLURM", "SLURM_PROCID", "SLURM_NTASKS"))


def shard(text: str | None) -> tuple[int, int, str]:
    """Return this process's shard (i, N) of the inputs and where it comes from.

    ValueError if the environment is unclear.

    From ``i/N`` (i counts from 0). Else from the environment: a SLURM job array's
    elements each take a shard, and within one the processes of torchrun or of SLURM
    theirs of that. Else 0/1. The origin is "default" where the environment has no say.
    """
    if text is not None:
        return *checks.shard_of("shard", text), "default"
    rank = 0
    size = 1
    origins: list[str] = []
    for part in (_element(), _rank()):
        if part is not None:
            i, n, origin = part
            rank = rank * n + i
            size *= n
            origins.insert(0, origin)
    return rank, size, " in ".join(origins) or "default"


def _rank() -> tuple[int, int, str] | None:
    """The place of this process among those of torchrun or of SLURM."""
    for origin, rank, size in _RANKS:
        if rank in os.environ and size in os.environ:
            place = f"{os.environ[rank]}/{os.environ[size]}"
            return *checks.shard_of(f"{rank}/{size} in the environment", place), origin
    return None


def _element() -> tuple[int, int, str] | None:
    """The place of this element in its job array."""
    if not {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT"} <= os.environ.keys():
        return None
    defaults = {"ID": "", "COUNT": "", "MIN": "0", "STEP": "1"}
    variables = [
        os.environ.get(f"SLURM_ARRAY_TASK_{k}", v) for k, v in defaults.items()
    ]
    place = ", ".join(variables)  # what the error shows, unless it is i/N
    if all(re.fullmatch(r"[0-9]{1,18}", value) for value in variables):
        task, count, low, step = map(int, variables)
        i, rest = divmod(task - low, max(step, 1))
        if step and not rest:  # else the elements are not equally far apart
            place = f"{i}/{count}"
    what = "SLURM_ARRAY_TASK_ID/COUNT/MIN/STEP in the environment"
    try:
        return *checks.shard_of(what, place), "SLURM array"
    except ArgumentError as error:
        raise ArgumentError("shard", f"must be given: {error}") from None
