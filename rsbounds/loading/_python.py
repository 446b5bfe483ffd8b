"""Models that the user's own code builds."""

from __future__ import annotations

from dataclasses import replace

from rsbounds.loading.callables import call, fingerprint, shown
from rsbounds.loading.checkpoints import load_weights
from rsbounds.loading.hashes import is_torch
from rsbounds.loading.models import Found, Request


def load(request: Request) -> Found:
    """``MODULE:CALLABLE`` or ``path/to/file.py:CALLABLE``.

    CALLABLE returns a model, or a :class:`Found` that says more of it.
    """
    built = call("--model", request.name, **request.args)
    found = built if isinstance(built, Found) else Found(built)
    model = found.model
    if not callable(model):
        raise ValueError(
            f"--model {shown(request.name)} must return a torch module or a callable on a batch, "
            f"or a Found with one; got {type(model).__name__}"
        )
    source = fingerprint(request.name, model)["source"]
    if request.checkpoint is not None:
        if not is_torch(model):
            raise ValueError(f"a checkpoint needs a torch module; --model {request.name} is none")
        load_weights(f"--model {request.name}", model, request.checkpoint)
    return replace(found, describe={**found.describe, "source": source})
