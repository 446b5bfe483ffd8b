"""The special functions on tensors, with their derivatives as rules of autograd.

Each function takes tensors or numbers that broadcast, on any device, and returns a
float64 tensor on the first tensor's device; it is computed on the host by
:mod:`rsbounds.special`, whose errors of arguments and error bounds hold. Gradients are
the closed forms of :mod:`rsbounds.special.derivatives` (difference quotients in df,
within 1e-7). ``torch.vmap`` and ``torch.func.grad`` take the functions; second
derivatives are refused.

Examples
--------
>>> import torch
>>> from rsbounds.torch.special import ncx2_logsf
>>> nc = torch.tensor(1e6, dtype=torch.float64, requires_grad=True)
>>> ncx2_logsf(2e6, 150528, nc).backward()
>>> print(f"{nc.grad.item():.9f}")
0.170477067
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rsbounds import special
from rsbounds._numerics.checks import Floats
from rsbounds._numerics.errors import ArgumentError
from rsbounds.special.internal import arguments_of, partials_of

Function = Callable[..., Floats]


class _Elementwise(torch.autograd.Function):
    """A function of float64 tensors of one shape, and its partial derivatives."""

    @staticmethod
    def forward(
        function: Function, partials: tuple[Function | None, ...], *args: Tensor
    ) -> Tensor:
        arrays = [value.detach().cpu().numpy() for value in args]
        result = np.asarray(function(*arrays), dtype=np.float64)
        return torch.from_numpy(result).to(args[0].device)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.partials = inputs[1]
        ctx.save_for_backward(*inputs[2:])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        if not ctx.partials:
            raise RuntimeError("rsbounds.torch.special has first derivatives alone")
        slopes = [
            grads[0] * _Elementwise.apply(partial, (), *ctx.saved_tensors)  # type: ignore[no-untyped-call]
            if needed and partial is not None
            else None
            for needed, partial in zip(
                ctx.needs_input_grad[2:], ctx.partials, strict=True
            )
        ]
        return (None, None, *slopes)

    @staticmethod
    def vmap(info: Any, in_dims: Any, *inputs: Any) -> tuple[Tensor, int]:
        function, partials, *args = inputs
        rows = [
            value.expand(info.batch_size, *value.shape)
            if axis is None
            else value.movedim(axis, 0)
            for value, axis in zip(args, in_dims[2:], strict=True)
        ]
        return _Elementwise.apply(function, partials, *rows), 0  # type: ignore[no-untyped-call]


def _rule(function: Function) -> Callable[..., Tensor]:
    """The function on tensors, with the derivatives that are named after it."""
    name = function.__name__
    names = arguments_of(function)
    partials = partials_of(function)

    def on_tensors(*args: Tensor | float) -> Tensor:
        if len(args) != len(names):
            raise TypeError(f"{name}() takes {', '.join(names)}; got {len(args)}")
        tensors = _tensors(names, args)
        for key, value, partial in zip(names, tensors, partials, strict=True):
            if partial is None and value.requires_grad:
                raise ArgumentError(
                    key,
                    f"must not require a gradient: {name} has no derivative in it; "
                    "got a tensor that does (detach it)",
                )
        result: Tensor = _Elementwise.apply(function, partials, *tensors)  # type: ignore[no-untyped-call]
        return result

    on_tensors.__name__ = on_tensors.__qualname__ = name
    on_tensors.__doc__ = f"``rsbounds.special.{name}`` of tensors: {', '.join(names)}."
    return on_tensors


def _tensors(names: list[str], args: tuple[Any, ...]) -> tuple[Tensor, ...]:
    """Arguments as float64 tensors of one shape, on the first tensor's device."""
    tensors = [value for value in args if isinstance(value, Tensor)]
    device = tensors[0].device if tensors else None
    for key, value in zip(names, args, strict=True):
        if isinstance(value, Tensor) and not _is_real(value):
            raise ArgumentError(key, f"must be real numbers; got {value.dtype}")
    numbers = (
        torch.as_tensor(value, dtype=torch.float64, device=device) for value in args
    )
    result: tuple[Tensor, ...] = torch.broadcast_tensors(*numbers)  # type: ignore[no-untyped-call]
    return result


def _is_real(value: Tensor) -> bool:
    return value.dtype != torch.bool and not value.is_complex()


log_ndtr = _rule(special.log_ndtr)
marcum_logp = _rule(special.marcum_logp)
marcum_logq = _rule(special.marcum_logq)
marcum_p = _rule(special.marcum_p)
marcum_q = _rule(special.marcum_q)
ncx2_cdf = _rule(special.ncx2_cdf)
ncx2_df = _rule(special.ncx2_df)
ncx2_df_exp = _rule(special.ncx2_df_exp)
ncx2_df_sf = _rule(special.ncx2_df_sf)
ncx2_df_sf_exp = _rule(special.ncx2_df_sf_exp)
ncx2_isf = _rule(special.ncx2_isf)
ncx2_isf_exp = _rule(special.ncx2_isf_exp)
ncx2_logcdf = _rule(special.ncx2_logcdf)
ncx2_logpdf = _rule(special.ncx2_logpdf)
ncx2_logsf = _rule(special.ncx2_logsf)
ncx2_nc = _rule(special.ncx2_nc)
ncx2_nc_exp = _rule(special.ncx2_nc_exp)
ncx2_nc_sf = _rule(special.ncx2_nc_sf)
ncx2_nc_sf_exp = _rule(special.ncx2_nc_sf_exp)
ncx2_pdf = _rule(special.ncx2_pdf)
ncx2_ppf = _rule(special.ncx2_ppf)
ncx2_ppf_exp = _rule(special.ncx2_ppf_exp)
ncx2_sf = _rule(special.ncx2_sf)
ndtr = _rule(special.ndtr)
ndtri = _rule(special.ndtri)
ndtri_exp = _rule(special.ndtri_exp)

__all__ = [
    "log_ndtr",
    "marcum_logp",
    "marcum_logq",
    "marcum_p",
    "marcum_q",
    "ncx2_cdf",
    "ncx2_df",
    "ncx2_df_exp",
    "ncx2_df_sf",
    "ncx2_df_sf_exp",
    "ncx2_isf",
    "ncx2_isf_exp",
    "ncx2_logcdf",
    "ncx2_logpdf",
    "ncx2_logsf",
    "ncx2_nc",
    "ncx2_nc_exp",
    "ncx2_nc_sf",
    "ncx2_nc_sf_exp",
    "ncx2_pdf",
    "ncx2_ppf",
    "ncx2_ppf_exp",
    "ncx2_sf",
    "ndtr",
    "ndtri",
    "ndtri_exp",
]


def __dir__() -> list[str]:
    return sorted(__all__)
