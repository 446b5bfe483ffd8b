"""Bounds of pooling and padding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from torch import nn

from rsbounds._numerics.rounding import EPS
from rsbounds.torch.networks._trust import is_plain

AVERAGE = (nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d)
MAXIMUM = (nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d)
ADAPTIVE = (nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d, nn.AdaptiveAvgPool3d)
REFLECTION = (nn.ReflectionPad1d, nn.ReflectionPad2d, nn.ReflectionPad3d)
REPLICATION = (nn.ReplicationPad1d, nn.ReplicationPad2d, nn.ReplicationPad3d)
CONSTANT = (
    *(nn.ConstantPad1d, nn.ConstantPad2d, nn.ConstantPad3d),
    *(nn.ZeroPad1d, nn.ZeroPad2d, nn.ZeroPad3d),
)
_UP = 1 + 8 * EPS


def average_pool(module: Any) -> float:
    """The root of the windows that share an input over the inputs of a window."""
    if module.ceil_mode or not module.count_include_pad:
        raise ValueError("average pooling needs ceil_mode=False and count_include_pad=True")
    if getattr(module, "divisor_override", None) is not None:
        raise ValueError("average pooling with divisor_override has no proven bound")
    shared, cells = _windows(module)
    return math.sqrt(shared / cells) * _UP


def max_pool(module: Any) -> float:
    """The root of the number of windows that share an input."""
    return math.sqrt(_windows(module)[0]) * _UP


def adaptive_average_pool(module: Any) -> float:
    """The root of the number of cells: of an input of one cell, each repeats it.

    An input at least as large as the output has norm 1 or less; a module doesn't know its
    input's size.
    """
    sizes = _tuple(module.output_size, _axes(module, ADAPTIVE))
    return math.sqrt(math.prod(size or 1 for size in sizes)) * _UP


def pad(module: Any) -> float:
    """Of a padding layer."""
    mode = "reflect" if is_plain(module, REFLECTION) else "replicate"
    mode = "constant" if is_plain(module, CONSTANT) else mode
    return padding(mode, module.padding)


def padding(mode: str, sides: Sequence[int]) -> float:
    """The root of how often padding by (left, right, ...) copies an input, at most.

    Reflection copies it once on either side, replication as often as the edge is wide; an
    input of one cell lies on both edges.
    """
    copies = 1
    for left, right in zip(sides[::2], sides[1::2], strict=True):
        if mode == "reflect":
            copies *= 1 + (left > 0) + (right > 0)
        elif mode == "replicate":
            copies *= 1 + max(left, 0) + max(right, 0)
    return math.sqrt(copies) * _UP


def _windows(module: Any) -> tuple[int, int]:
    """The most windows that share one input, and the inputs of a window."""
    axes = _axes(module, AVERAGE) or _axes(module, MAXIMUM)
    kernel, stride, dilation = (
        _tuple(value, axes)
        for value in (module.kernel_size, module.stride, getattr(module, "dilation", 1))
    )
    shared = (
        math.gcd(s, d) * (k - 1) // s + 1 for k, s, d in zip(kernel, stride, dilation, strict=True)
    )
    return math.prod(shared), math.prod(kernel)


def _axes(module: nn.Module, kinds: tuple[type[nn.Module], ...]) -> int:
    return next((n for n, kind in enumerate(kinds, 1) if is_plain(module, kind)), 0)


def _tuple(value: Any, axes: int) -> tuple[Any, ...]:
    whole = value is None or isinstance(value, int)
    return (value,) * axes if whole else tuple(value) * (axes // len(value))
