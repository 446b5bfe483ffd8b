"""Models that the user's own code builds."""

from __future__ import annotations

from rsbounds.loading.callables import build, fingerprint
from rsbounds.loading.checkpoints import load_weights
from rsbounds.loading.hashes import is_torch
from rsbounds.loading.models import Found, Request


def load(request: Request) -> Found:
    """``MODULE:CALLABLE`` or ``path/to/file.py:CALLABLE``."""
    model = build("--model", request.name, **request.args)
    source = fingerprint(request.name, model)["source"]
    if request.checkpoint is not None:
        if not is_torch(model):
            raise ValueError(f"a checkpoint needs a torch module; --model {request.name} is none")
        load_weights(f"--model {request.name}", model, request.checkpoint)
    return Found(model, describe={"source": source})
