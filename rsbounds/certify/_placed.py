"""Where a torch module runs, and how many noisy copies it gets at once."""

from __future__ import annotations

import sys
from typing import Any

from rsbounds._numerics.checks import count
from rsbounds._numerics.errors import ArgumentError
from rsbounds.answers import Answer


def placed(answer: Answer, model: Any, batch_size: int | None, device: Any) -> Any:
    """The model; or samplers of it, on that device and with batches of that size.

    ArgumentError for a size or a device of what is not a torch module, or of no module
    for each level.
    """
    settings = {"batch_size": batch_size, "device": device}
    asked_for = [name for name, value in settings.items() if value is not None]
    if not asked_for:
        return model
    options = {"device": device}
    if batch_size is not None:
        options["batch"] = count("batch_size", batch_size, 1)
    several = isinstance(model, list | tuple)
    modules = list(model) if several else [model]
    for module in modules:
        _require_module(asked_for[0], module)
    samplers = [answer.sampler(module, **options) for module in modules]
    return samplers if several else samplers[0]


def _require_module(name: str, model: Any) -> None:
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(model, torch.nn.Module):
        raise ArgumentError(
            name,
            f"goes with a torch module; got a model of type {type(model).__name__}, "
            "which sees to that itself",
        )
