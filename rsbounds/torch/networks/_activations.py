"""Suprema of the first two derivatives of activations."""

from __future__ import annotations

import math

from torch import nn

from rsbounds.torch.networks._matrices import weight
from rsbounds.torch.networks._trust import is_plain, name
from rsbounds.torch.networks.combine import GroupSort

Constants = tuple[float, float | None]

# sup|phi'| and sup|phi''|; None where the derivative jumps
_KNOWN: dict[type[nn.Module], Constants] = {
    nn.ReLU: (1.0, None),
    nn.ReLU6: (1.0, None),
    nn.Hardtanh: (1.0, None),
    GroupSort: (1.0, None),  # sorting brings no two vectors further apart
    nn.Tanh: (1.0, 0.76980036),  # 4/(3 sqrt 3)
    nn.Sigmoid: (0.25, 0.09622505),  # 1/(6 sqrt 3)
    nn.SiLU: (1.1, 0.5),  # 1.09984
    nn.Identity: (1.0, 0.0),
    nn.Flatten: (1.0, 0.0),
    nn.Unflatten: (1.0, 0.0),
    nn.Dropout: (1.0, 0.0),
    nn.Dropout2d: (1.0, 0.0),
}
_JUMP = 1e-6


def activation(module: nn.Module) -> Constants | None:
    """The two suprema, rounded up; None for a module that is no activation."""
    for kind, constants in _KNOWN.items():
        if is_plain(module, kind):
            return constants
    if is_plain(module, nn.GELU) and module.approximate == "none":
        return 1.13, 0.79788457  # 1.12890, 2 phi(0)
    if is_plain(module, nn.LeakyReLU):
        return max(1.0, abs(_number(module, "negative_slope"))), None
    if is_plain(module, nn.PReLU):
        return max(1.0, float(abs(weight(module)).max())), None
    if is_plain(module, nn.ELU):
        return max(1.0, abs(_number(module, "alpha"))), None
    if is_plain(module, nn.Softplus):
        return 1.0, _softplus(module)
    return None


def _softplus(module: nn.Module) -> float:
    """Its curvature, where torch's linear part joins the rest without a jump to speak of."""
    beta = abs(_number(module, "beta"))
    threshold = _number(module, "threshold")
    if not threshold >= 20:
        raise ValueError(f"the threshold of Softplus must be >= 20; got {threshold:g}")
    jump = math.log1p(math.exp(-threshold)) / beta if beta > 0 else math.inf
    if not jump <= _JUMP:
        raise ValueError(
            f"Softplus with beta = {beta:g} and threshold = {threshold:g} jumps by {jump:.2g} "
            f"where torch's linear part begins; at most {_JUMP:g} is allowed: raise one of them"
        )
    return beta / 4


def _number(module: nn.Module, key: str) -> float:
    value = float(getattr(module, key))
    if not math.isfinite(value):
        raise ValueError(f"{key} of {name(module)} must be finite; got {value}")
    return value
