"""What a sampler does with torch's tensors; see :class:`rsbounds.sampling.port.Arrays`.

:mod:`rsbounds.sampling.numpy_arrays` has the same functions of arrays. None of them
waits for the device but :func:`as_floats`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rsbounds._numerics.checks import Array
from rsbounds.sampling import torch_noise
from rsbounds.sampling.port import NOT_HELD, kind_of

isnan = torch.isnan
isfinite = torch.isfinite
where = torch.where
joined = torch.cat
#: How the names of types begin whose largest number PyTorch doesn't find.
_UNCOMPARED = tuple(
    f"torch.{name}" for name in ("float8", "float4", "uint16", "uint32", "uint64")
)


class Counts:
    """Counts, or blocks of outputs, on their device until NumPy asks for them."""

    def __init__(self, drawn: torch.Tensor | list[torch.Tensor]) -> None:
        self._drawn = drawn

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        if isinstance(self._drawn, list):
            return as_floats(torch.cat(self._drawn)).astype(dtype or np.float64)
        return self._drawn.cpu().numpy().astype(dtype or np.int64)


def as_array(returned: Any) -> torch.Tensor:
    """The tensor that a model returned; ValueError says what it is instead."""
    if not isinstance(returned, torch.Tensor):
        raise ValueError(kind_of(returned))
    if reason := _not_comparable(returned):
        raise ValueError(reason)
    if not returned.shape:
        raise ValueError(kind_of(returned))
    return returned


def _not_comparable(tensor: torch.Tensor) -> str:
    """What a tensor is whose numbers PyTorch doesn't compare, and what to return."""
    if tensor.is_nested:
        return "a nested tensor: return torch.stack(scores.unbind())"
    if tensor.layout is not torch.strided:
        layout = str(tensor.layout).removeprefix("torch.").lstrip("_")
        return f"a tensor of layout {layout}: return scores.to_dense()"
    if tensor.is_quantized:
        return f"a quantized tensor, {tensor.dtype}: return scores.dequantize()"
    if tensor.is_meta:
        return 'a tensor on the device "meta", which holds no numbers: load the weights'
    if type(tensor).__name__ == "MaskedTensor":
        return "masked values: return scores.to_tensor(float('nan'))"
    if (type_ := str(tensor.dtype)).startswith(_UNCOMPARED):
        return f"type {type_}: return scores.double()"
    return ""


def is_real(tensor: torch.Tensor) -> bool:
    """Whether its numbers can be compared: whole or floating point."""
    return not tensor.is_complex() and tensor.dtype is not torch.bool


def eps(tensor: torch.Tensor) -> float:
    """The distance of 1 and the next number of its type, 0.0 of whole numbers."""
    return torch.finfo(tensor.dtype).eps if tensor.is_floating_point() else 0.0


def copied(tensor: torch.Tensor) -> torch.Tensor:
    """A copy, safe from whoever writes over the tensor."""
    return tensor.clone()


def as_floats(tensor: torch.Tensor) -> Array:
    """A copy in float64, of NumPy: of types that NumPy doesn't have too."""
    host = tensor.detach().cpu()
    return np.array(host.double().numpy())


def floating(tensor: torch.Tensor) -> torch.Tensor:
    """Rows of numbers in floating point, in the type in which they came if it is."""
    if tensor.is_floating_point():
        return tensor
    doubles, exact = wide(tensor)
    if exact is not None and not exact.all():
        raise ValueError(NOT_HELD)
    return doubles


def largest(scores: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The largest along axis 1, and its place; NaN is larger than any number."""
    values, place = scores.max(1)
    return values, place


def two_largest(scores: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The largest and the second along axis 1; NaN is larger than any number."""
    first, second = scores.topk(2, dim=1).values.unbind(1)
    return first, second


def wide(scores: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
    """The scores in float64, and where it holds all of axis 1 exactly; None: all."""
    exact = torch_noise.wide(scores)
    if scores.is_floating_point():
        return exact, None
    # above 2^53 neighbours are one number of float64
    return exact, (exact.abs() < 2.0**53).all(1)


def beside(tensor: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """A tensor on the device of another."""
    return tensor.to(other.device)


def steps(count: int, step: int, like: torch.Tensor) -> torch.Tensor:
    """The first multiples of a step, on a tensor's device."""
    return torch.arange(count, device=like.device) * step


def counts(labels: torch.Tensor, kinds: int) -> torch.Tensor:
    """How often each of so many kinds is among the labels."""
    flat = labels.reshape(-1)
    total = torch.zeros(kinds, dtype=torch.int64, device=labels.device)
    return total.scatter_add_(0, flat, torch.ones_like(flat))


def on_demand(drawn: torch.Tensor | list[torch.Tensor]) -> Counts:
    """Counts, or blocks of outputs, which NumPy may ask for."""
    return Counts(drawn)
