"""Arguments as tensors, and results rounded down to the type of the arguments."""

from __future__ import annotations

from functools import reduce

import numpy as np
import torch

from rsbounds._numerics.checks import real

Number = float | torch.Tensor


def tensor(name: str, value: Number) -> torch.Tensor:
    """A tensor or a number in double precision."""
    if isinstance(value, torch.Tensor):
        if value.is_complex():
            raise ValueError(f"{name} must be real numbers; got {value.dtype}")
        return value.double()
    return torch.as_tensor(np.asarray(real(name, value)))


def inside(
    name: str, x: torch.Tensor, low: float, high: float = torch.inf, *, closed: bool = False
) -> torch.Tensor:
    """``x`` if all of it lies in the interval or is NaN, or ValueError."""
    good = ((x >= low) & (x <= high)) if closed else ((x > low) & (x < high))
    bad = ~(good | x.isnan())
    if bad.any():
        ends = f"[{low:g}, {high:g}]" if closed else f"({low:g}, {high:g})"
        raise ValueError(
            f"{name} must be in {ends}; got {int(bad.sum())} of {bad.numel()} values outside, "
            f"the first {x[bad][0].item()}"
        )
    return x


def result_type(*given: Number | None) -> torch.dtype:
    """That of the tensors among the arguments, at least float32; double without any."""
    types = [x.dtype for x in given if isinstance(x, torch.Tensor)]
    return reduce(torch.promote_types, types, torch.float32) if types else torch.float64


def round_down(exact: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """A double in another type, never above itself; gradients pass."""
    near = exact.to(dtype)
    with torch.no_grad():
        below = near.nextafter(torch.full_like(near, -torch.inf))
        step = torch.where(near.double() > exact, below - near, 0.0)
    return near + step
