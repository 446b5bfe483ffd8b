"""Models that the user's own code builds."""

from __future__ import annotations

from dataclasses import replace

from rsbounds.loading.callables import call, fingerprint
from rsbounds.loading.models import Loaded, Request


def load(request: Request) -> Loaded:
    """``MODULE:CALLABLE`` or ``path/to/file.py:CALLABLE``, which returns a model or a Loaded."""
    built = call("--model", request.name, **request.args)
    loaded = built if isinstance(built, Loaded) else Loaded(built)
    if not callable(loaded.model):
        raise ValueError(
            f"{request.where} must return a torch module or a callable on a batch, or a Loaded "
            f"with one; got {type(loaded.model).__name__}"
        )
    code = {key: fingerprint(request.name, None)[key] for key in ("source", "code")}
    return replace(loaded, describe={**loaded.describe, **code})
