"""Which inputs are this process's own."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from rsbounds._numerics import checks

_RANKS = (("torchrun", "RANK", "WORLD_SIZE"), ("SLURM", "SLURM_PROCID", "SLURM_NTASKS"))


def share(text: str | None) -> tuple[int, int, str]:
    """This process's share (i, N) of the inputs and where it comes from.

    From ``i/N`` (i counts from 0). Else from the environment: a SLURM job array's elements each
    take a share, and within one the processes of torchrun or of SLURM theirs of that. Else 0/1.

    Raises
    ------
    ValueError
        If the text or the environment doesn't say a share.
    """
    if text is not None:
        return *checks.share("--shard", text), "--shard"
    found = [one for one in (_element(os.environ), _rank(os.environ)) if one is not None]
    rank, size = 0, 1
    for i, n, _ in found:
        rank, size = rank * n + i, size * n
    origins = dict.fromkeys(origin for _, _, origin in found)
    return rank, size, " in ".join(reversed(origins)) or "default"


def _rank(environ: Mapping[str, str]) -> tuple[int, int, str] | None:
    for origin, rank, size in _RANKS:
        if rank in environ and size in environ:
            text = f"{environ[rank]}/{environ[size]}"
            return *checks.share(f"{rank}/{size} in the environment", text), origin
    return None


def _element(environ: Mapping[str, str]) -> tuple[int, int, str] | None:
    """The place of this element in its job array."""
    defaults = {"ID": None, "COUNT": None, "MIN": "0", "STEP": "1"}
    said = {name: environ.get(f"SLURM_ARRAY_TASK_{name}", own) for name, own in defaults.items()}
    if said["ID"] is None or said["COUNT"] is None:
        return None
    if all(re.fullmatch(r"[0-9]{1,18}", str(value)) for value in said.values()):
        number = {name: int(str(value)) for name, value in said.items()}
        place, over = divmod(number["ID"] - number["MIN"], max(number["STEP"], 1))
        if number["STEP"] and not over and 0 <= place < number["COUNT"]:
            return place, number["COUNT"], "SLURM array"
    given = ", ".join(f"{name} {value}" for name, value in said.items())
    raise ValueError(
        "SLURM_ARRAY_TASK_ID/COUNT/MIN/STEP in the environment must be an array of equal steps, "
        f"ID = MIN + i STEP with 0 <= i < COUNT; got {given}; or say --shard i/N"
    )
