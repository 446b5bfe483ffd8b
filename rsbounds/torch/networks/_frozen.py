"""The copies that certificates rest on."""

from __future__ import annotations

import copy
from typing import TypeVar

from torch import nn

from rsbounds.torch.networks._trust import is_plain

Network = TypeVar("Network", bound=nn.Module)


def frozen(module: Network) -> Network:
    """A copy in float64 and eval mode, which later training doesn't move.

    Its ``Softplus`` is the exact one to the last bit: the linear part begins where that is all
    the same, and not with a jump that the layers around it may enlarge.
    """
    kept = copy.deepcopy(module).cpu().double().eval()
    for part in kept.modules():
        if is_plain(part, nn.Softplus):
            part.threshold = max(float(part.threshold), 40.0)  # type: ignore[assignment, arg-type]
    return kept
