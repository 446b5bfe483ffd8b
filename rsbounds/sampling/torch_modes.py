"""Eval mode of a torch module for a while; its own mode is put back afterwards.

Not loaded without a torch module.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from torch import nn

_lock = threading.Lock()
#: Of each part that is in use: how many uses, and the mode to put back. Several threads
#: may use a module, or two modules share a part: the last one to leave puts it back.
_in_use: dict[int, tuple[int, bool]] = {}


@contextmanager
def evaluating(model: Any) -> Iterator[list[nn.Module]]:
    """Put a module in eval mode, and restore the mode of each part afterwards.

    Its parts are given. What is no module stays as it is. From several threads too.
    """
    if not isinstance(model, nn.Module):
        yield []
        return
    parts = parts_with_modes(model)
    with _lock:
        for part in parts:
            uses, mode = _in_use.get(id(part), (0, part.training))
            _in_use[id(part)] = uses + 1, mode
        if any(part.training for part in parts):
            _evaluate(model, parts)
    try:
        yield parts
    finally:
        with _lock:
            _leave(model, parts)


def parts_with_modes(model: nn.Module) -> list[nn.Module]:
    """The parts of a module that can be put in eval mode.

    Frozen and exported modules are functions of their own, whose mode was settled when
    they were made.
    """
    found: dict[nn.Module, None] = {}
    ahead: list[nn.Module | None] = [model]
    while ahead:
        part = ahead.pop()
        if part is None or part in found:
            continue
        attributes = vars(part)
        has_mode = "training" in attributes or hasattr(part, "training")
        if "eval" in attributes or not has_mode:
            continue
        found[part] = None
        # not children(), which takes twice as long: this is walked at each call
        ahead.extend(reversed(part._modules.values()))
    return list(found)


def _evaluate(model: nn.Module, parts: list[nn.Module]) -> None:
    try:
        model.eval()
    except NotImplementedError:  # of an exported part
        for part in parts:
            part.training = False


def _leave(model: nn.Module, parts: list[nn.Module]) -> None:
    """Put back the mode of each part that nobody uses any more."""
    free: list[tuple[nn.Module, bool]] = []
    for part in parts:
        uses, mode = _in_use.pop(id(part))
        if uses > 1:
            _in_use[id(part)] = uses - 1, mode
        else:
            free.append((part, mode))
    modes = [mode for _, mode in free]
    if not parts:
        return
    own_train = any(type(part).train is not nn.Module.train for part in parts)
    if own_train and len(free) == len(parts) and modes[0]:
        # modules that do more than set the flag, such as those that merge weights
        with suppress(NotImplementedError):
            model.train()
    for part, mode in free:
        if part.training != mode:
            part.training = mode
